// Reductions of one real matrix to a form whose eigenvalues or singular values are quickly found, and the way back. As
// in blocked.h, results have the same bits on any number of threads.
#pragma once
#include <cmath>
#include <limits>

#include "neura/backend/cpu/linalg/blocked.h"
#include "neura/backend/cpu/linalg/lapack_routines.h"
#include "neura/backend/cpu/linalg/matvec.h"

namespace neura::blocked {

constexpr int64_t whole_tiles(int64_t n) { return parts(n, kTile) * kTile; }
constexpr int64_t tile_of(int64_t i) { return i / kTile * kTile; }
// How far rows of n elements are apart: whole tiles, and no power of two, whose lines would push each other out of the
// cache.
template <class T> constexpr int64_t apart(int64_t n) {
  const int64_t row = whole_tiles(n);
  return row * int64_t(sizeof(T)) % 512 ? row : row + kTile;
}
constexpr int64_t reflectors_of(int64_t n) { return n < 1024 ? 32 : 64; }  // of a block

// By what a matrix of that largest element is multiplied, so that no square of an element, or of its inverse, is
// infinite.
template <class T> T scale_of(T most) {
  const T least = std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
  return most > 0 && most < least ? least / most : most > 1 / least ? 1 / least / most : T(1);
}

// Q^T a Q = the tridiagonal matrix of diagonal d [n] and e [n - 1] next to it; Q is the product of n - 1 reflectors:
// row i of v has the vector of the i-th, whose elements up to i are 0. a and v have whole_tiles(n) rows of apart<T>(n)
// elements, those beyond n are 0. Of a the squares of kTile on the diagonal, and what is to their right, is read; it is
// lost.
template <class T> void tridiagonalise(Context& c, int64_t n, Matrix<T> a, T* d, T* e, Matrix<T> v, T* tau);
// Eigenvalues d, ascending, of the tridiagonal matrix of diagonal d [n] and e [n - 1], which is lost; the vector of the
// i-th is row order[i] of z [n, n]. LAPACK's info.
template <class T>
int divide(Context& c, const lapack::Routines<T>& l, int64_t n, T* d, T* e, Matrix<T> z, std::int32_t* order);
// Q^T a P = the bidiagonal matrix of diagonal d [n] and e [n - 1] above it, of a [m, n], m >= n. Q is the product of n
// reflectors, whose vectors are the rows of v (those of the i-th up to i - 1 are 0), P that of n - 1 (row i of u, 0 up
// to i). Rows are apart<T>(m) and apart<T>(n) elements apart, and what is beyond their elements is 0, in a as well.
template <class T> struct Sides {
  Matrix<T> v, u;           // n rows
  T *left, *right, *d, *e;  // tau of the reflectors; the bidiagonal matrix
};
template <class T> void bidiagonalise(Context& c, int64_t m, int64_t n, Matrix<T> a, const Sides<T>& sides);

// y [n, columns] = the product of `count` reflectors, in the rows of v, the i-th zero before element i + first, times a
// matrix: row order[j] of z (or j) has the first `depth` elements of its column j < depth; all else is the identity's.
template <class T> struct Columns {
  Matrix<const T> z;
  int64_t depth;
  const std::int32_t* order;
};
template <class T> void reflect_columns(Context& c, int64_t n, int64_t columns, int64_t count, int64_t first,
                                        Matrix<T> v, const T* tau, const Columns<T>& of, Matrix<T> y);

}  // namespace neura::blocked
