// From an index to its place in memory and back, and the walk over strided and broadcast elements in logical order.
// Pointwise kernels get a Plan instead (backend/plan.h), which orders and merges dimensions.
#pragma once
#include <array>

#include "neura/core/shape.h"

namespace neura {

// The offset, in elements, of the element at `index`. IndexError outside of the shape.
std::int64_t get_offset(const Shape& index, const Shape& shape, const Shape& strides);
// The index of the element at place `linear` in logical order; the other way round, and IndexError likewise.
Shape index_to_coord(std::int64_t linear, const Shape& shape);
// The strides by which a tensor is read as one of shape `as`: 0 where it broadcasts. ShapeError where it does not.
Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& as);

// A position in several arrays of one shape, moved along in logical order:
//   auto o = StridedIterator<2>::over(shape, {strides_of_x, strides_of_y});
//   for (std::int64_t i = 0; i < shape.numel(); ++i, o.next()) x[o.at[0]] += y[o.at[1]];
template <int N> struct StridedIterator {
  int rank = 0;
  std::int64_t shape[kMaxRank], index[kMaxRank], stride[kMaxRank][N], at[N] = {};

  static StridedIterator over(const Shape& shape, const std::array<Shape, N>& strides) {  // at the first element
    StridedIterator o;
    for (int d = 0; d < shape.size(); ++d) {
      o.shape[d] = shape[d], o.index[d] = 0;
      for (int k = 0; k < N; ++k) o.stride[d][k] = strides[std::size_t(k)][d];
    }
    o.rank = shape.size();
    return o;
  }
  void add(std::int64_t size, std::initializer_list<std::int64_t> strides) {
    shape[rank] = size;
    std::copy(strides.begin(), strides.end(), stride[rank++]);
  }
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= shape[d];
    return n;
  }
  void seek(std::int64_t flat) {
    std::fill(at, at + N, 0);
    for (int d = rank - 1; d >= 0; --d) {
      index[d] = flat % shape[d], flat /= shape[d];
      for (int k = 0; k < N; ++k) at[k] += index[d] * stride[d][k];
    }
  }
  void next() {
    for (int d = rank - 1; d >= 0; --d) {
      for (int k = 0; k < N; ++k) at[k] += stride[d][k];
      if (++index[d] < shape[d]) return;
      for (int k = 0; k < N; ++k) at[k] -= stride[d][k] * shape[d];
      index[d] = 0;
    }
  }
};

}  // namespace neura
