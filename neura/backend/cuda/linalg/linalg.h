// The parts of linear algebra: kernels of its own, and matrices as libraries see them. Matrices are contiguous and
// row-major, in a batch; what a library takes column by column says so.
#pragma once
#include <algorithm>

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/kernels/linalg.h"

namespace neura::cuda {

// Kernels by a warp for each matrix, in place: worth it for small matrices, and for many. linalg_small_warp.cu
inline bool by_warps(const MatrixSizes& b) { return b.most() <= 32 || (b.most() <= 128 && b.count >= 16); }
// LU of a [m, n]; pivots [min(m, n) + 1] with info
Failed small_lu(int index, DType, const MatrixSizes&, char* a, std::int32_t* pivots);
// Householder reflectors of a [m, n]; tau [min(m, n)]
Failed small_householder(int index, DType, const MatrixSizes&, char* a, char* tau);
// q [m, n], of which the first k columns hold reflectors, becomes the first n columns of their product; k <= n <= m
Failed small_reflect(int index, DType, const MatrixSizes&, std::int64_t k, char* q, const char* tau);

// Kernels by a thread for each matrix, in place: worth it for many tiny ones. linalg_small_thread.cu
inline bool by_threads(const MatrixSizes& b) { return b.rows == b.columns && b.rows <= 8 && b.count >= 32; }
Failed tiny_lu(int index, DType, const MatrixSizes&, char* a, std::int32_t* pivots);
// x [n, k] of its result; without b, the inverse
Failed tiny_solve(int index, DType, const char* lu, const std::int32_t* pivots, const char* b, const MatrixSizes& x,
                  char* to);
// The other triangle becomes 0. infos [count]
Failed tiny_cholesky(int index, DType, const MatrixSizes&, bool upper, char* a, std::int32_t* infos);

// linalg_moves.cu
namespace moves {
// to[i] = base + i * step bytes
Failed pointers(int index, char* base, std::int64_t step, std::int64_t count, void* to);
// pivots [count, k + 1] of a library's, which counts from 1 as well, and infos
Failed pivots_of(int index, const std::int32_t* from, const int* info, std::int64_t count, std::int64_t k,
                 std::int32_t* pivots);
Failed pivots_of(int index, const std::int64_t* from, const int* info, std::int64_t count, std::int64_t k,
                 std::int32_t* pivots);
// order [count, m] of pivots [count, step], of which the first k count
Failed order_of(Context&, const std::int32_t* pivots, std::int64_t step, std::int64_t k, std::int64_t count,
                std::int64_t m, std::int64_t* order);
// x[i, r] = b[i, order[i, r]] of rows of n elements; without b, of the identity
Failed rows_of(int index, DType, const char* b, const std::int64_t* order, const MatrixSizes& x, char* to);
Failed copy_info(int index, const std::int32_t* pivots, std::int64_t n, std::int64_t count, std::int32_t* info);
Failed determinants(int index, DType, const MatrixSizes&, const char* lu, const std::int32_t* pivots, char* to);
// The other triangle becomes 0.
Failed clear(int index, DType, const MatrixSizes&, bool above, char* x);
Failed identity(int index, DType, const MatrixSizes&, char* x);
Failed conjugate(int index, DType, std::int64_t count, char* x);
// bad[i] = 1, and a becomes 0, where an element of matrix i is not finite: of all, or of one triangle
enum class Part : unsigned char { all, lower, upper };
Failed finite(int index, DType, const MatrixSizes&, Part, char* a, std::int32_t* bad);
// Eigenvectors of a real matrix, column by column, a pair of conjugates as real and imaginary part, as columns of a
// row-major complex matrix.
Failed complex_vectors(int index, DType real, std::int64_t n, const char* values, const char* v, char* to);
}  // namespace moves

// linalg_ldl.cu
void ldl(Context&, bool hermitian, View a, View ld, View pivots);
void ldl_solve(Context&, bool hermitian, View ld, View pivots, View b, View x);

// linalg_qr.cpp
void householder(Context&, View a, View reflectors, View tau);
void reflect(Context&, View reflectors, View tau, View q);
void qr(Context&, View a, View q, View r);
// linalg_spectral.cpp
void eigh(Context&, bool upper, View a, View values, View vectors);
void eig(Context&, View a, View values, View vectors);
void svd(Context&, View a, View u, View s, View vh);

}  // namespace neura::cuda
