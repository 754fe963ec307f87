// Multiplies a matrix by many reflectors, by blocks: the way back from a condensed form. Each task has columns of
// the matrix, which are contiguous while all reflectors pass over them.
#include "neura/backend/cpu/linalg/reflectors.h"
#include "neura/backend/cpu/linalg/spectral.h"
#include "neura/backend/cpu/linalg/parallel_steps.h"

namespace neura::blocked {
namespace {

constexpr int64_t kColumns = 64;  // of a task

// f(row, column) over [0, rows) x [0, columns), tile by tile.
template <class F> void each_tile(int64_t rows, int64_t columns, F&& f) {
  for (int64_t i = 0; i < rows; i += kTile)
    for (int64_t j = 0; j < columns; j += kTile)
      for (int64_t r = i; r < std::min(rows, i + kTile); ++r)
        for (int64_t k = j; k < std::min(columns, j + kTile); ++k) f(r, k);
}

// Columns [from, from + size) to x [n, size].
template <class T> void read(const Columns<T>& of, int64_t n, int64_t from, int64_t size, Matrix<T> x) {
  const int64_t known = std::clamp<int64_t>(of.depth - from, 0, size), depth = std::min(of.depth, n);
  const T* columns[kColumns] = {};
  for (int64_t k = 0; k < known; ++k) columns[k] = of.z[of.order ? of.order[from + k] : from + k];
  each_tile(depth, known, [&](int64_t i, int64_t k) { x[i][k] = columns[k][i * of.z.column]; });
  for (int64_t i = 0; i < n; ++i) std::fill(x[i] + (i < depth ? known : 0), x[i] + size, T(0));
  for (int64_t k = known; k < size; ++k) x[from + k][k] = 1;
}

}  // namespace

template <class T> void reflect_columns(Context& c, int64_t n, int64_t columns, int64_t count, int64_t first,
                                        Matrix<T> v, const T* tau, const Columns<T>& of, Matrix<T> y) {
  Context own(c.backend, c.device, c.op);
  const int64_t width = reflectors_of(n), blocks = parts(count, width);
  T* const triangles = own.scratch_of<T>(blocks * width * width);
  const auto block = [&](int64_t p) {
    const int64_t from = p * width + first;
    return Block<T>(v[p * width] + from, v.row, triangles + p * width * width, n - from,
                    std::min(width, count - p * width));
  };
  const auto tasks = [&](int64_t step) { return step ? parts(columns, kColumns) : blocks; };
  run_steps(2, n * columns * count < kGemmSerial, tasks, [&](int64_t step, int64_t task) {
    if (!step) return block(task).make_triangle(own, tau + task * width);
    Context mine(c.backend, c.device, c.op);
    const int64_t from = task * kColumns, size = std::min(kColumns, columns - from);
    const Matrix<T> x{mine.scratch_of<T>(n * size), size}, to = y.at(0, from);
    read(of, n, from, size, x);
    for (int64_t p = blocks - 1; p >= 0; --p) block(p).apply(mine, false, size, x.at(p * width + first, 0));
    if (y.column == 1)
      for (int64_t i = 0; i < n; ++i) std::copy_n(x[i], size, to[i]);
    else each_tile(size, n, [&](int64_t k, int64_t i) { to[i][k * to.column] = x[i][k]; });
  });
}

template void reflect_columns(Context&, int64_t, int64_t, int64_t, int64_t, Matrix<float>, const float*,
                              const Columns<float>&, Matrix<float>);
template void reflect_columns(Context&, int64_t, int64_t, int64_t, int64_t, Matrix<double>, const double*,
                              const Columns<double>&, Matrix<double>);

}  // namespace neura::blocked
