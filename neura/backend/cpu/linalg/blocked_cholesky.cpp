// Cholesky factorisation by blocks.
#include "neura/backend/cpu/linalg/blocked.h"
#include "neura/backend/cpu/linalg/parallel_steps.h"

namespace neura::blocked {
namespace {

// u^T u = a of the upper triangle in place, by halves; what is below the diagonal is lost.
template <class T> int factorise_small(Context& c, int64_t n, Matrix<T> a) {
  if (n <= kStripe) {
    alignas(64) T dense[kStripe * kStripe] = {};
    for (int64_t i = 0; i < n; ++i) std::copy_n(a[i], n, dense + i * kStripe);
    const int info = panel_kernels<T>().cholesky(n, dense);
    for (int64_t i = 0; i < n; ++i) std::copy_n(dense + i * kStripe, n, a[i]);
    return info;
  }
  const int64_t first = half(n, kStripe), rest = n - first;
  const Matrix<T> right = a.at(0, first), last = a.at(first, first);
  const int info = factorise_small(c, first, a);
  solve_triangle(c, false, false, first, rest, a.transposed(), right);
  subtract_product(c, rest, rest, first, right.transposed(), right, last);
  const int later = factorise_small(c, rest, last);
  return info || !later ? info : later + int(first);
}

// Block rows of u, one after the other: the block on the diagonal, those to its right, and what they take from all
// blocks below. The thread of the next block on the diagonal factorises it at once.
template <class T> class Cholesky {
 public:
  Cholesky(Context& c, bool upper, int64_t n, const T* a, T* f)
      : c_(c),
        upper_(upper),
        n_(n),
        block_(n < 1024 ? kBlock : 2 * kBlock),
        count_(parts(n, block_)),
        a_{a, n},
        f_{f, n} {
    left_ = c.scratch_of<T>(n * block_), right_ = c.scratch_of<T>((n + 2 * kBlock) * block_);
  }
  int run() {
    const int64_t last = 2 * count_ + 1;  // in, first block, then two steps for each block row but the last one, out
    const auto tasks = [&](int64_t step) {
      return step == 0 || step == last - 1 ? count_ : step == 1 ? 1 : count_ - step / 2;
    };
    run_steps(last, n_ * n_ * n_ < 4 * kGemmSerial, tasks, [&](int64_t step, int64_t task) {
      const int64_t p = step / 2 - 1;
      if (!step) return read(task);
      if (step == last - 1) return write(task);
      if (step == 1) return diagonal(0);
      if (step % 2 == 0) return divide(p, p + 1 + task);
      update(p, task ? count_ - task : p + 1);
      if (!task) diagonal(p + 1);
    });
    return info_;
  }

 private:
  int64_t size(int64_t i) const { return std::min(block_, n_ - i * block_); }
  Matrix<T> at(int64_t i, int64_t j) const { return f_.at(i * block_, j * block_); }
  T* left(int64_t i) const { return left_ + i * block_ * block_; }
  T* right(int64_t i) const { return right_ + i * block_ * block_; }

  void read(int64_t i) {  // block column i, down to the diagonal
    const int64_t from = i * block_, rows = from + size(i);
    for (int64_t r = 0; upper_ && r < rows; ++r) std::copy_n(a_[r] + from, size(i), f_[r] + from);
    for (int64_t r = 0; !upper_ && r < size(i); r += kBlock)
      transpose_block<T>(std::min(kBlock, size(i) - r), rows, a_.at(from + r, 0), f_.at(0, from + r));
  }
  void write(int64_t i) {  // block row i of u, or block column i of l; zeros on the other side of the diagonal
    const Matrix<T> d = at(i, i);
    const int64_t rest = n_ - i * block_ - size(i);
    for (int64_t r = 0; !upper_ && r < size(i); r += kBlock)
      transpose_block<T>(std::min(kBlock, size(i) - r), rest, {d[r] + size(i), n_}, d.at(size(i), r));
    for (int64_t r = 0; upper_ && r < rest; ++r) std::fill_n(d[size(i) + r], size(i), T(0));
    for (int64_t r = 0; r < size(i); ++r) {
      for (int64_t j = r + 1; !upper_ && j < size(i); ++j) d[j][r] = d[r][j];
      if (upper_) std::fill_n(d[r], r, T(0));
      else std::fill_n(d[r] + r + 1, size(i) + rest - r - 1, T(0));
    }
  }
  void diagonal(int64_t i) {
    const int info = factorise_small(c_, size(i), at(i, i));
    if (info && !info_) info_ = info + int(i * block_);
  }
  void divide(int64_t p, int64_t j) {
    const Matrix<T> x = at(p, j);
    solve_triangle(c_, false, false, block_, size(j), at(p, p).transposed(), x);
    gemm_kernels<T>().pack_a(x.data, 1, x.row, size(j), block_, left(j));
    gemm_kernels<T>().pack_b(x.data, x.row, 1, block_, size(j), right(j));
  }
  void update(int64_t p, int64_t j) {
    GemmBlock<T> g;
    g.columns = size(j), g.depth = block_, g.b = {right(j)}, g.c_row = n_;
    g.epilogue.alpha = -1, g.epilogue.init_row = n_, g.epilogue.init_column = 1;
    for (int64_t i = p + 1; i <= j; ++i) {
      g.rows = size(i), g.a = {left(i)}, g.c = at(i, j).data, g.epilogue.init = g.c;
      gemm_kernels<T>().block(g);
    }
  }

  Context& c_;
  const bool upper_;
  const int64_t n_, block_, count_;
  const Matrix<const T> a_;
  const Matrix<T> f_;
  T *left_, *right_;  // the block row, packed
  int info_ = 0;
};

}  // namespace

template <class T> int cholesky(Context& c, bool upper, int64_t n, const T* a, T* f) {
  if (!n) return 0;
  Context own(c.backend, c.device, c.op);
  return Cholesky<T>(own, upper, n, a, f).run();
}
template int cholesky<float>(Context&, bool, int64_t, const float*, float*);
template int cholesky<double>(Context&, bool, int64_t, const double*, double*);

}  // namespace neura::blocked
