// The oracle of most tests: plain loops over indices, one Scalar at a time, that call no operation.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura::test {

// f(index) for every index of the shape in logical order; for a 0-d shape once, with an empty one.
template <class F> void for_each_index(const Shape& shape, F&& f) {
  if (shape.numel() == 0) return;
  Shape i = Shape::filled(shape.size(), 0);
  for (;;) {
    f(static_cast<const Shape&>(i));
    int d = shape.size() - 1;
    while (d >= 0 && ++i[d] == shape[d]) i[d--] = 0;
    if (d < 0) return;
  }
}

// One element, wherever it lies. In a dimension of size 1 any index means 0, and leading dimensions that the tensor
// does not have are dropped: so a broadcast operand is read by the index of the result.
Scalar scalar_at(const Tensor&, const Shape& index);
inline double at(const Tensor& t, const Shape& index) { return scalar_at(t, index).real(); }
void store_at(const Tensor&, const Shape& index, Scalar);

// A contiguous tensor whose element at `index` is f(index), a Scalar or a number.
template <class F> Tensor from_loop(const Shape& shape, DType dtype, F&& f) {
  Tensor t = Tensor::empty(Spec::dense(dtype, shape));
  for_each_index(shape, [&](const Shape& i) { store_at(t, i, Scalar(f(i))); });
  return t;
}
// The same elements in another memory layout: strides in elements (none negative), offset as given.
Tensor with_strides(const Tensor&, const Shape& strides, std::int64_t offset = 0);
// The same elements as a contiguous tensor, transposed in memory, with gaps, and after an offset.
std::vector<Tensor> layouts(const Tensor&);

}  // namespace neura::test
