// L D L^T and L D L^H by the diagonal pivoting of Bunch and Kaufman (1977), a block for each matrix: the steps and the
// pivots of LAPACK's unblocked routines for a lower triangle.
#include "neura/backend/cuda/pointwise/execute.h"
#include "neura/backend/cuda/linalg/linalg.cuh"
#include "neura/backend/cuda/runtime/report.h"

namespace neura::cuda {
namespace {

using namespace factor;

template <class N> struct Triangle {  // row-major, of which the lower one is read and written
  N* a;
  int64_t n;
  bool hermitian;
  __device__ N& operator()(int64_t i, int64_t j) const { return a[i * n + j]; }
  __device__ N turned(N x) const { return hermitian ? conj(x) : x; }
  __device__ N diagonal(int64_t i) const { return hermitian ? N(real((*this)(i, i))) : (*this)(i, i); }
};

// The place in [from, end) of the largest f(i), the first of equal ones; for all threads.
template <class F> __device__ int64_t place_of_largest(int64_t from, int64_t end, F&& f) {
  using R = decltype(f(from));
  __shared__ R sizes[kGridThreads / 32];
  __shared__ int places[kGridThreads / 32], found;
  R best = R(-1.0f);
  int at = int(from);
  for (int64_t i = from + threadIdx.x; i < end; i += kGridThreads)
    if (const R size = f(i); size > best) best = size, at = int(i);
  const int place = place_of_most(best, at);
  for (int step = 16; step; step /= 2) best = max(best, across(best, step));
  if (threadIdx.x % 32 == 0) sizes[threadIdx.x / 32] = best, places[threadIdx.x / 32] = place;
  __syncthreads();
  if (threadIdx.x == 0) {
    int k = 0;
    for (int w = 1; w < int(kGridThreads / 32); ++w)
      if (sizes[w] > sizes[k] || (sizes[w] == sizes[k] && places[w] < places[k])) k = w;
    found = places[k];
  }
  __syncthreads();
  const int64_t result = found;
  __syncthreads();
  return result;
}

struct Pivot {
  int64_t row;
  int size;       // rows of the block of D
  bool singular;  // the column is 0
};

template <class N> __device__ Pivot choose(const Triangle<N>& t, int64_t k) {
  using R = real_of<N>;
  const R alpha = R(0.6403882032022076);  // (1 + sqrt(17)) / 8
  const R own = pivot_magnitude(t.diagonal(k));
  int64_t row = k;
  R column = 0;
  if (k + 1 < t.n) {
    row = place_of_largest(k + 1, t.n, [&](int64_t i) { return pivot_magnitude(t(i, k)); });
    column = pivot_magnitude(t(row, k));
  }
  if (max(own, column) == R(0.0f) || own != own) return {k, 1, true};
  if (own >= alpha * column) return {k, 1, false};
  const auto in_row = [&](int64_t j) { return j == row ? R(0.0f) : pivot_magnitude(j < row ? t(row, j) : t(j, row)); };
  const R others = in_row(place_of_largest(k, t.n, in_row));
  if (own >= alpha * column * (column / others)) return {k, 1, false};
  if (pivot_magnitude(t.diagonal(row)) >= alpha * others) return {row, 1, false};
  return {row, 2, false};
}

// Exchanges rows and columns `from` and `to`, from < to, of what is left of the matrix.
template <class N> __device__ void exchange(const Triangle<N>& t, int64_t k, int64_t from, int64_t to, int size) {
  for (int64_t i = to + 1 + threadIdx.x; i < t.n; i += kGridThreads) {
    const N x = t(i, from);
    t(i, from) = t(i, to), t(i, to) = x;
  }
  for (int64_t j = from + 1 + threadIdx.x; j < to; j += kGridThreads) {
    const N x = t.turned(t(j, from));
    t(j, from) = t.turned(t(to, j)), t(to, j) = x;
  }
  if (threadIdx.x == 0) {
    const N x = t.diagonal(from);
    t(from, from) = t.diagonal(to), t(to, to) = x;
    t(to, from) = t.turned(t(to, from));
    if (size == 2) {
      const N y = t(k + 1, k);
      t(k + 1, k) = t(to, k), t(to, k) = y;
    }
  }
  __syncthreads();
}

// f(i, j) of the triangle that starts in row and column `from`: a warp for each row
template <class N, class F> __device__ void each_element(const Triangle<N>& t, int64_t from, F&& f) {
  for (int64_t i = from + threadIdx.x / 32; i < t.n; i += kGridThreads / 32)
    for (int64_t j = from + threadIdx.x % 32; j <= i; j += 32) f(i, j);
}

template <class N> __device__ void eliminate(const Triangle<N>& t, int64_t k) {
  const N d = N(1.0f) / t.diagonal(k);
  each_element(t, k + 1, [&](int64_t i, int64_t j) { t(i, j) = t(i, j) - t(i, k) * (d * t.turned(t(j, k))); });
  __syncthreads();
  for (int64_t i = k + 1 + threadIdx.x; i < t.n; i += kGridThreads) t(i, k) = t(i, k) * d;
}

// With a block of two rows: of row j, its part of L. All is divided by the element next to the diagonal, which is
// large.
template <class N> struct Pair { N first, second; };
template <class N> __device__ Pair<N> pair_of(const Triangle<N>& t, int64_t k, int64_t j) {
  const N below = t(k + 1, k), beside = t.turned(below), lower = t.diagonal(k + 1) / below,
          upper = t.diagonal(k) / beside, f = N(1.0f) / (lower * upper - N(1.0f)), x = t(j, k), y = t(j, k + 1);
  return {f * (lower * x - y) / beside, f * (upper * y - x) / below};
}
template <class N> __device__ void eliminate_pair(const Triangle<N>& t, int64_t k) {
  each_element(t, k + 2, [&](int64_t i, int64_t j) {
    const Pair<N> l = pair_of(t, k, j);
    t(i, j) = t(i, j) - t(i, k) * t.turned(l.first) - t(i, k + 1) * t.turned(l.second);
  });
  __syncthreads();
  for (int64_t j = k + 2 + threadIdx.x; j < t.n; j += kGridThreads) {
    const Pair<N> l = pair_of(t, k, j);
    t(j, k) = l.first, t(j, k + 1) = l.second;
  }
}

template <class N> __global__ void __launch_bounds__(kGridThreads) factorise(Triangle<N> t, std::int32_t* pivots) {
  t.a += int64_t(blockIdx.x) * t.n * t.n, pivots += int64_t(blockIdx.x) * (t.n + 1);
  int info = 0;
  for (int64_t k = 0; k < t.n;) {
    const Pivot p = choose(t, k);
    const int64_t moved = k + p.size - 1;
    __syncthreads();
    if (p.row != moved) exchange(t, k, moved, p.row, p.size);
    if (threadIdx.x == 0)
      for (int64_t i = k; i < k + p.size; ++i) pivots[i] = std::int32_t(p.size == 1 ? p.row + 1 : -(p.row + 1));
    if (p.singular) info = info ? info : int(k + 1);
    else if (p.size == 1) eliminate(t, k);
    else eliminate_pair(t, k);
    __syncthreads();
    k += p.size;
  }
  for (int64_t i = threadIdx.x; i < t.n; i += kGridThreads) t(i, i) = t.diagonal(i);
  if (threadIdx.x == 0) pivots[t.n] = info;
}

// The first pivot that LAPACK would not have written, or -1: a pair of equal negative ones is a block of two rows.
__device__ int64_t wrong_pivot(const std::int32_t* p, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    if (p[k] == 0 || p[k] > n || p[k] < -n) return k;
    if (p[k] < 0 && (++k == n || p[k] != p[k - 1])) return k - 1;
  }
  return -1;
}

template <class N> struct Sides {  // row-major [n, columns]
  N* x;
  int64_t n, columns;
  __device__ N& operator()(int64_t i, int64_t c) const { return x[i * columns + c]; }
  __device__ void swap(int64_t i, int64_t j) const {
    if (i != j)
      for (int64_t c = threadIdx.x; c < columns; c += kGridThreads) {
        const N y = (*this)(i, c);
        (*this)(i, c) = (*this)(j, c), (*this)(j, c) = y;
      }
    __syncthreads();
  }
};

// x = D^-1 L^-1 x from block k on; `size` rows of it
template <class N> __device__ void forward(const Triangle<N>& t, const Sides<N>& x, int64_t k, int size) {
  const int64_t rest = t.n - k - size;
  for (int64_t e = threadIdx.x; e < rest * x.columns; e += kGridThreads) {
    const int64_t i = k + size + e / x.columns, c = e % x.columns;
    x(i, c) = x(i, c) - t(i, k) * x(k, c);
    if (size == 2) x(i, c) = x(i, c) - t(i, k + 1) * x(k + 1, c);
  }
  __syncthreads();
  for (int64_t c = threadIdx.x; c < x.columns; c += kGridThreads) {
    if (size == 1) {
      x(k, c) = x(k, c) / t.diagonal(k);
      continue;
    }
    const N below = t(k + 1, k), beside = t.turned(below), upper = t.diagonal(k) / beside,
            lower = t.diagonal(k + 1) / below, f = upper * lower - N(1.0f), y = x(k, c) / beside,
            z = x(k + 1, c) / below;
    x(k, c) = (lower * y - z) / f, x(k + 1, c) = (upper * z - y) / f;
  }
  __syncthreads();
}
// Row k of x = L^-H x: a warp for each column
template <class N> __device__ void backward(const Triangle<N>& t, const Sides<N>& x, int64_t k, int64_t end) {
  for (int64_t c = threadIdx.x / 32; c < x.columns; c += kGridThreads / 32) {
    N sum(0.0f);
    for (int64_t i = end + threadIdx.x % 32; i < t.n; i += 32) sum = sum + t.turned(t(i, k)) * x(i, c);
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) x(k, c) = x(k, c) - sum;
  }
}

template <class N> __global__ void __launch_bounds__(kGridThreads)
    substitute(Triangle<N> t, const std::int32_t* pivots, Sides<N> x, Reporter reporter) {
  __shared__ bool wrong;
  t.a += int64_t(blockIdx.x) * t.n * t.n, pivots += int64_t(blockIdx.x) * t.n,
      x.x += int64_t(blockIdx.x) * t.n * x.columns;
  if (threadIdx.x == 0) {
    const int64_t at = wrong_pivot(pivots, t.n);
    wrong = at >= 0;
    if (wrong) reporter.report(pivots[at], t.n);
  }
  __syncthreads();
  if (wrong) return;
  for (int64_t k = 0; k < t.n;) {
    const int size = pivots[k] > 0 ? 1 : 2;
    x.swap(k + size - 1, size == 1 ? pivots[k] - 1 : -pivots[k] - 1);
    forward(t, x, k, size);
    k += size;
  }
  for (int64_t k = t.n - 1; k >= 0;) {
    const int size = pivots[k] > 0 ? 1 : 2;
    backward(t, x, k, k + 1);
    if (size == 2) backward(t, x, k - 1, k + 1);
    __syncthreads();
    x.swap(k, size == 1 ? pivots[k] - 1 : -pivots[k] - 1);
    k -= size;
  }
}

}  // namespace

void ldl(Context& c, bool hermitian, View a, View ld, View pivots) {
  const int index = c.device.index;
  const MatrixSizes b(a);
  const OnDevice on(index);
  if (Failed f = assign(ld, a)) return c.fail(f);
  c.fail(with_number(a.dtype(), [&]<class N>(N) {
    const Triangle<N> t{reinterpret_cast<N*>(ld.data), b.rows, hermitian};
    launch_kernel(factorise<N>, {.x = b.count}, current_stream(index), t, pivots.as<std::int32_t>());
    const Failed f = launched(index);
    return f || !b.numel() ? f : moves::clear(index, a.dtype(), b, true, ld.data);
  }));
}

void ldl_solve(Context& c, bool hermitian, View ld, View pivots, View b, View x) {
  const int index = c.device.index;
  const MatrixSizes s(ld), r(b);
  const OnDevice on(index);
  Reporter reporter;
  if (Failed f = assign(x, b)) return c.fail(f);
  if (Failed f = reporter_of(c, &reporter)) return c.fail(f);
  c.fail(with_number(ld.dtype(), [&]<class N>(N) {
    const Triangle<N> t{reinterpret_cast<N*>(ld.data), s.rows, hermitian};
    launch_kernel(substitute<N>, {.x = s.count}, current_stream(index), t, pivots.as<std::int32_t>(),
                  Sides<N>{reinterpret_cast<N*>(x.data), r.rows, r.columns}, reporter);
    return launched(index);
  }));
}

}  // namespace neura::cuda
