// Kernels for the parts of a blocked factorisation that are not matrix products: panels and triangles. Once per
// instruction set.
#pragma once
#include <cstdint>

namespace neura {

inline constexpr std::int64_t kStripe = 16;    // columns that are factorised one by one
inline constexpr std::int64_t kTriangle = 64;  // rows and columns of a triangle that is solved one by one

template <class T> struct PanelKernels {
  int lanes;
  // P L U = a of m rows and n <= kStripe columns, m >= n, in slivers of 2 * lanes rows, [sliver][n][rows], the last one
  // filled with zeros. Pivots count from 1; the first pivot that is 0, or 0, is returned.
  int (*factorise)(T* a, std::int64_t m, std::int64_t n, std::int32_t* pivots);
  // Such slivers, row by row.
  void (*unpack)(const T* slivers, std::int64_t m, std::int64_t n, T* to, std::int64_t row);
  // x of l x = b over b [n, columns], at most 4 * lanes columns; the lower triangle l [n, n], n <= kTriangle, is dense.
  void (*solve)(bool unit, std::int64_t n, std::int64_t columns, const T* l, T* x, std::int64_t row);
  // u^T u = a of the upper triangle in place, n <= kStripe rows that are kStripe apart. What is below the diagonal is
  // lost. The order of the first leading minor that is not positive, or 0, is returned.
  int (*cholesky)(std::int64_t n, T* a);
};
template <class T> const PanelKernels<T>& panel_kernels();

}  // namespace neura
