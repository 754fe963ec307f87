// Elements as plain bytes, and loops over all dimensions but the innermost.
#pragma once
#include <cstring>

#include "neura/backend/view.h"

namespace neura {

struct Bytes16 {
  std::uint64_t half[2];
};

// f(U()) with an unsigned type of so many bytes.
template <class F> void visit_width(int bytes, const F& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t());
    case 2:
      return f(std::uint16_t());
    case 4:
      return f(std::uint32_t());
    case 8:
      return f(std::uint64_t());
    default:
      return f(Bytes16());
  }
}

// A position in several arrays of one shape, moved along in row-major order. Strides are in elements.
template <int N> struct Odometer {
  int rank = 0;
  std::int64_t shape[kMaxRank], index[kMaxRank], stride[kMaxRank][N], at[N] = {};

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
