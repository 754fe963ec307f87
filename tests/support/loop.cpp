#include "tests/support/loop.h"

#include <algorithm>

namespace neura::test {

namespace {
std::int64_t position(const Tensor& t, const Shape& index) {  // in bytes
  const Spec& s = t.spec();
  const int skip = index.size() - s.rank;
  NEURA_ASSERT(skip >= 0);
  std::int64_t at = 0;
  for (int d = 0; d < s.rank; ++d)
    if (s.shape[d] != 1) at += index[d + skip] * s.strides[d];
  return at * size_of(s.dtype);
}
}  // namespace

Scalar scalar_at(const Tensor& t, const Shape& index) {
  return Scalar::load(t.dtype(), static_cast<const char*>(t.const_raw_data()) + position(t, index));
}

void store_at(const Tensor& t, const Shape& index, Scalar v) {
  v.store(t.dtype(), static_cast<char*>(t.raw_data()) + position(t, index));
}

Tensor with_strides(const Tensor& t, const Shape& strides, std::int64_t offset) {
  Spec s = t.spec();
  s.offset = offset;
  std::copy(strides.begin(), strides.end(), s.strides);
  s.finish();
  const std::int64_t elements = offset + s.span();
  const Tensor whole = Tensor::empty(Spec::dense(s.dtype, Shape{elements}));
  for (std::int64_t i = 0; i < elements; ++i) store_at(whole, {i}, Scalar(99));  // a gap that is read is seen
  Storage* storage = whole.impl()->storage;
  storage->count.fetch_add(1);
  Tensor result(Ref<TensorImpl>::adopt(TensorImpl::make(s, storage)));
  for_each_index(t.shape(), [&](const Shape& i) { store_at(result, i, scalar_at(t, i)); });
  return result;
}

std::vector<Tensor> layouts(const Tensor& t) {
  const Shape shape = t.shape(), plain = calculate_strides(shape);
  std::vector<Tensor> all = {with_strides(t, plain), with_strides(t, plain, 3)};
  if (shape.empty()) return all;
  Shape reversed = shape;
  std::int64_t stride = 1;
  for (int d = 0; d < shape.size(); ++d) reversed[d] = stride, stride *= std::max<std::int64_t>(shape[d], 1);
  all.push_back(with_strides(t, reversed));
  Shape gaps = plain;
  for (std::int64_t& s : gaps) s *= 2;
  all.push_back(with_strides(t, gaps, 1));
  return all;
}

}  // namespace neura::test
