// Householder reflectors, one and by blocks: H1 H2 ... = I - V T V^T (Schreiber and Van Loan, A storage-efficient WY
// representation for products of Householder transformations, 1989).
#pragma once
#include <cmath>
#include <limits>

#include "neura/backend/cpu/linalg/blocked.h"

namespace neura::blocked {

// Of values whose squares may be too large or too small. Summed in short pieces: what is lost of one reflector's size
// is lost of the orthogonality of all.
template <class T> T norm(const T* x, int64_t n) {
  constexpr int64_t kPiece = 64;
  constexpr double least = double(std::numeric_limits<T>::min()) / double(std::numeric_limits<T>::epsilon());
  double sum = 0;
  for (int64_t i = 0; i < n; i += kPiece) sum += double(gemm_kernels<T>().dot(x + i, x + i, std::min(kPiece, n - i)));
  if (sum >= least / double(std::numeric_limits<T>::epsilon()) && sum <= double(std::numeric_limits<T>::max()))
    return T(std::sqrt(sum));
  T most = 0;
  for (int64_t i = 0; i < n; ++i)
    if (!(std::abs(x[i]) <= most)) most = std::abs(x[i]);
  if (!(most > 0)) return most;
  double scaled = 0;
  for (int64_t i = 0; i < n; ++i) scaled += double(x[i] / most) * double(x[i] / most);
  return most * T(std::sqrt(scaled));
}

// x [n] becomes the vector, without its first element 1, whose place has beta; tau is returned.
template <class T> T reflector(T* x, int64_t n) {
  constexpr T least = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  T size = norm(x + 1, n - 1);
  if (size == 0) return 0;
  T beta = -std::copysign(std::hypot(x[0], size), x[0]);
  int scaled = 0;  // until the reciprocal below is finite
  for (; std::abs(beta) < least && scaled < 20; ++scaled) {
    for (int64_t i = 0; i < n; ++i) x[i] *= 1 / least;
    beta *= 1 / least;
  }
  if (scaled) size = norm(x + 1, n - 1), beta = -std::copysign(std::hypot(x[0], size), x[0]);
  const T tau = (beta - x[0]) / beta, factor = 1 / (x[0] - beta);
  for (int64_t i = 1; i < n; ++i) x[i] *= factor;
  for (; scaled; --scaled) beta *= least;
  x[0] = beta;
  return tau;
}

// A block of reflectors: V by columns [width][rows], and T.
template <class T> struct Block {
  T *v, *t;
  int64_t rows, width, row;  // rows of V; columns of V; how far columns are apart in `v`

  static int64_t room(int64_t rows, int64_t width) { return rows * width + width * width; }
  Block(T* memory, int64_t m, int64_t w) : Block(memory, m, memory + m * w, m, w) {}
  Block(T* columns, int64_t apart, T* triangle, int64_t m, int64_t w)
      : v(columns), t(triangle), rows(m), width(w), row(apart) {}

  T* column(int64_t i) const { return v + i * row; }
  void read(Matrix<const T> a) const {
    for (int64_t i = 0; i < rows; i += kBlock)
      transpose_block<T>(std::min(kBlock, rows - i), width, a.at(i, 0), {v + i, row});
  }
  void factorise(T* tau) const {
    const GemmKernels<T>& kernels = gemm_kernels<T>();
    for (int64_t i = 0; i < std::min(width, rows); ++i) {
      T* const x = column(i) + i;
      const int64_t n = rows - i;
      tau[i] = reflector(x, n);
      if (tau[i] == 0) continue;
      for (int64_t j = i + 1; j < width; ++j) {
        T* const y = column(j) + i;
        const T s = tau[i] * (y[0] + kernels.dot(x + 1, y + 1, n - 1));
        y[0] -= s;
        kernels.axpy(-s, x + 1, y + 1, n - 1);
      }
    }
  }
  // Makes V of what LAPACK keeps, and T of it.
  void finish(Context& c, const T* tau) const {
    for (int64_t i = 0; i < width; ++i) std::fill_n(column(i), i, T(0)), column(i)[i] = 1;
    make_triangle(c, tau);
  }
  void make_triangle(Context& c, const T* tau) const {
    Context own(c.backend, c.device, c.op);
    T* const g = own.scratch_of<T>(width * width);
    product<T>(c, width, width, rows, 1, {v, row}, Matrix<T>{v, row}.transposed(), {g, width}, false);
    for (int64_t i = 0; i < width; ++i) {
      for (int64_t r = 0; r < width; ++r) {
        T sum = 0;
        for (int64_t k = r; k < i; ++k) sum += t[r * width + k] * g[i * width + k];
        t[r * width + i] = r < i ? -tau[i] * sum : r == i ? tau[i] : 0;
      }
    }
  }
  // x [rows, columns] = (I - V T V^T) x, or with the transpose of T.
  void apply(Context& c, bool transposed, int64_t columns, Matrix<T> x) const {
    Context own(c.backend, c.device, c.op);
    const Matrix<T> w{own.scratch_of<T>(width * columns), columns}, u{own.scratch_of<T>(width * columns), columns};
    const Matrix<T> rows_of_v{v, row}, triangle{t, width};
    product<T>(c, width, columns, rows, 1, rows_of_v, x, w, false);
    product<T>(c, width, columns, width, 1, transposed ? triangle.transposed() : triangle, w, u, false);
    subtract_product<T>(c, rows, columns, width, rows_of_v.transposed(), u, x);
  }
};

}  // namespace neura::blocked
