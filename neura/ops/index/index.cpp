#include "neura/ops/index/index.h"

#include <cstring>

#include "neura/backend/kernels/create.h"
#include "neura/backend/transfer.h"
#include "neura/core/scalar_range.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index_ops.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

void check_index(const char* op, const Spec& index) {
  check<DTypeError>(index.dtype == DType::int64 || index.dtype == DType::int32 || !index.numel, [&] {
    return std::string(op) + ": expected index of int64 or int32, got " + index.str() + "; convert it with .to(int64)";
  });
}
void check_vector(const char* op, const Spec& index) {
  check<IndexError>(index.rank <= 1, [&] {
    return std::string(op) + ": expected index to be a vector, got " + index.str() + "; flatten it";
  });
}
std::int64_t size_at(const Spec& s, int dim) { return s.rank ? s.shape[dim] : 1; }

// Attributes of one call; `dim` counted from the front.
WriteAttributes attributes(const char* op, const Tensor& self, int dim, ScatterReduce put, bool grid) {
  return {wrap_dim(op, dim, self.dim()), put, grid, {}};
}
ScatterReduce::Mode mode_of(const char* op, std::string_view reduce, bool sum) {
  if (reduce == "sum" && sum) return ScatterReduce::add;
  if (reduce == "prod") return ScatterReduce::prod;
  if (reduce == "mean") return ScatterReduce::mean;
  if (reduce == "amax") return ScatterReduce::amax;
  if (reduce == "amin") return ScatterReduce::amin;
  throw ValueError(std::string(op) + ": expected reduce to be " + (sum ? "sum, " : "") +
                   "prod, mean, amax or amin, got " + std::string(reduce));
}

// One value for all of index: a 0-d tensor, expanded without a copy.
Tensor expanded(const Tensor& self, int dim, const Tensor& index, Tensor value) {
  Shape size = self.shape();
  if (size.empty()) return value;
  size[dim] = index.numel();
  return expand(value, size);
}
// Of index_fill alone, negative indices count from the end. Those out of range stay as they are, for the kernel to
// name.
Tensor from_the_start(const Tensor& self, int dim, const Tensor& index) {
  const std::int64_t size = self.dim() ? self.size(dim) : 1;
  if (index.dtype() != DType::int64 && index.dtype() != DType::int32) return index;
  return where(logical_and(lt(index, 0), ge(index, -size)), add(index, size), index);
}
Tensor value_like(const char* op, const Tensor& self, Scalar value) {
  check_storable(op, value, self.dtype());
  return full({}, value, {.dtype = self.dtype(), .device = self.device()});
}

// The part of src that index reaches, so that its gradient is as large as src.
Tensor reached(const Tensor& src, const Tensor& index) {
  if (src.dim() != index.dim()) return src;
  Tensor part = src;
  for (int d = 0; d < src.dim(); ++d)
    if (index.size(d) < src.size(d)) part = narrow(part, d, 0, index.size(d));
  return part;
}

template <Write w>
Tensor fresh(const WriteAttributes& a, const Tensor& self, const Tensor& index, const Tensor& source) {
  return apply(IndexWrite<w>{a}, self, index, source);
}
template <Write w> Tensor& in_place(const WriteAttributes& a, Tensor& self, const Tensor& index, const Tensor& source) {
  return apply_to(Destination::in_place, self, IndexWrite<w>{a}, self, index, source);
}

Tensor scaled(const Tensor& source, Scalar alpha) {
  return !alpha.is_complex() && alpha.real() == 1 ? source : mul(source, alpha);
}
Tensor filler(const Tensor& self, const Tensor& value) {
  check<ShapeError>(value.dim() == 0, [&] {
    return "index_fill: expected value to be a number or 0-d tensor, got " + value.spec().str();
  });
  return value.dtype() == self.dtype() ? value : value.to(self.dtype());
}

}  // namespace

void IndexSelect::infer(const Spec& x, const Spec& index, Spec& out) const {
  check_vector(op.name, index), check_index(op.name, index);
  Shape size = x.sizes();
  if (x.rank) size[dim] = index.numel;
  else
    check<ShapeError>(index.numel == 1,
                      [&] { return "index_select: expected one index for a 0-d input, got " + index.str(); });
  out = Spec::dense(x.dtype, size, x.device);
}
void IndexSelect::gradient(Gradient& g) const {
  if (g.needs(0))
    g.result[0] = write_at({dim, {ScatterReduce::add}, false, g.meta[0]->sizes()}, {}, g.input(1), g.g[0]);
}

void Gather::infer(const Spec& x, const Spec& index, Spec& out) const {
  check_index(op.name, index);
  out = Spec::dense(x.dtype, index.sizes(), x.device);
  if (!index.numel) return;
  bool fits = std::max<int>(x.rank, 1) == std::max<int>(index.rank, 1);
  for (int d = 0; fits && d < std::max<int>(x.rank, 1); ++d) fits = d == dim || size_at(index, d) <= size_at(x, d);
  check<ShapeError>(fits, [&] {
    return "gather: expected index of as many dimensions as input and, except along dimension " + std::to_string(dim) +
           ", no larger, got input " + x.str() + " and index " + index.str();
  });
}
void Gather::gradient(Gradient& g) const {
  if (g.needs(0)) g.result[0] = write_at({dim, {ScatterReduce::add}, true, g.meta[0]->sizes()}, {}, g.input(1), g.g[0]);
}

void WriteAttributes::check(const char* op, const Spec& x, const Spec& index, const Spec& source, Spec& out) const {
  check_index(op, index);
  const bool zeros = x.rank == kAbsent;
  out = Spec::dense(zeros ? source.dtype : x.dtype, zeros ? size : x.sizes(), source.device);
  neura::check<DTypeError>(source.dtype == out.dtype, [&] {
    return std::string(op) + ": expected self and source of one dtype, got " + x.str() + " and " + source.str() +
           "; convert one with .to()";
  });
  neura::check<DTypeError>(put.mode < ScatterReduce::amax || !is_complex(out.dtype), [&] {
    return std::string(op) + ": expected real numbers for amax and amin, got " + x.str();
  });
  const int rank = std::max<int>(out.rank, 1);
  bool fits = std::max<int>(source.rank, 1) == rank;
  if (grid) {
    if (!index.numel) return;
    fits = fits && std::max<int>(index.rank, 1) == rank;
    for (int d = 0; fits && d < rank; ++d)
      fits = size_at(index, d) <= size_at(source, d) && (d == dim || size_at(index, d) <= size_at(out, d));
    return neura::check<ShapeError>(fits, [&] {
      return std::string(op) + ": expected index no larger than src and, except along dimension " +
             std::to_string(dim) + ", than self, got self " + out.str() + ", index " + index.str() + " and src " +
             source.str();
    });
  }
  check_vector(op, index);
  for (int d = 0; fits && d < rank; ++d) fits = size_at(source, d) == (d == dim ? index.numel : size_at(out, d));
  neura::check<ShapeError>(fits, [&] {
    return std::string(op) + ": expected source of self's shape but, along dimension " + std::to_string(dim) + ", of " +
           std::to_string(index.numel) + ", got self " + out.str() + " and source " + source.str();
  });
}

void WriteAttributes::write(Context& c, View x, View index, View source, View out) const {
  const auto copy = c.backend.create->copy;
  Spec dense, own;
  View to = out;
  if (!out.spec->contiguous) {
    dense = Spec::dense(out.dtype(), out.spec->sizes(), out.spec->device);
    to = {static_cast<char*>(c.scratch(dense.bytes())), &dense};
  }
  if (source.data == to.data && source.numel()) {  // x.index_add_(0, index, x)
    own = Spec::dense(source.dtype(), source.spec->sizes(), out.spec->device);
    const View saved{static_cast<char*>(c.scratch(own.bytes())), &own};
    copy(c, source, saved), source = saved;
  }
  if (!x) {
    const std::uint64_t zero[2] = {};
    const Spec one = Spec::dense(to.dtype(), {});
    assign(to, View{reinterpret_cast<char*>(const_cast<std::uint64_t*>(zero)), &one});
  } else if (x.data != to.data) {
    copy(c, x, to);
  }
  (grid ? c.backend.index->scatter : c.backend.index->write)(c, to, index, source, dim, put);
  if (to.data != out.data && !c.failed) copy(c, to, out);
}

void WriteAttributes::gradient(Gradient& g) const {
  if (put.mode != ScatterReduce::add && put.mode != ScatterReduce::copy) return reduce_gradient(*this, g);
  if (put.mode == ScatterReduce::add && !put.include_self) return reduce_gradient(*this, g);
  const Tensor &up = g.g[0], &index = g.input(In::index);
  if (g.needs(In::input)) {
    g.result[In::input] = up;
    if (put.mode == ScatterReduce::copy) {
      const Tensor zero = value_like("put", up, 0);
      const Tensor source = grid ? expand(zero, index.shape()) : expanded(up, dim, index, zero);
      g.result[In::input] = write_at(*this, up, index, source);
    }
  }
  if (g.needs(In::source)) {
    const Tensor part = grid ? apply(Gather{dim}, up, index) : apply(IndexSelect{dim}, up, index);
    const Shape sizes = g.meta[In::source]->sizes();
    g.result[In::source] = part.shape() == sizes ? part : reshape(part, sizes);
  }
}

Tensor write_at(const WriteAttributes& a, const Tensor& base, const Tensor& index, const Tensor& source) {
  if (a.put.mode == ScatterReduce::copy)
    return a.grid ? fresh<Write::scatter>(a, base, index, source) : fresh<Write::index_copy>(a, base, index, source);
  if (a.put.mode == ScatterReduce::add && a.put.include_self)
    return a.grid ? fresh<Write::scatter_add>(a, base, index, source) : fresh<Write::index_add>(a, base, index, source);
  return a.grid ? fresh<Write::scatter_reduce>(a, base, index, source)
                : fresh<Write::index_reduce>(a, base, index, source);
}

Tensor& write_as(Write name, Tensor& target, int dim, const Tensor& index, const Tensor& source, bool accumulate) {
  const WriteAttributes a =
      attributes(kWriteNames[int(name)], target, dim, {accumulate ? ScatterReduce::add : ScatterReduce::copy}, false);
  if (name == Write::put) return in_place<Write::put>(a, target, index, source);
  if (name == Write::masked_scatter) return in_place<Write::masked_scatter>(a, target, index, source);
  return in_place<Write::index_put>(a, target, index, source);
}

Tensor index_select(const Tensor& input, int dim, const Tensor& index) {
  return apply(IndexSelect{wrap_dim("index_select", dim, input.dim())}, input, index);
}
Tensor& index_put_(Tensor& self, const std::vector<Index>& list, Scalar value) {
  check_storable("index_put", value, self.dtype());
  return index_put_(self, list, full({}, value, {.dtype = self.dtype(), .device = self.device()}));
}
Tensor index_put(const Tensor& input, const std::vector<Index>& list, const Tensor& value, bool accumulate) {
  if (const amp::CastScope cast{amp::Name::index_put, input, value})
    return index_put(cast(input), list, cast(value), accumulate);
  Tensor out = clone(input);
  return index_put_(out, list, value, accumulate);
}

Tensor index_add(const Tensor& input, int dim, const Tensor& index, const Tensor& source, Scalar alpha) {
  return fresh<Write::index_add>(attributes("index_add", input, dim, {ScatterReduce::add}, false), input, index,
                                 scaled(source, alpha));
}
Tensor& index_add_(Tensor& self, int dim, const Tensor& index, const Tensor& source, Scalar alpha) {
  return in_place<Write::index_add>(attributes("index_add", self, dim, {ScatterReduce::add}, false), self, index,
                                    scaled(source, alpha));
}
Tensor index_copy(const Tensor& input, int dim, const Tensor& index, const Tensor& source) {
  return fresh<Write::index_copy>(attributes("index_copy", input, dim, {}, false), input, index, source);
}
Tensor& index_copy_(Tensor& self, int dim, const Tensor& index, const Tensor& source) {
  return in_place<Write::index_copy>(attributes("index_copy", self, dim, {}, false), self, index, source);
}
Tensor index_fill(const Tensor& input, int dim, const Tensor& index, const Tensor& value) {
  const WriteAttributes a = attributes("index_fill", input, dim, {}, false);
  return fresh<Write::index_fill>(a, input, from_the_start(input, a.dim, index),
                                  expanded(input, a.dim, index, filler(input, value)));
}
Tensor& index_fill_(Tensor& self, int dim, const Tensor& index, const Tensor& value) {
  const WriteAttributes a = attributes("index_fill", self, dim, {}, false);
  return in_place<Write::index_fill>(a, self, from_the_start(self, a.dim, index),
                                     expanded(self, a.dim, index, filler(self, value)));
}
Tensor index_fill(const Tensor& input, int dim, const Tensor& index, Scalar value) {
  return index_fill(input, dim, index, value_like("index_fill", input, value));
}
Tensor& index_fill_(Tensor& self, int dim, const Tensor& index, Scalar value) {
  return index_fill_(self, dim, index, value_like("index_fill_", self, value));
}
Tensor index_reduce(const Tensor& input, int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self) {
  const ScatterReduce put{mode_of("index_reduce", reduce, false), include_self};
  return fresh<Write::index_reduce>(attributes("index_reduce", input, dim, put, false), input, index, source);
}
Tensor& index_reduce_(Tensor& self, int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self) {
  const ScatterReduce put{mode_of("index_reduce", reduce, false), include_self};
  return in_place<Write::index_reduce>(attributes("index_reduce", self, dim, put, false), self, index, source);
}

Tensor gather(const Tensor& input, int dim, const Tensor& index) {
  return apply(Gather{wrap_dim("gather", dim, input.dim())}, input, index);
}
Tensor scatter_reduce(const Tensor& input, int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self) {
  const ScatterReduce put{mode_of("scatter_reduce", reduce, true), include_self};
  return fresh<Write::scatter_reduce>(attributes("scatter_reduce", input, dim, put, true), input, index,
                                      reached(src, index));
}
Tensor& scatter_reduce_(Tensor& self, int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                        bool include_self) {
  const ScatterReduce put{mode_of("scatter_reduce", reduce, true), include_self};
  return in_place<Write::scatter_reduce>(attributes("scatter_reduce", self, dim, put, true), self, index,
                                         reached(src, index));
}
Tensor scatter_add(const Tensor& input, int dim, const Tensor& index, const Tensor& src) {
  return fresh<Write::scatter_add>(attributes("scatter_add", input, dim, {ScatterReduce::add}, true), input, index,
                                   reached(src, index));
}
Tensor& scatter_add_(Tensor& self, int dim, const Tensor& index, const Tensor& src) {
  return in_place<Write::scatter_add>(attributes("scatter_add", self, dim, {ScatterReduce::add}, true), self, index,
                                      reached(src, index));
}

namespace {
ScatterReduce scatter_put(std::string_view reduce) {
  if (reduce.empty()) return {};
  if (reduce == "add") return {ScatterReduce::add};
  check<ValueError>(reduce == "multiply",
                    [&] { return "scatter: expected reduce to be add or multiply, got " + std::string(reduce); });
  return {ScatterReduce::prod};
}
Tensor grid_of(const char* op, const Tensor& self, const Tensor& index, Scalar value) {
  return expand(value_like(op, self, value), index.shape());
}
}  // namespace

Tensor scatter(const Tensor& input, int dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  WriteAttributes a = attributes("scatter", input, dim, scatter_put(reduce), true);
  return write_at(a, input, index, reached(src, index));
}
Tensor& scatter_(Tensor& self, int dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  WriteAttributes a = attributes("scatter", self, dim, scatter_put(reduce), true);
  if (a.put.mode == ScatterReduce::copy) return in_place<Write::scatter>(a, self, index, reached(src, index));
  return in_place<Write::scatter_reduce>(a, self, index, reached(src, index));
}
Tensor scatter(const Tensor& input, int dim, const Tensor& index, Scalar value, std::string_view reduce) {
  return scatter(input, dim, index, grid_of("scatter", input, index, value), reduce);
}
Tensor& scatter_(Tensor& self, int dim, const Tensor& index, Scalar value, std::string_view reduce) {
  return scatter_(self, dim, index, grid_of("scatter_", self, index, value), reduce);
}

namespace {
template <std::size_t... i> bool is_write(const Row& row, std::index_sequence<i...>) {
  return ((&row == &row_of<IndexWrite<Write(i)>>) || ...);
}
}  // namespace
bool is_linear_write(const Row& row, const void* operation) {
  return is_write(row, std::make_index_sequence<std::size(kWriteNames)>()) &&
         static_cast<const WriteAttributes*>(operation)->put.mode <= ScatterReduce::add;
}

}  // namespace neura

NEURA_DEFINE_OPERATION(index_select, IndexSelect);
NEURA_DEFINE_OPERATION(gather, Gather);
NEURA_DEFINE_OPERATION(index_add, IndexWrite<Write::index_add>);
NEURA_DEFINE_OPERATION(index_copy, IndexWrite<Write::index_copy>);
NEURA_DEFINE_OPERATION(index_fill, IndexWrite<Write::index_fill>);
NEURA_DEFINE_OPERATION(index_reduce, IndexWrite<Write::index_reduce>);
NEURA_DEFINE_OPERATION(scatter, IndexWrite<Write::scatter>);
NEURA_DEFINE_OPERATION(scatter_add, IndexWrite<Write::scatter_add>);
NEURA_DEFINE_OPERATION(scatter_reduce, IndexWrite<Write::scatter_reduce>);
NEURA_DEFINE_OPERATION(put, IndexWrite<Write::put>);
NEURA_DEFINE_OPERATION(masked_scatter, IndexWrite<Write::masked_scatter>);
NEURA_DEFINE_OPERATION(index_put, IndexWrite<Write::index_put>);
