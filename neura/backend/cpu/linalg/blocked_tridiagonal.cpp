// Tridiagonal form of a symmetric matrix by blocks (Dongarra, Sorensen and Hammarling, Block reduction of matrices to
// condensed forms for eigenvalue computations, 1989): the reflectors of a panel of columns are found with one product
// of the matrix and a vector each, then the matrix is updated for all of them at once: a - V W^T - W V^T.
#include "neura/backend/cpu/linalg/reflectors.h"
#include "neura/backend/cpu/linalg/spectral.h"
#include "neura/backend/cpu/linalg/parallel_steps.h"

namespace neura::blocked {
namespace {

constexpr int64_t kShared = 256;  // rows of a product with a vector that a thread should have
constexpr int64_t kMostParts = 16;
constexpr int64_t kTogether = 512;  // rows up to which threads do not meet for each column: one may be kept waiting

template <class T> class Tridiagonal {
 public:
  Tridiagonal(Context& c, int64_t n, Matrix<T> a, T* d, T* e, Matrix<T> v, T* tau)
      : c_(c),
        n_(n),
        row_(a.row),
        end_(whole_tiles(n)),
        width_(reflectors_of(n)),
        a_(a),
        v_(v),
        d_(d),
        e_(e),
        tau_(tau) {
    panel_ = c.scratch_of<T>(3 * width_ * row_);
    partial_ = c.scratch_of<T>(parts_of(0) * row_);
    inner_ = c.scratch_of<T>(2 * width_);
  }
  void run() {
    const int64_t panels = parts(n_, width_), shared = parts(std::max<int64_t>(n_ - kTogether, 0), width_);
    run(0, shared, false);
    for (int64_t p = shared; p < panels; ++p) {
      run(p, p + 1, true);
      const int64_t from = tile_of((p + 1) * width_);
      parallel_for(parts(std::max<int64_t>(n_ - from, 0), kBlock), 4, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) update(from + i * kBlock);
      });
    }
  }

 private:
  // Of each panel two steps for every column, one for the last vector, and one for the update, if they are not alone.
  void run(int64_t first, int64_t last, bool alone) {
    const int64_t each = 2 * width_ + 2;
    if (first == last) return;
    const int64_t steps = (last - first - 1) * each + 2 * std::min(width_, n_ - (last - 1) * width_) + 2 - alone;
    const auto tasks = [&](int64_t step) {
      const int64_t begin = (first + step / each) * width_, width = std::min(width_, n_ - begin), s = step % each;
      if (s == 2 * width + 1) return parts(std::max<int64_t>(n_ - tile_of(begin + width), 0), kBlock);
      return s % 2 ? 1 + parts_of(begin + s / 2) : 1;
    };
    run_steps(steps, alone, tasks, [&](int64_t step, int64_t task) {
      const int64_t begin = (first + step / each) * width_, width = std::min(width_, n_ - begin), s = step % each;
      if (s == 2 * width + 1) return update(tile_of(begin + width) + task * kBlock);
      if (s % 2) return task ? multiply(begin + s / 2, task - 1) : correct(begin, s / 2);
      if (s) finish(begin, s / 2 - 1);
      if (s < 2 * width) reflect(begin, s / 2);
    });
  }
  T* left(int64_t k) const { return panel_ + k * row_; }                  // V of the panel; what is before is not set
  T* right(int64_t k) const { return panel_ + (width_ + k) * row_; }      // W
  T* again(int64_t k) const { return panel_ + (2 * width_ + k) * row_; }  // V
  int64_t parts_of(int64_t column) const { return std::min(kMostParts, parts(n_ - column, kShared)); }

  int64_t edge(int64_t column, int64_t part) const {  // where a part begins: triangles of about the same size
    const int64_t first = tile_of(column + 1), count = parts_of(column);
    const double behind = std::sqrt(double(count - part) / double(count));
    return part == count ? end_ : first + tile_of(int64_t(double(end_ - first) * (1 - behind)));
  }

  // Column begin + k of the matrix, less what the reflectors before take from it; its reflector.
  void reflect(int64_t begin, int64_t k) {
    const int64_t j = begin + k, from = tile_of(j);
    T* const x = a_[j];
    T factors[kBlock] = {};
    for (int64_t q = 0; q < k; ++q) factors[q] = -right(q)[j];
    kernels_.combine(k, end_ - from, left(0) + from, row_, factors, x + from);
    for (int64_t q = 0; q < k; ++q) factors[q] = -left(q)[j];
    kernels_.combine(k, end_ - from, right(0) + from, row_, factors, x + from);
    d_[j] = x[j];
    T* const v = v_[j];
    std::fill_n(v, j + 1, T(0)), std::fill_n(v + n_, row_ - n_, T(0));
    if (j + 1 == n_) return;
    std::copy_n(x + j + 1, n_ - j - 1, v + j + 1);
    tau_[j] = reflector(v + j + 1, n_ - j - 1);
    e_[j] = v[j + 1];
    v[j + 1] = 1;
    const int64_t first = tile_of(begin);
    std::copy(v + first, v + row_, left(k) + first), std::copy(v + first, v + row_, again(k) + first);
  }
  // a v, of rows that are the same for any number of threads.
  void multiply(int64_t j, int64_t part) {
    if (j + 1 == n_) return;
    kernels_.symmetric(edge(j, part), edge(j, part + 1), end_, a_.data, row_, v_[j], partial_ + part * row_);
  }
  // What the reflectors before take from a v.
  void correct(int64_t begin, int64_t k) {
    const int64_t j = begin + k, first = tile_of(j + 1);
    if (j + 1 == n_) return;
    kernels_.dots(k, end_ - first, right(0) + first, row_, v_[j] + first, inner_);
    kernels_.dots(k, end_ - first, left(0) + first, row_, v_[j] + first, inner_ + width_);
    for (int64_t q = 0; q < k; ++q) inner_[q] = -inner_[q], inner_[width_ + q] = -inner_[width_ + q];
  }
  void finish(int64_t begin, int64_t k) {
    const int64_t j = begin + k, first = tile_of(j + 1), count = parts_of(j);
    if (j + 1 == n_) return;
    T *const w = right(k), *const v = v_[j];
    std::copy(partial_ + first, partial_ + end_, w + first);
    for (int64_t p = 1; p < count; ++p) {  // begins with its first row
      const int64_t from = edge(j, p);
      const T one = 1;
      kernels_.combine(1, end_ - from, partial_ + p * row_ + from, row_, &one, w + from);
    }
    kernels_.combine(k, end_ - first, left(0) + first, row_, inner_, w + first);
    kernels_.combine(k, end_ - first, right(0) + first, row_, inner_ + width_, w + first);
    std::fill(w + first, w + j + 1, T(0));
    T inner;
    kernels_.dots(1, end_ - first, w + first, row_, v + first, &inner);
    const T tau = tau_[j], half = -tau * (tau * inner) / 2;
    for (int64_t i = first; i < end_; ++i) w[i] = tau * w[i] + half * v[i];
  }
  void update(int64_t r) {
    const int64_t rows = std::min(kBlock, n_ - r);
    product<T>(c_, rows, n_ - r, 2 * width_, -1, {left(0) + r, 1, row_}, {right(0) + r, row_}, a_.at(r, r), true);
  }

  Context& c_;
  const int64_t n_, row_, end_, width_;
  const Matrix<T> a_, v_;
  T *const d_, *const e_, *const tau_;
  T *panel_, *partial_, *inner_;
  const MatvecKernels<T>& kernels_ = matvec_kernels<T>();
};

}  // namespace

template <class T> void tridiagonalise(Context& c, int64_t n, Matrix<T> a, T* d, T* e, Matrix<T> v, T* tau) {
  Context own(c.backend, c.device, c.op);
  Tridiagonal<T>(own, n, a, d, e, v, tau).run();
}

template void tridiagonalise<float>(Context&, int64_t, Matrix<float>, float*, float*, Matrix<float>, float*);
template void tridiagonalise<double>(Context&, int64_t, Matrix<double>, double*, double*, Matrix<double>, double*);

}  // namespace neura::blocked
