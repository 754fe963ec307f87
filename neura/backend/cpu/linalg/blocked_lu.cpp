// LU factorisation and what is solved by it.
#include <cstring>
#include <utility>

#include "neura/backend/cpu/linalg/blocked.h"
#include "neura/backend/cpu/linalg/parallel_steps.h"

namespace neura::blocked {
namespace {

constexpr int64_t kColumns = 128;  // of a task

// The dense panel, by halves, down to stripes.
template <class T> struct Panel {
  Context& c;
  T* stripe;  // [m, kStripe]

  int factorise(int64_t m, int64_t n, Matrix<T> a, std::int32_t* pivots) const {  // m >= n
    if (n <= kStripe) {
      gemm_kernels<T>().pack_b(a.data, 1, a.row, n, m, stripe);
      const int info = panel_kernels<T>().factorise(stripe, m, n, pivots);
      panel_kernels<T>().unpack(stripe, m, n, a.data, a.row);
      return info;
    }
    const int64_t first = half(n, kStripe), rest = n - first;
    const Matrix<T> right = a.at(0, first), below = a.at(first, 0), last = a.at(first, first);
    const int info = factorise(m, first, a, pivots);
    swap_rows(right, rest, pivots, first);
    solve_triangle(c, false, true, first, rest, a, right);
    subtract_product(c, m - first, rest, first, below, right, last);
    const int later = factorise(m - first, rest, last, pivots + first);
    swap_rows(below, first, pivots + first, rest);
    for (int64_t i = first; i < n; ++i) pivots[i] += std::int32_t(first);
    return info || !later ? info : later + int(first);
  }
};

// Panel after panel. When one is factorised, all columns to its right are updated, which the threads share. The one
// with the columns of the next panel factorises it at once.
template <class T> class Lu {
 public:
  Lu(Context& c, int64_t m, int64_t n, Matrix<T> a, std::int32_t* pivots)
      : c_(c),
        m_(m),
        n_(n),
        least_(std::min(m, n)),
        panel_(least_ < 1024 ? kTriangle : 2 * kTriangle),
        a_(a),
        pivots_(pivots) {
    const int64_t width = std::min(panel_, least_);
    dense_ = c.scratch_of<T>(m * width), stripe_ = c.scratch_of<T>(parts(m, 64) * 64 * kStripe);
    right_ = c.scratch_of<T>(width * (n + kColumns));
    for (T*& below : below_) below = n > width ? c.scratch_of<T>(m * width) : nullptr;
  }

  int run() {
    const int64_t panels = parts(least_, panel_);
    const auto next_of = [&](int64_t step) { return std::min(panel_, n_ - std::min(step * panel_, least_)); };
    const auto tasks = [&](int64_t step) {  // the first panel, then updates by each of them, then the columns before
      if (!step) return int64_t(1);
      if (step > panels) return panels - 1;
      const int64_t done = std::min(step * panel_, least_);
      return done < n_ ? 1 + parts(n_ - done - next_of(step), kColumns) : 0;
    };
    run_steps(panels + 2, m_ * n_ * least_ < 2 * kGemmSerial, tasks, [&](int64_t step, int64_t task) {
      if (!step) return factorise_panel(0);
      if (step > panels) return swap_left(task);
      const int64_t j = (step - 1) * panel_, done = std::min(j + panel_, least_), next = next_of(step);
      const int64_t from = task ? done + next + (task - 1) * kColumns : done;
      update(j, from, task ? std::min(kColumns, n_ - from) : next);
      if (!task && done < least_) factorise_panel(done);
    });
    for (int64_t j = panel_; j < least_; ++j) pivots_[j] += std::int32_t(j / panel_ * panel_);
    return info_;
  }

 private:
  // Of the columns from j on, whose rows before j are done.
  void factorise_panel(int64_t j) {
    const int64_t n = std::min(panel_, least_ - j), m = m_ - j;
    const Matrix<T> a = a_.at(j, j);
    for (int64_t i = 0; i < m; ++i) std::memcpy(dense_ + i * n, a[i], std::size_t(n) * sizeof(T));
    const int info = Panel<T>{c_, stripe_}.factorise(m, n, {dense_, n}, pivots_ + j);
    for (int64_t i = 0; i < m; ++i) std::memcpy(a[i], dense_ + i * n, std::size_t(n) * sizeof(T));
    if (info && !info_) info_ = info + int(j);
    if (j + n < n_)
      for (int64_t i = n; i < m; i += kRows)
        gemm_kernels<T>().pack_a(dense_ + i * n, n, 1, std::min(kRows, m - i), n, below_[j / panel_ % 2] + (i - n) * n);
  }

  // `columns` columns from `from` on, by the panel at j.
  void update(int64_t j, int64_t from, int64_t columns) {
    const int64_t n = std::min(panel_, least_ - j);
    const Matrix<T> a = a_.at(j, from);
    swap_rows(a, columns, pivots_ + j, n);
    solve_triangle(c_, false, true, n, columns, a_.at(j, j), a);
    T* const right = right_ + from * std::min(panel_, least_);
    gemm_kernels<T>().pack_b(a.data, a.row, 1, n, columns, right);
    GemmBlock<T> g;
    g.columns = columns, g.depth = n, g.b = {right}, g.c_row = a.row;
    g.epilogue.alpha = -1, g.epilogue.init_row = a.row, g.epilogue.init_column = 1;
    for (int64_t i = n; i < m_ - j; i += kRows) {
      g.rows = std::min(kRows, m_ - j - i), g.a = {below_[j / panel_ % 2] + (i - n) * n}, g.c = a[i];
      g.epilogue.init = g.c;
      gemm_kernels<T>().block(g);
    }
  }

  // What later panels exchanged, in the columns of panel p.
  void swap_left(int64_t p) {
    for (int64_t j = (p + 1) * panel_; j < least_; j += panel_)
      swap_rows(a_.at(j, p * panel_), panel_, pivots_ + j, std::min(panel_, least_ - j));
  }

  static constexpr int64_t kRows = 14 * 64;  // of a block that stays in the second cache
  Context& c_;
  const int64_t m_, n_, least_, panel_;
  const Matrix<T> a_;
  std::int32_t* const pivots_;
  T *dense_, *stripe_, *right_, *below_[2];  // right_, below_: packed, of this panel and of the next one
  int info_ = 0;
};

}  // namespace

template <class T> int factorise(Context& c, int64_t m, int64_t n, Matrix<T> a, std::int32_t* pivots) {
  if (!m || !n) return 0;
  Context own(c.backend, c.device, c.op);
  return Lu<T>(own, m, n, a, pivots).run();
}

template <class T> void invert(Context& c, int64_t n, Matrix<T> lu, const std::int32_t* pivots, Matrix<T> y) {
  // Columns of the inverse of L begin at the diagonal.
  parallel_for(parts(n, kTriangle), 4 * kSerial / (n * n) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i * kTriangle, columns = std::min(kTriangle, n - from);
      for (int64_t r = 0; r < n; ++r) std::fill_n(y[r] + from, columns, T(0));
      for (int64_t r = 0; r < columns; ++r) y[from + r][from + r] = 1;
      solve_triangle(c, false, true, n - from, columns, lu.at(from, from), y.at(from, from));
      solve_triangle(c, true, false, n, columns, lu, y.at(0, from));
    }
  });
  // The inverse of P: columns change places.
  Context own(c.backend, c.device, c.op);
  auto* const order = own.scratch_of<std::int32_t>(n);
  for (int64_t j = 0; j < n; ++j) order[j] = std::int32_t(j);
  for (int64_t j = 0; j < n; ++j) std::swap(order[j], order[pivots[j] - 1]);
  parallel_for(n, 2 * kSerial / n + 1, [&](int64_t begin, int64_t end) {
    Context mine(c.backend, c.device, c.op);
    T* const line = mine.scratch_of<T>(n);
    for (int64_t i = begin; i < end; ++i) {
      T* const to = y[i];
      std::memcpy(line, to, std::size_t(n) * sizeof(T));
      for (int64_t j = 0; j < n; ++j) to[order[j]] = line[j];
    }
  });
}

template int factorise<float>(Context&, int64_t, int64_t, Matrix<float>, std::int32_t*);
template int factorise<double>(Context&, int64_t, int64_t, Matrix<double>, std::int32_t*);
template void invert<float>(Context&, int64_t, Matrix<float>, const std::int32_t*, Matrix<float>);
template void invert<double>(Context&, int64_t, Matrix<double>, const std::int32_t*, Matrix<double>);

}  // namespace neura::blocked
