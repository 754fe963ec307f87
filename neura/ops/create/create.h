// New tensors: of one value, of a sequence, from values in C++.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/core/tensor.h"

namespace neura {

struct TensorOptions {
  std::optional<DType> dtype = {};  // else what the values say, or the default dtype
  Device device = default_device();
  bool requires_grad = false;
};
struct LikeOptions {  // of *_like and new_*: defaults are those of the given tensor
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool requires_grad = false;
};

// Uninitialised. ShapeError for negative sizes, here and below.
Tensor empty(const Shape& size, const TensorOptions& = {});
Tensor empty_strided(const Shape& size, const Shape& stride, const TensorOptions& = {});
// Dense, with the dimensions in memory in the order `physical_layout` (a permutation; ValueError otherwise).
Tensor empty_permuted(const Shape& size, const Dims& physical_layout, const TensorOptions& = {});
Tensor zeros(const Shape& size, const TensorOptions& = {});
Tensor ones(const Shape& size, const TensorOptions& = {});
// The dtype is the value's where none is given: bool, int64, the default float or its complex.
Tensor full(const Shape& size, Scalar fill_value, const TensorOptions& = {});
Tensor scalar_tensor(Scalar value, const TensorOptions& = {});  // 0-d, of the default dtype where none is given

// Shape, dtype and device of `input`, and its order of dimensions in memory where it is dense.
Tensor empty_like(const Tensor& input, const LikeOptions& = {});
Tensor zeros_like(const Tensor& input, const LikeOptions& = {});
Tensor ones_like(const Tensor& input, const LikeOptions& = {});
Tensor full_like(const Tensor& input, Scalar fill_value, const LikeOptions& = {});

// dtype and device of `input`, another shape.
Tensor new_empty(const Tensor& input, const Shape& size, const LikeOptions& = {});
Tensor new_empty_strided(const Tensor& input, const Shape& size, const Shape& stride, const LikeOptions& = {});
Tensor new_zeros(const Tensor& input, const Shape& size, const LikeOptions& = {});
Tensor new_ones(const Tensor& input, const Shape& size, const LikeOptions& = {});
Tensor new_full(const Tensor& input, const Shape& size, Scalar fill_value, const LikeOptions& = {});

// start, start + step, … below end: ceil((end - start) / step) values; int64 if all three are integers, else the
// default dtype. ValueError if step is 0 or leads away from end.
Tensor arange(Scalar end, const TensorOptions& = {});
Tensor arange(Scalar start, Scalar end, const TensorOptions& = {});
Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& = {});
// `steps` values from start to end, both included. ValueError if steps is negative.
Tensor linspace(Scalar start, Scalar end, std::int64_t steps, const TensorOptions& = {});
Tensor logspace(Scalar start, Scalar end, std::int64_t steps, double base = 10.0, const TensorOptions& = {});
Tensor eye(std::int64_t n, const TensorOptions& = {});
Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& = {});
// Row and column numbers, [2, count], of the lower or upper triangle of a [row, col] matrix.
Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, const TensorOptions& = {});
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, const TensorOptions& = {});

// From values. Literals mean what they mean in Python: tensor({1, 2}) is int64, tensor({1., 2.}) of the default dtype,
// tensor({{1, 2}, {3, 4}}) has two dimensions (ShapeError if the rows differ in length). A vector keeps the dtype of
// its element type. `dtype` converts.
Tensor tensor(Scalar value, const TensorOptions& = {});
Tensor tensor_of(const void* values, DType, const Shape& size, const TensorOptions& = {});  // copies dense values

namespace detail {
[[noreturn]] void ragged(std::size_t first, std::size_t other);
template <class T> void flatten(std::vector<T>& to, Shape&, int, const T& value) { to.push_back(value); }
template <class T, class L>
void flatten(std::vector<T>& to, Shape& size, int depth, const std::initializer_list<L>& l) {
  if (depth == size.size()) size.push_back(std::int64_t(l.size()));
  if (size[depth] != std::int64_t(l.size())) ragged(std::size_t(size[depth]), l.size());
  for (const L& x : l) flatten(to, size, depth + 1, x);
}
// Like Python's literals: int is int64, double the default dtype.
template <class T> Tensor literals(const std::vector<T>& values, const Shape& size, TensorOptions o) {
  if constexpr (std::is_same_v<T, bool>) {
    const std::vector<std::uint8_t> bytes(values.begin(), values.end());
    return tensor_of(bytes.data(), DType::boolean, size, o);
  } else if constexpr (std::is_integral_v<T>) {
    const std::vector<std::int64_t> wide(values.begin(), values.end());
    return tensor_of(wide.data(), DType::int64, size, o);
  } else {
    if (!o.dtype) o.dtype = Scalar(values.empty() ? T() : values[0]).dtype();
    return tensor_of(values.data(), dtype_of<T>, size, o);
  }
}
}  // namespace detail

template <class T> Tensor tensor(std::initializer_list<T> l, const TensorOptions& o = {}) {
  std::vector<T> v;
  Shape size;
  detail::flatten(v, size, 0, l);
  return detail::literals(v, size, o);
}
template <class T> Tensor tensor(std::initializer_list<std::initializer_list<T>> l, const TensorOptions& o = {}) {
  std::vector<T> v;
  Shape size;
  detail::flatten(v, size, 0, l);
  return detail::literals(v, size, o);
}
template <class T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> l, const TensorOptions& o = {}) {
  std::vector<T> v;
  Shape size;
  detail::flatten(v, size, 0, l);
  return detail::literals(v, size, o);
}
template <class T> Tensor tensor(const std::vector<T>& values, const Shape& size, const TensorOptions& o = {}) {
  check<ShapeError>(std::int64_t(values.size()) == size.numel(), [&] {
    return "tensor: expected " + std::to_string(size.numel()) + " values for shape " + size.str() + ", got " +
           std::to_string(values.size());
  });
  if constexpr (std::is_same_v<T, bool>) {
    const std::vector<std::uint8_t> bytes(values.begin(), values.end());
    return tensor_of(bytes.data(), DType::boolean, size, o);
  } else {
    return tensor_of(values.data(), dtype_of<T>, size, o);
  }
}
template <class T> Tensor tensor(const std::vector<T>& values, const TensorOptions& o = {}) {
  return tensor(values, Shape{std::int64_t(values.size())}, o);
}

}  // namespace neura
