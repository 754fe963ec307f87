#include "neura/ops/create/copy.h"

#include <cstring>

#include "neura/backend/transfer.h"
#include "neura/core/error_details.h"
#include "neura/core/meta.h"
#include "neura/core/parallel.h"
#include "neura/core/pending.h"
#include "neura/core/scalar_range.h"
#include "neura/core/state.h"
#include "neura/core/wrapped.h"
#include "neura/op/cast_scope.h"
#include "neura/op/defer.h"
#include "neura/op/launch.h"
#include "neura/op/overwrite.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/record.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

struct To {  // and clone, to the same dtype
  static constexpr Operation op = operation("to").linear().copies();
  DType dtype;
  bool keep_order;  // of dimensions, where the tensor is dense
  NEURA_FIELDS(dtype, keep_order)
  bool is_safe(const Spec&) const { return true; }
  void infer(const Spec& x, Spec& y) const {
    y = Spec::dense(dtype, x.sizes(), x.device);
    if (keep_order && !x.contiguous && x.dense()) std::copy(x.strides, x.strides + x.rank, y.strides), y.finish();
  }
  void run(Context&, View x, View y) const { assign(y, x); }
  void gradient(Gradient& g) const { g.result[0] = g.g[0]; }  // fit_gradient casts back
};

struct ToDevice {  // to another device; dimensions keep their order in memory
  static constexpr Operation op = operation("to_device").linear().across();
  Device device;
  bool non_blocking;
  NEURA_FIELDS(device, non_blocking)
  void infer(const Spec& x, Spec& y) const {
    if (!is_meta(device)) check_values("to", x.device, x);  // before memory is asked for
    To{x.dtype, true}.infer(x, y);
    y.device = device;
  }
  void run(Context&, View x, View y) const { assign(y, x, non_blocking); }
  void gradient(Gradient& g) const { g.result[0] = to(g.g[0], g.meta[0]->device); }
};

struct LazyClone {
  static constexpr Operation op = operation("lazy_clone").lazy();
  NEURA_FIELDS()
  bool is_safe(const Spec&) const { return true; }
  void infer(const Spec& x, Spec& y) const { To{x.dtype, true}.infer(x, y); }
  void gradient(Gradient& g) const { g.result[0] = g.g[0]; }
};

// self = source, converted and broadcast. The first of the two operands is only written.
struct CopyBase {
  bool non_blocking = false;
  NEURA_FIELDS(non_blocking)
  void infer(const Spec& self, const Spec& source, Spec& y) const {
    check<ShapeError>(broadcast_shapes("copy", self.sizes(), source.sizes()) == self.sizes(), [&] {
      return "copy: expected a source that broadcasts to " + self.str() + ", got " + source.str();
    });
    if (!is_meta(self.device)) check_values("copy", source.device, source);
    y = Spec::dense(self.dtype, self.sizes(), self.device);
  }
  void run(Context&, View, View source, View y) const { assign(y, source, non_blocking); }
  void gradient(Gradient& g) const {
    if (g.needs(0)) g.result[0] = zero_gradient(*g.meta[0]);
    if (g.needs(1)) g.result[1] = to(g.g[0], g.meta[1]->device);
  }
};
struct Copy : CopyBase {
  static constexpr Operation op = operation("copy").direct().across().overwrites();
  bool is_safe(const Spec&, const Spec&) const { return true; }
};
struct FillFrom : CopyBase {
  static constexpr Operation op = operation("fill_").direct().across().overwrites();
};

struct Fill {
  static constexpr Operation op = operation("fill").direct().copies().overwrites();
  Scalar value;
  NEURA_FIELDS(value)
  void infer(const Spec& self, Spec& y) const {
    check_storable(op.name, value, self.dtype);
    y = Spec::dense(self.dtype, self.sizes(), self.device);
  }
  void run(Context&, View, View y) const { fill_memory(y, value); }
  void gradient(Gradient& g) const { g.result[0] = zero_gradient(*g.meta[0]); }
};
struct Zero : Fill {
  static constexpr Operation op = operation("zero").direct().copies().overwrites();
};

constexpr const char* kOverwriters[] = {"masked_fill_", "put_", "masked_scatter_", "index_put_"};
template <Overwriter by> struct OverwriteBy : CopyBase {
  static constexpr Operation op = operation(kOverwriters[int(by)]).direct().across().overwrites();
};
constexpr const Row* kOverwriteRows[] = {
    &row_of<OverwriteBy<Overwriter::masked_fill>>, &row_of<OverwriteBy<Overwriter::put>>,
    &row_of<OverwriteBy<Overwriter::masked_scatter>>, &row_of<OverwriteBy<Overwriter::index_put>>};

}  // namespace

void fill_memory(const View& to, Scalar value) {
  const Spec& s = *to.spec;
  alignas(16) char one[16];
  value.store(s.dtype, one);
  if (!s.device.is_cpu() || !s.dense()) {
    const Spec number = Spec::dense(s.dtype, {});
    return assign(to, {one, &number});
  }
  char* const data = to.data;
  const auto bytes = std::int64_t(s.bytes()), width = std::int64_t(size_of(s.dtype));
  if (std::all_of(one, one + width, [&](char c) { return c == one[0]; })) {
    return parallel_for(bytes, 1 << 20,
                        [&](std::int64_t b, std::int64_t e) { std::memset(data + b, one[0], std::size_t(e - b)); });
  }
  char line[64];  // whole elements of every width
  for (int i = 0; i < 64; i += int(width)) std::memcpy(line + i, one, std::size_t(width));
  parallel_for((bytes + 63) / 64, 1 << 14, [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t i = b; i < e; ++i)
      std::memcpy(data + i * 64, line, std::size_t(std::min<std::int64_t>(64, bytes - i * 64)));
  });
}

Tensor number_of(Scalar value, DType dtype, Device device) {
  return full({}, value, {.dtype = dtype, .device = device});
}

void amp::join_cast(const Tensor& x, Tensor& y) {
  if (kOnlyPrograms) return;
  const To op{y.dtype(), true};
  Operand in[] = {x};
  const Call call{&row_of<To>, &op, in, 1, &y};
  if (Ref<Record> r = kOnlyPrograms ? Ref<Record>() : begin_record(call)) finish_record(std::move(r), call);
}

Tensor clone(const Tensor& input) { return apply(To{input.dtype(), true}, input); }
Tensor lazy_clone(const Tensor& input) { return apply(LazyClone{}, input); }
Tensor contiguous(const Tensor& input) {
  return input.is_contiguous() ? input : apply(To{input.dtype(), false}, input);
}
Tensor to(const Tensor& input, DType dtype) { return input.dtype() == dtype ? input : apply(To{dtype, true}, input); }
Tensor to(const Tensor& input, Device device, bool non_blocking) {
  if (input.device() == device) return input;
  return apply(ToDevice{device, non_blocking}, input);
}
Tensor& copy_(Tensor& self, const Operand& source, bool non_blocking) {
  if (source.is_scalar()) return fill_(self, source);
  return apply_to(Destination::in_place, self, Copy{non_blocking}, self, source);
}
Tensor& fill_(Tensor& self, const Operand& value) {
  if (value.is_tensor())
    check<ShapeError>(value.tensor->spec.rank == 0,
                      [&] { return "fill_: expected a number or a 0-d tensor, got " + value.tensor->spec.str(); });
  if (value.is_tensor()) return apply_to(Destination::in_place, self, FillFrom(), self, value);
  return apply_to(Destination::in_place, self, Fill{value.scalar}, self);
}
Tensor& zero_(Tensor& self) { return apply_to(Destination::in_place, self, Zero(), self); }

void check_overwrite(Overwriter by, Tensor& self) {
  if (state.active & (kNoGrad | kInference)) return;
  Operand in[] = {self};
  try {
    check_in_place({kOverwriteRows[int(by)], nullptr, in, 1, &self, Destination::in_place});
  } catch (const InplaceError&) {
    rethrow_with_details(kOverwriters[int(by)], {self.spec()});
  }
}
Tensor& overwrite(Overwriter by, Tensor& self, const Tensor& source) {
  const Copy op;
  Operand in[] = {self, source};
  Call call{kOverwriteRows[int(by)], &op, in, 2, &self, Destination::in_place};
  apply(call);
  return self;
}
Tensor conj(const Tensor& input) { return is_complex(input.dtype()) ? conj_physical(input) : input; }

bool may_overlap(const TensorImpl* a, const TensorImpl* b) {
  if (a->storage != b->storage) return false;
  const std::int64_t sa = size_of(a->spec.dtype), sb = size_of(b->spec.dtype);
  const std::int64_t first_a = a->spec.offset * sa, last_a = first_a + a->spec.span() * sa;
  const std::int64_t first_b = b->spec.offset * sb, last_b = first_b + b->spec.span() * sb;
  return first_a < last_b && first_b < last_a;
}

Tensor copy_of(const TensorImpl* t) {
  if (const Wrapped* w = wrapped(t)) return w->copy(t);
  Spec spec = Spec::dense(t->spec.dtype, t->spec.sizes(), t->spec.device);
  if (spec.device.is_cuda()) flush_launches("an operand is copied");
  Tensor copy = Tensor::empty(spec);
  settled(t);
  assign({copy.impl()->data(), &copy.spec()}, {t->data(), &t->spec});
  if (Deferral* d = deferral()) d->copied(t, copy);
  return copy;
}

Tensor zero_gradient(const GradientSpec& like) { return expand(number_of(0, like.dtype, like.device), like.sizes()); }

Tensor fit_gradient(Tensor g, const GradientSpec& want) {
  const Spec& s = g.spec();
  if (s.dtype == want.dtype && s.rank == want.rank && std::equal(want.shape, want.shape + want.rank, s.shape)) return g;
  if (is_complex(s.dtype) && !is_complex(want.dtype)) g = real(g);  // the gradient of a real operand is real
  if (g.spec().rank != want.rank || !std::equal(want.shape, want.shape + want.rank, g.spec().shape)) {
    Dims dims;
    for (int i = 0; i < g.dim(); ++i) {
      const int j = i - (g.dim() - want.rank);
      if (j < 0 || (want.shape[j] == 1 && g.size(i) != 1)) dims.push_back(i);
    }
    if (!dims.empty()) g = sum(g, dims, true);
    g = reshape(g, want.sizes());
  }
  return to(g, want.dtype);
}

Tensor Tensor::view(const Shape& s) const { return neura::view(*this, s); }
Tensor Tensor::reshape(const Shape& s) const { return neura::reshape(*this, s); }
Tensor Tensor::flatten(int start_dim, int end_dim) const { return neura::flatten(*this, start_dim, end_dim); }
Tensor Tensor::transpose(int dim0, int dim1) const { return neura::transpose(*this, dim0, dim1); }
Tensor Tensor::t() const { return neura::t(*this); }
Tensor Tensor::permute(const Dims& dims) const { return neura::permute(*this, dims); }
Tensor Tensor::expand(const Shape& s) const { return neura::expand(*this, s); }
Tensor Tensor::unsqueeze(int dim) const { return neura::unsqueeze(*this, dim); }
Tensor Tensor::squeeze(const Dims& dim) const { return neura::squeeze(*this, dim); }
Tensor Tensor::select(int dim, std::int64_t index) const { return neura::select(*this, dim, index); }
Tensor Tensor::slice(int dim, std::int64_t start, std::int64_t end, std::int64_t step) const {
  return neura::slice(*this, dim, start, end, step);
}
Tensor Tensor::narrow(int dim, std::int64_t start, std::int64_t length) const {
  return neura::narrow(*this, dim, start, length);
}
Tensor Tensor::clone() const { return neura::clone(*this); }
Tensor Tensor::contiguous() const { return neura::contiguous(*this); }
Tensor Tensor::to(DType d) const { return neura::to(*this, d); }
Tensor Tensor::to(Device d) const { return neura::to(*this, d); }
Tensor& Tensor::copy_(const Tensor& source) { return neura::copy_(*this, source); }
Tensor& Tensor::fill_(Scalar value) { return neura::fill_(*this, value); }
Tensor& Tensor::zero_() { return neura::zero_(*this); }

}  // namespace neura

NEURA_DEFINE_OPERATION(to, To);
NEURA_DEFINE_OPERATION(to_device, ToDevice);
NEURA_DEFINE_OPERATION(lazy_clone, LazyClone);
NEURA_DEFINE_OPERATION(copy, Copy);
NEURA_DEFINE_OPERATION(fill_, FillFrom);
NEURA_DEFINE_OPERATION(fill, Fill);
NEURA_DEFINE_OPERATION(zero, Zero);
NEURA_DEFINE_OPERATION(masked_fill_, OverwriteBy<Overwriter::masked_fill>);
NEURA_DEFINE_OPERATION(put_, OverwriteBy<Overwriter::put>);
NEURA_DEFINE_OPERATION(masked_scatter_, OverwriteBy<Overwriter::masked_scatter>);
NEURA_DEFINE_OPERATION(index_put_, OverwriteBy<Overwriter::index_put>);
