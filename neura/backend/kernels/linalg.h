// Factorisations of batches of matrices. Operands are contiguous, [..., rows, columns] in float32, float64, complex64
// or complex128, all of one dtype where nothing else is said, with the same leading sizes. `pivots` are int32 as LAPACK
// counts them, from 1, and one more element: 0, or the number of the first pivot that is 0 (`info`). An algorithm that
// does not converge, and an element that is not finite where it may not be, fail with DeviceFailure::singular.
#pragma once
#include <algorithm>

#include "neura/backend/backend.h"

namespace neura {

struct MatrixSizes {  // an operand's
  std::int64_t count = 1, rows, columns;
  explicit MatrixSizes(const View& a) : rows(a.size(a.rank() - 2)), columns(a.size(a.rank() - 1)) {
    for (int d = 0; d < a.rank() - 2; ++d) count *= a.size(d);
  }
  std::int64_t numel() const { return rows * columns; }
  std::int64_t least() const { return std::min(rows, columns); }
  std::int64_t most() const { return std::max(rows, columns); }
};

struct linalg_kernels {
  // a [m, n]: lu has U, and L without its diagonal of ones; pivots [min(m, n) + 1]
  Entry<void(Context&, View a, View lu, View pivots)> lu;
  // order[i]: the row of the matrix that row i of L U is; of pivots [k] and an int64 order [m]. IndexError
  Entry<void(Context&, View pivots, View order)> permutation;
  // a [n, n], b [n, k]: a x = b
  Entry<void(Context&, View a, View b, View x, View lu, View pivots)> solve;
  Entry<void(Context&, View a, View inverse, View info)> inverse;  // info: int32, one for each matrix
  Entry<void(Context&, View a, View determinant, View lu, View pivots)> determinant;
  // Reads one triangle; f f^H = a, or (upper) f^H f = a. info: 0, or the order of the leading minor that is not
  // positive.
  Entry<void(Context&, bool upper, View a, View f, View info)> cholesky;
  // a [n, n], of which one triangle is read (unit: and not the diagonal, which is ones), b [n, k]: a x = b
  Entry<void(Context&, bool upper, bool unit, View a, View b, View x)> triangular;
  // a [m, n] as Householder reflectors: R, and below it the vectors; tau [min(m, n)]
  Entry<void(Context&, View a, View reflectors, View tau)> householder;
  // The first n columns of the product of the k reflectors; [m, n], tau [k], k <= n <= m
  Entry<void(Context&, View reflectors, View tau, View q)> reflect;
  // q [m, m] or [m, min(m, n)], or of rank 1: none; r [columns of q or min(m, n), n]
  Entry<void(Context&, View a, View q, View r)> qr;
  // Reads one triangle. values: real, ascending; vectors: columns, or of rank 1: none
  Entry<void(Context&, bool upper, View a, View values, View vectors)> eigh;
  // values and vectors complex; vectors of rank 1: none
  Entry<void(Context&, View a, View values, View vectors)> eig;
  // u [m, k or m], s [k] real, vh [k or n, n], k = min(m, n); u and vh of rank 1: none
  Entry<void(Context&, View a, View u, View s, View vh)> svd;
  // Reads the lower triangle of a symmetric or Hermitian a, and writes that of ld, the rest of which is 0; pivots [n +
  // 1] as of LAPACK's sytrf, hetrf
  Entry<void(Context&, bool hermitian, View a, View ld, View pivots)> ldl;
  Entry<void(Context&, bool hermitian, View ld, View pivots, View b, View x)> ldl_solve;  // pivots [n]
};

}  // namespace neura
