// Householder reflectors by blocks: H1 H2 ... = I - V T V^T.
#include <cmath>
#include <limits>

#include "neura/backend/cpu/linalg/blocked.h"
#include "neura/backend/cpu/linalg/steps.h"

namespace neura::blocked {
namespace {

constexpr int64_t width_of(int64_t k) { return k < 1024 ? 32 : 64; }  // of a block of reflectors
constexpr int64_t kColumns = 64;                                      // of a task

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
  int64_t rows, width;  // rows of V; columns of V, and what its rows in `v` are apart

  static int64_t room(int64_t rows, int64_t width) { return rows * width + width * width; }
  Block(T* memory, int64_t m, int64_t w) : v(memory), t(memory + m * w), rows(m), width(w) {}

  T* column(int64_t i) const { return v + i * rows; }
  void read(Matrix<const T> a) const {
    for (int64_t i = 0; i < rows; i += kBlock)
      transpose_block<T>(std::min(kBlock, rows - i), width, a.at(i, 0), {v + i, rows});
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
    Context own(c.backend, c.device, c.op);
    T* const g = own.scratch_of<T>(width * width);
    product<T>(c, width, width, rows, 1, {v, rows}, Matrix<T>{v, rows}.transposed(), {g, width}, false);
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
    const Matrix<T> rows_of_v{v, rows}, triangle{t, width};
    product<T>(c, width, columns, rows, 1, rows_of_v, x, w, false);
    product<T>(c, width, columns, width, 1, transposed ? triangle.transposed() : triangle, w, u, false);
    subtract_product<T>(c, rows, columns, width, rows_of_v.transposed(), u, x);
  }
};

}  // namespace

// When a block is factorised, all columns to its right are updated, which the threads share. The one with the columns
// of the next block factorises it at once.
template <class T> void householder(Context& c, int64_t m, int64_t n, Matrix<T> a, T* tau) {
  const int64_t k = std::min(m, n), width = width_of(k), blocks = parts(k, width);
  if (!k) return;
  Context own(c.backend, c.device, c.op);
  T* const memory = own.scratch_of<T>(2 * Block<T>::room(m, width));
  const auto block = [&](int64_t p) {
    return Block<T>(memory + p % 2 * Block<T>::room(m, width), m - p * width, std::min(width, k - p * width));
  };
  const auto factorise = [&](int64_t p) {
    const Block<T> b = block(p);
    const Matrix<T> x = a.at(p * width, p * width);
    b.read({x.data, x.row});
    b.factorise(tau + p * width);
    transpose_block<T>(b.width, b.rows, {b.v, b.rows}, x);
    b.finish(own, tau + p * width);
  };
  const auto done_after = [&](int64_t step) { return std::min(step * width, k); };
  const auto next_after = [&](int64_t step) { return std::min(width, n - done_after(step)); };
  const auto tasks = [&](int64_t step) {
    const int64_t done = done_after(step);
    return !step ? 1 : done < n ? 1 + parts(n - done - next_after(step), kColumns) : 0;
  };
  run_steps(blocks + 1, m * n * k < kGemmSerial, tasks, [&](int64_t step, int64_t task) {
    if (!step) return factorise(0);
    const int64_t done = done_after(step), next = next_after(step);
    const int64_t from = task ? done + next + (task - 1) * kColumns : done;
    block(step - 1).apply(own, true, task ? std::min(kColumns, n - from) : next, a.at((step - 1) * width, from));
    if (!task && step < blocks) factorise(step);
  });
}

// Columns of the product are independent, and those of the identity are zero where later blocks would change them.
template <class T>
void reflect(Context& c, int64_t m, int64_t n, int64_t k, Matrix<const T> v, const T* tau, Matrix<T> q) {
  if (!m || !n) return;
  Context own(c.backend, c.device, c.op);
  const int64_t width = width_of(k), blocks = parts(k, width), room = Block<T>::room(m, width);
  T* const memory = own.scratch_of<T>(room * blocks);
  const auto block = [&](int64_t p) {
    return Block<T>(memory + p * room, m - p * width, std::min(width, k - p * width));
  };
  const auto tasks = [&](int64_t step) { return step ? parts(n, kColumns) : blocks; };
  run_steps(2, m * n * k < kGemmSerial, tasks, [&](int64_t step, int64_t task) {
    if (!step) {
      block(task).read(v.at(task * width, task * width));
      return block(task).finish(own, tau + task * width);
    }
    const int64_t from = task * kColumns, columns = std::min(kColumns, n - from);
    for (int64_t i = 0; i < m; ++i) std::fill_n(q[i] + from, columns, T(0));
    for (int64_t i = 0; i < columns; ++i) q[from + i][from + i] = 1;
    for (int64_t p = std::min(blocks, parts(from + columns, width)) - 1; p >= 0; --p)
      block(p).apply(own, false, columns, q.at(p * width, from));
  });
}

template void householder<float>(Context&, int64_t, int64_t, Matrix<float>, float*);
template void householder<double>(Context&, int64_t, int64_t, Matrix<double>, double*);
template void reflect<float>(Context&, int64_t, int64_t, int64_t, Matrix<const float>, const float*, Matrix<float>);
template void reflect<double>(Context&, int64_t, int64_t, int64_t, Matrix<const double>, const double*, Matrix<double>);

}  // namespace neura::blocked
