// Systems with a triangle: products, down to small triangles.
#include "neura/backend/cpu/linalg/blocked.h"

namespace neura::blocked {
namespace {

// The triangle as a dense lower one, whose rows and columns are in reverse order if it is an upper one.
template <class T> void copy_triangle(bool upper, int64_t n, Matrix<T> a, T* to) {
  if (upper) a = {a.at(n - 1, n - 1).data, -a.row, -a.column};
  for (int64_t i = 0; i < n; ++i)
    if (a.column == 1) std::copy_n(a[i], i + 1, to + i * n);
    else
      for (int64_t j = 0; j <= i; ++j) to[i * n + j] = a[i][j * a.column];
}

template <class T> void solve_small(bool upper, bool unit, int64_t n, int64_t k, Matrix<T> a, Matrix<T> x) {
  const PanelKernels<T>& kernels = panel_kernels<T>();
  alignas(64) T l[kTriangle * kTriangle];
  copy_triangle(upper, n, a, l);
  if (upper) x = {x[n - 1], -x.row};
  for (int64_t j = 0; j < k; j += 4 * kernels.lanes)
    kernels.solve(unit, n, std::min<int64_t>(4 * kernels.lanes, k - j), l, x.data + j, x.row);
}

template <class T>
void solve_halves(Context& c, bool upper, bool unit, int64_t n, int64_t k, Matrix<T> a, Matrix<T> x) {
  if (n <= kTriangle) return solve_small(upper, unit, n, k, a, x);
  const int64_t first = half(n, kTriangle), rest = n - first;
  const Matrix<T> low = x.at(first, 0);
  if (upper) {
    solve_halves(c, upper, unit, rest, k, a.at(first, first), low);
    subtract_product(c, first, k, rest, a.at(0, first), low, x);
    solve_halves(c, upper, unit, first, k, a, x);
  } else {
    solve_halves(c, upper, unit, first, k, a, x);
    subtract_product(c, rest, k, first, a.at(first, 0), x, low);
    solve_halves(c, upper, unit, rest, k, a.at(first, first), low);
  }
}

}  // namespace

template <class T>
void solve_triangle(Context& c, bool upper, bool unit, int64_t n, int64_t k, Matrix<T> a, Matrix<T> x) {
  if (!n || !k) return;
  // Columns are independent; few of them share products instead.
  constexpr int64_t kFew = 64;
  const int64_t tasks =
      k < 2 * kFew || n * n * k < 2 * kGemmSerial ? 1 : std::min(k / kFew, 4 * int64_t(get_num_threads()));
  if (tasks == 1) return solve_halves(c, upper, unit, n, k, a, x);
  parallel_for(tasks, 1, [&](int64_t begin, int64_t end) {
    const auto cut = [&](int64_t i) { return i == tasks ? k : part_begin(k, tasks, i) / 16 * 16; };
    for (int64_t i = begin; i < end; ++i) solve_halves(c, upper, unit, n, cut(i + 1) - cut(i), a, x.at(0, cut(i)));
  });
}

template void solve_triangle<float>(Context&, bool, bool, int64_t, int64_t, Matrix<float>, Matrix<float>);
template void solve_triangle<double>(Context&, bool, bool, int64_t, int64_t, Matrix<double>, Matrix<double>);

}  // namespace neura::blocked
