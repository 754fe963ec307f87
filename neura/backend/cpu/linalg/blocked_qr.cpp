// QR by blocks of Householder reflectors.
#include "neura/backend/cpu/linalg/reflectors.h"
#include "neura/backend/cpu/linalg/parallel_steps.h"

namespace neura::blocked {
namespace {

constexpr int64_t width_of(int64_t k) { return k < 1024 ? 32 : 64; }  // of a block of reflectors
constexpr int64_t kColumns = 64;                                      // of a task

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
