// Factorisations of one real matrix by blocks: nearly all of the work are products, which all threads share. Matrices
// are row-major with rows `row` elements apart. How a matrix is cut depends on its sizes alone, so that results have
// the same bits on any number of threads.
#pragma once
#include <algorithm>
#include <cstring>

#include "neura/backend/cpu/linalg/panel.h"
#include "neura/backend/cpu/product/gemm.h"
#include "neura/core/parallel.h"

namespace neura::blocked {

template <class T> struct Matrix {
  T* data;
  int64_t row, column = 1;  // strides
  Matrix at(int64_t i, int64_t j) const { return {data + i * row + j * column, row, column}; }
  T* operator[](int64_t i) const { return data + i * row; }
  Matrix transposed() const { return {data, column, row}; }
};

// y = alpha * a b + y, or without the latter; y [m, n], a [m, k]. Columns of y are consecutive.
template <class T>
void product(Context& c, int64_t m, int64_t n, int64_t k, T alpha, Matrix<T> a, Matrix<T> b, Matrix<T> y, bool add) {
  Context own(c.backend, c.device, c.op);  // many products: each gives its memory back
  Gemm<T> g{m, n, k, a.data, a.row, a.column, b.data, b.row, b.column, y.data, y.row, {}};
  g.epilogue.alpha = alpha;
  if (add) g.epilogue.init = y.data, g.epilogue.init_row = y.row, g.epilogue.init_column = 1;
  gemm(own, g);
}
template <class T>
void subtract_product(Context& c, int64_t m, int64_t n, int64_t k, Matrix<T> a, Matrix<T> b, Matrix<T> y) {
  product(c, m, n, k, T(-1), a, b, y, true);
}

// to[j][i] = from[i][j], at most kBlock rows.
constexpr int64_t kBlock = 64;
template <class T> void transpose_block(int64_t rows, int64_t columns, Matrix<const T> from, Matrix<T> to) {
  const int64_t width = gemm_kernels<T>().width;
  alignas(64) T slivers[kBlock * kBlock];
  for (int64_t first = 0, count; first < columns; first += count) {
    count = std::min(kBlock, columns - first);
    gemm_kernels<T>().pack_b(from.data + first, 1, from.row, count, rows, slivers);
    for (int64_t i = 0; i < rows; i += width)
      for (int64_t j = 0; j < count; ++j)
        std::memcpy(to[first + j] + i, slivers + i * count + j * width,
                    std::size_t(std::min(width, rows - i)) * sizeof(T));
  }
}

// Where `n` is cut in two: the first part, of whole blocks.
constexpr int64_t half(int64_t n, int64_t block) { return parts(parts(n, 2), block) * block; }

// x of a x = b over b [n, k]; of a triangle of a [n, n] (unit: its diagonal is not read, and counts as ones).
template <class T>
void solve_triangle(Context& c, bool upper, bool unit, int64_t n, int64_t k, Matrix<T> a, Matrix<T> x);
// Rows i and pivots[i] - 1 of a change places, for i of [0, count) in this order.
template <class T> void swap_rows(Matrix<T> a, int64_t columns, const std::int32_t* pivots, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if (const int64_t p = pivots[i] - 1; p != i) std::swap_ranges(a[i], a[i] + columns, a[p]);
}
// P L U = a [m, n] in place; LAPACK's pivots [min(m, n)] and info.
template <class T> int factorise(Context& c, int64_t m, int64_t n, Matrix<T> a, std::int32_t* pivots);
// The inverse of P L U = lu [n, n].
template <class T> void invert(Context& c, int64_t n, Matrix<T> lu, const std::int32_t* pivots, Matrix<T> y);
// f f^T = a, or (upper) f^T f = a, of the triangle that is read; the other one of f becomes 0. Both [n, n] without
// gaps. LAPACK's info.
template <class T> int cholesky(Context& c, bool upper, int64_t n, const T* a, T* f);
// Householder reflectors of a [m, n] in place, as LAPACK keeps them: R, and below it the vectors; tau [min(m, n)].
template <class T> void householder(Context& c, int64_t m, int64_t n, Matrix<T> a, T* tau);
// The first n columns of the product of the k reflectors in the columns of v [m, k].
template <class T>
void reflect(Context& c, int64_t m, int64_t n, int64_t k, Matrix<const T> v, const T* tau, Matrix<T> q);

}  // namespace neura::blocked
