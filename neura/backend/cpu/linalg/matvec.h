// Kernels for the half of a reduction to tridiagonal, bidiagonal or Hessenberg form that is no matrix product: a matrix
// times one vector. Once per instruction set.
#pragma once
#include <cstdint>

namespace neura {

inline constexpr std::int64_t kTile = 16;  // rows and columns of a square on the diagonal whose both triangles are kept

template <class T> struct MatvecKernels {
  // out[k] = the sum over i of x[k][i] v[i], of rows `row` elements apart.
  void (*dots)(std::int64_t rows, std::int64_t n, const T* x, std::int64_t row, const T* v, T* out);
  // y[i] += the sum over k of c[k] x[k][i].
  void (*combine)(std::int64_t rows, std::int64_t n, const T* x, std::int64_t row, const T* c, T* y);
  // y = a v over the rows [begin, end) of a symmetric matrix of `columns` columns: what they give to their own elements
  // of y, and what their transposes give to those after. Of a only the squares on the diagonal, and what is to their
  // right, is read. All numbers are multiples of kTile. y[0, columns) from `begin` on is written.
  void (*symmetric)(std::int64_t begin, std::int64_t end, std::int64_t columns, const T* a, std::int64_t row,
                    const T* v, T* y);
};
template <class T> const MatvecKernels<T>& matvec_kernels();

}  // namespace neura
