// Products with a sparse matrix, one of its rows at a time; one table per instruction set.
#pragma once
#include <cstdint>

#include "neura/backend/kernels/sparse.h"

namespace neura {

template <class T> struct SparseLines {
  // y [n] = sum of values[i] * row columns[i] of b, whose rows are `step` apart
  void (*product)(const std::int64_t* columns, const T* values, std::int64_t stored, const T* b, std::int64_t step,
                  std::int64_t n, T* y);
  T (*dot)(const T* a, const T* b, std::int64_t n);
};
struct SparseTable {
  SparseLines<float> singles;
  SparseLines<double> doubles;
};
const SparseTable& sparse_table();

}  // namespace neura
