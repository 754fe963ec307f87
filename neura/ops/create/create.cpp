#include "neura/ops/create/create.h"

#include <cmath>
#include <complex>
#include <cstring>

#include "neura/backend/kernels/create.h"
#include "neura/backend/transfer.h"
#include "neura/core/error_details.h"
#include "neura/core/extension.h"
#include "neura/core/parallel.h"
#include "neura/core/scalar_range.h"
#include "neura/op/apply.h"
#include "neura/op/defer.h"
#include "neura/op/overwrite.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create_common.h"

namespace neura {
namespace {

Tensor allocated(const char* op, const Spec& s) {
  try {
    return Tensor::empty(s);
  } catch (const Error&) {
    rethrow_with_details(op, {});
  }
}
Tensor make(const char* op, const Shape& size, DType dtype, Device device = {}) {  // new, dense, not written yet
  check_sizes(op, size);
  return allocated(op, Spec::dense(dtype, size, device));
}
TensorOptions options(const Tensor& input, const LikeOptions& o) {
  return {.dtype = o.dtype ? *o.dtype : input.dtype(),
          .device = o.device ? *o.device : input.device(),
          .requires_grad = o.requires_grad};
}

// Strides of `input` squeezed to a dense tensor: the same order of dimensions in memory.
Spec like(const Tensor& input, const TensorOptions& o) {
  Spec s = Spec::dense(*o.dtype, input.shape(), o.device);
  const Spec& from = input.spec();
  if (from.contiguous || !from.dense()) return s;
  std::copy(from.strides, from.strides + from.rank, s.strides);
  s.finish();
  return s;
}

// Operations without operands, named as the function that the user called.
constexpr const char* kFilled[] = {"full", "zeros", "ones", "full_like", "zeros_like", "ones_like"};
enum class Filled { full, zeros, ones, full_like, zeros_like, ones_like };
template <Filled by> struct Full {
  static constexpr Operation op = operation(kFilled[int(by)]).direct().copies();
  Spec spec;
  Scalar value;
  NEURA_FIELDS(spec, value)
  bool is_safe() const {
    const Shape strides(spec.strides, spec.rank);
    return spec.offset == 0 && strides == calculate_strides(spec.sizes());
  }
  void infer(Spec& y) const {
    check_storable(op.name, value, spec.dtype);
    y = spec;
  }
  void run(Context&, View y) const { fill_memory(y, value); }
};

// As make(), but zeros while a program is traced, which has no uninitialised memory.
Tensor unwritten(const char* op, const Shape& size, const TensorOptions& o) {
  const DType dtype = o.dtype.value_or(default_dtype());
  if (!is_traced()) [[likely]]
    return make(op, size, dtype, o.device);
  check_sizes(op, size);
  return apply(Full<Filled::zeros>{Spec::dense(dtype, size, o.device), 0});
}

struct Eye {
  static constexpr Operation op = operation("eye").copies();
  std::int64_t n, m;
  DType dtype;
  Device device;
  NEURA_FIELDS(n, m, dtype, device)
  void infer(Spec& y) const {
    check_sizes(op.name, {n, m});
    y = Spec::dense(dtype, Shape{n, m}, device);
  }
  void run(Context&, View y) const {
    fill_memory(y, 0);
    const std::int64_t ones = std::min(n, m);
    if (!device.is_cpu()) {
      Spec diagonal = Spec::dense(dtype, Shape{ones}, device);
      diagonal.strides[0] = m + 1, diagonal.finish();
      if (ones) fill_memory({y.data, &diagonal}, 1);
      return;
    }
    char one[16];
    Scalar(1).store(dtype, one);
    const std::int64_t width = size_of(dtype);
    for (std::int64_t i = 0; i < ones; ++i) std::memcpy(y.data + i * (m + 1) * width, one, std::size_t(width));
  }
};

template <Filled by> Tensor filled(const Shape& size, Scalar value, DType dtype, const TensorOptions& o) {
  check_sizes(kFilled[int(by)], size);
  return finished(apply(Full<by>{Spec::dense(dtype, size, o.device), value}), o);
}
template <Filled by> Tensor filled_like(const Tensor& input, Scalar value, const LikeOptions& l) {
  check_dense(kFilled[int(by)], input);
  const TensorOptions o = options(input, l);
  return finished(apply(Full<by>{like(input, o), value}), o);
}

}  // namespace

Tensor empty(const Shape& size, const TensorOptions& o) { return finished(unwritten("empty", size, o), o); }

Tensor empty_strided(const Shape& size, const Shape& stride, const TensorOptions& o) {
  check<ShapeError>(size.size() == stride.size(), [&] {
    return "empty_strided: expected as many strides as sizes, got " + size.str() + " and " + stride.str();
  });
  std::int64_t last = size.numel() ? 0 : -1;
  for (int i = 0; i < size.size(); ++i) {
    check<ShapeError>(size[i] >= 0 && stride[i] >= 0, [&] {
      return "empty_strided: expected sizes and strides of at least 0, got " + size.str() + " and " + stride.str();
    });
    if (last >= 0) last += (size[i] - 1) * stride[i];
  }
  Tensor whole = unwritten("empty_strided", {last + 1}, o);
  Spec s = whole.spec();
  s.rank = std::uint8_t(size.size());
  std::copy(size.begin(), size.end(), s.shape);
  std::copy(stride.begin(), stride.end(), s.strides);
  s.finish();
  return finished(
      Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(s, Ref<Storage>::share(whole.impl()->storage).leave()))), o);
}

Tensor empty_permuted(const Shape& size, const Dims& layout, const TensorOptions& o) {
  Shape stride = size;
  std::int64_t step = 1;
  unsigned seen = 0;
  bool good = layout.size() == size.size();
  for (int i = layout.size() - 1; good && i >= 0; --i) {
    const std::int64_t d = layout[i];
    good = d >= 0 && d < size.size() && !(seen >> d & 1);
    if (!good) break;
    seen |= 1u << d, stride[int(d)] = step, step *= std::max<std::int64_t>(size[int(d)], 1);
  }
  check<ValueError>(good, [&] {
    return "empty_permuted: expected physical_layout to be a permutation of the dimensions of " + size.str() +
           ", got " + layout.str();
  });
  return empty_strided(size, stride, o);
}

Tensor full(const Shape& size, Scalar value, const TensorOptions& o) {
  return filled<Filled::full>(size, value, o.dtype.value_or(value.dtype()), o);
}
Tensor zeros(const Shape& size, const TensorOptions& o) {
  return filled<Filled::zeros>(size, 0, o.dtype.value_or(default_dtype()), o);
}
Tensor ones(const Shape& size, const TensorOptions& o) {
  return filled<Filled::ones>(size, 1, o.dtype.value_or(default_dtype()), o);
}
Tensor scalar_tensor(Scalar value, const TensorOptions& o) {
  return full({}, value,
              {.dtype = o.dtype.value_or(default_dtype()), .device = o.device, .requires_grad = o.requires_grad});
}

Tensor empty_like(const Tensor& input, const LikeOptions& l) {
  check_dense("empty_like", input);
  const TensorOptions o = options(input, l);
  return finished(allocated("empty_like", like(input, o)), o);
}
Tensor full_like(const Tensor& input, Scalar value, const LikeOptions& o) {
  return filled_like<Filled::full_like>(input, value, o);
}
Tensor zeros_like(const Tensor& input, const LikeOptions& l) {
  if (!input || !extension(input.impl())) return filled_like<Filled::zeros_like>(input, 0, l);
  const TensorOptions o = options(input, l);
  Tensor nothing = clone(to(to(input.detach(), *o.dtype), o.device));
  return finished(zero_(nothing), o);
}
Tensor ones_like(const Tensor& input, const LikeOptions& o) { return filled_like<Filled::ones_like>(input, 1, o); }

Tensor new_empty(const Tensor& input, const Shape& size, const LikeOptions& o) {
  return empty(size, options(input, o));
}
Tensor new_empty_strided(const Tensor& input, const Shape& size, const Shape& stride, const LikeOptions& o) {
  return empty_strided(size, stride, options(input, o));
}
Tensor new_zeros(const Tensor& input, const Shape& size, const LikeOptions& o) {
  return zeros(size, options(input, o));
}
Tensor new_ones(const Tensor& input, const Shape& size, const LikeOptions& o) { return ones(size, options(input, o)); }
Tensor new_full(const Tensor& input, const Shape& size, Scalar value, const LikeOptions& o) {
  return full(size, value, options(input, o));
}

Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& o) {
  return finished(apply(Eye{n, m, o.dtype.value_or(default_dtype()), o.device}), o);
}
Tensor eye(std::int64_t n, const TensorOptions& o) { return eye(n, n, o); }

Tensor tensor(Scalar value, const TensorOptions& o) { return full({}, value, o); }

Tensor tensor_of(const void* values, DType from, const Shape& size, const TensorOptions& o) {
  const DType to = o.dtype.value_or(from);
  Tensor t = make("tensor", size, to);
  const char* p = static_cast<const char*>(values);
  char* q = t.impl()->data();
  if (from == to) {
    if (t.numel()) std::memcpy(q, p, t.nbytes());
  } else {
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      const Scalar value = Scalar::load(from, p + i * size_of(from));
      check_storable("tensor", value, to);
      value.store(to, q + i * size_of(to));
    }
  }
  if (o.device != t.device()) t = t.to(o.device);
  return finished(t, o);
}

void detail::ragged(std::size_t first, std::size_t other) {
  throw ShapeError("tensor: expected rows of equal length, got " + std::to_string(first) + " and " +
                   std::to_string(other) + " values");
}

}  // namespace neura

NEURA_DEFINE_OPERATION(full, Full<Filled::full>);
NEURA_DEFINE_OPERATION(zeros, Full<Filled::zeros>);
NEURA_DEFINE_OPERATION(ones, Full<Filled::ones>);
NEURA_DEFINE_OPERATION(full_like, Full<Filled::full_like>);
NEURA_DEFINE_OPERATION(zeros_like, Full<Filled::zeros_like>);
NEURA_DEFINE_OPERATION(ones_like, Full<Filled::ones_like>);
NEURA_DEFINE_OPERATION(eye, Eye);
