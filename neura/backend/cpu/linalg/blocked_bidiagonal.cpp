// Bidiagonal form by blocks (Dongarra, Sorensen and Hammarling, Block reduction of matrices to condensed forms for
// eigenvalue computations, 1989): the reflectors of a panel of columns and rows are found with two products of the
// matrix and a vector each, then the matrix is updated for all of them at once: a - V Y^T - X U^T.
#include "neura/backend/cpu/linalg/reflectors.h"
#include "neura/backend/cpu/linalg/spectral.h"
#include "neura/backend/cpu/linalg/parallel_steps.h"

namespace neura::blocked {
namespace {

constexpr int64_t kShared = 1 << 15;  // elements that a thread should multiply
constexpr int64_t kMostParts = 16;
constexpr int64_t kTogether = 1 << 18;  // elements up to which threads do not meet for each column: one may be kept
                                        // waiting

template <class T> class Bidiagonal {
 public:
  Bidiagonal(Context& c, int64_t m, int64_t n, Matrix<T> a, const Sides<T>& sides)
      : c_(c), m_(m), n_(n), width_(reflectors_of(n)), a_(a), s_(sides) {
    left_ = {c.scratch_of<T>(2 * width_ * s_.v.row), s_.v.row};
    right_ = {c.scratch_of<T>(2 * width_ * s_.u.row), s_.u.row};
    partial_ = {c.scratch_of<T>(kMostParts * s_.u.row), s_.u.row};
    inner_ = c.scratch_of<T>(2 * width_);
  }
  void run() {
    const int64_t panels = parts(n_, width_);
    int64_t shared = 0;
    while (shared < panels && (m_ - shared * width_) * (n_ - shared * width_) > kTogether) ++shared;
    run(0, shared, false);
    for (int64_t p = shared; p < panels; ++p) {
      run(p, p + 1, true);
      const int64_t from = (p + 1) * width_;
      parallel_for(from < n_ ? parts(m_ - from, kBlock) : 0, 2, [&](int64_t i, int64_t end) {
        for (; i < end; ++i) update(from, from + i * kBlock);
      });
    }
  }

 private:
  // Of each panel four steps for every column, one for the last vector, and one for the update, if they are not alone.
  void run(int64_t first, int64_t last, bool alone) {
    const int64_t each = 4 * width_ + 2;
    if (first == last) return;
    const int64_t steps = (last - first - 1) * each + 4 * std::min(width_, n_ - (last - 1) * width_) + 2 - alone;
    const auto tasks = [&](int64_t step) {
      const int64_t begin = (first + step / each) * width_, width = std::min(width_, n_ - begin), s = step % each;
      if (s == 4 * width + 1) return begin + width < n_ ? parts(m_ - begin - width, kBlock) : 0;
      return s % 2 ? 1 + parts_of(begin + s / 4) : 1;
    };
    run_steps(steps, alone, tasks, [&](int64_t step, int64_t task) {
      const int64_t begin = (first + step / each) * width_, width = std::min(width_, n_ - begin), s = step % each;
      const int64_t k = s / 4, i = begin + k;
      if (s == 4 * width + 1) return update(begin + width, begin + width + task * kBlock);
      if (s % 4 == 1) return task ? multiply_left(i, task - 1) : correct_left(i, k);
      if (s % 4 == 3) return task ? multiply_right(i, k, task - 1) : correct_right(i, k);
      if (s % 4 == 2) return finish_left(i, k), reflect_right(i, k);
      if (s) finish_right(i - 1, k - 1);
      if (s < 4 * width) reflect_left(i, k);
    });
  }
  int64_t parts_of(int64_t i) const {
    return std::min(kMostParts, parts(std::max<int64_t>((m_ - i) * (n_ - i), 1), kShared));
  }
  T* v(int64_t k) const { return left_[k]; }
  T* x(int64_t k) const { return left_[width_ + k]; }
  T* y(int64_t k) const { return right_[k]; }
  T* u(int64_t k) const { return right_[width_ + k]; }
  // to -= of `rows` rows of `of` their multiples by factors[0], factors[step], ...
  void take(int64_t rows, const T* of, int64_t row, const T* factors, int64_t step, int64_t from, T* to) const {
    T f[kBlock] = {};
    for (int64_t q = 0; q < rows; ++q) f[q] = -factors[q * step];
    from = tile_of(from);
    kernels_.combine(rows, row - from, of + from, row, f, to + from);
  }

  // Column i of the matrix, less what the reflectors before take from it; its reflector.
  void reflect_left(int64_t i, int64_t k) {
    T* const to = s_.v[i];
    std::fill_n(to + m_, s_.v.row - m_, T(0));
    for (int64_t r = i; r < m_; ++r) to[r] = a_[r][i];
    take(k, v(0), left_.row, y(0) + i, right_.row, i, to);
    take(k, x(0), left_.row, u(0) + i, right_.row, i, to);
    std::fill_n(to, i, T(0));
    s_.left[i] = reflector(to + i, m_ - i);
    s_.d[i] = to[i];
    to[i] = 1;
    const int64_t from = tile_of(i - k);
    std::copy(to + from, to + s_.v.row, v(k) + from);
  }
  void multiply_left(int64_t i, int64_t part) {  // a^T v, of rows that are the same for any number of threads
    const int64_t count = parts_of(i), from = i + part_begin(m_ - i, count, part), column = tile_of(i);
    T* const to = partial_[part];
    std::fill(to + column, to + right_.row, T(0));
    kernels_.combine(i + part_begin(m_ - i, count, part + 1) - from, right_.row - column, a_[from] + column, a_.row,
                     s_.v[i] + from, to + column);
  }
  void correct_left(int64_t i, int64_t k) {
    const int64_t from = tile_of(i);
    kernels_.dots(k, left_.row - from, v(0) + from, left_.row, s_.v[i] + from, inner_);
    kernels_.dots(k, left_.row - from, x(0) + from, left_.row, s_.v[i] + from, inner_ + width_);
  }
  void finish_left(int64_t i, int64_t k) {
    T* const to = y(k);
    const int64_t from = tile_of(i);
    std::copy(partial_[0] + from, partial_[0] + right_.row, to + from);
    for (int64_t p = 1; p < parts_of(i); ++p)
      for (int64_t j = from; j < right_.row; ++j) to[j] += partial_[p][j];
    take(k, y(0), right_.row, inner_, 1, i, to);
    take(k, u(0), right_.row, inner_ + width_, 1, i, to);
    for (int64_t j = from; j < right_.row; ++j) to[j] *= s_.left[i];
  }
  // The row of the matrix after its diagonal, in the same way.
  void reflect_right(int64_t i, int64_t k) {
    T* const to = s_.u[i];
    std::fill_n(to + n_, s_.u.row - n_, T(0));
    if (i + 1 == n_) {
      std::fill_n(to, n_, T(0));
    } else {
      std::copy(a_[i] + i + 1, a_[i] + n_, to + i + 1);
      take(k + 1, y(0), right_.row, v(0) + i, left_.row, i + 1, to);
      take(k, u(0), right_.row, x(0) + i, left_.row, i + 1, to);
      std::fill_n(to, i + 1, T(0));
      s_.right[i] = reflector(to + i + 1, n_ - i - 1);
      s_.e[i] = to[i + 1];
      to[i + 1] = 1;
    }
    const int64_t from = tile_of(i - k);
    std::copy(to + from, to + s_.u.row, u(k) + from);
  }
  void multiply_right(int64_t i, int64_t k, int64_t part) {
    const int64_t count = parts_of(i), from = i + part_begin(m_ - i, count, part), column = tile_of(i);
    if (i + 1 < n_)
      kernels_.dots(i + part_begin(m_ - i, count, part + 1) - from, right_.row - column, a_[from] + column, a_.row,
                    s_.u[i] + column, x(k) + from);
  }
  void correct_right(int64_t i, int64_t k) {
    if (i + 1 == n_) return;
    const int64_t from = tile_of(i);
    kernels_.dots(k + 1, right_.row - from, y(0) + from, right_.row, s_.u[i] + from, inner_);
    kernels_.dots(k, right_.row - from, u(0) + from, right_.row, s_.u[i] + from, inner_ + width_);
  }
  void finish_right(int64_t i, int64_t k) {
    if (i + 1 == n_) return;
    T* const to = x(k);
    std::fill(to + tile_of(i), to + i, T(0)), std::fill(to + m_, to + left_.row, T(0));
    take(k + 1, v(0), left_.row, inner_, 1, i, to);
    take(k, x(0), left_.row, inner_ + width_, 1, i, to);
    for (int64_t r = i; r < m_; ++r) to[r] *= s_.right[i];
  }
  void update(int64_t column, int64_t r) {
    product<T>(c_, std::min(kBlock, m_ - r), n_ - column, 2 * width_, -1, {left_[0] + r, 1, left_.row},
               {right_[0] + column, right_.row}, a_.at(r, column), true);
  }

  Context& c_;
  const int64_t m_, n_, width_;
  const Matrix<T> a_;
  const Sides<T>& s_;
  Matrix<T> left_{}, right_{}, partial_{};  // V and X, Y and U of the panel, by rows
  T* inner_;
  const MatvecKernels<T>& kernels_ = matvec_kernels<T>();
};

}  // namespace

template <class T> void bidiagonalise(Context& c, int64_t m, int64_t n, Matrix<T> a, const Sides<T>& sides) {
  Context own(c.backend, c.device, c.op);
  Bidiagonal<T>(own, m, n, a, sides).run();
}
template void bidiagonalise(Context&, int64_t, int64_t, Matrix<float>, const Sides<float>&);
template void bidiagonalise(Context&, int64_t, int64_t, Matrix<double>, const Sides<double>&);

}  // namespace neura::blocked
