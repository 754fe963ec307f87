// Factorisations of small matrices, a warp for each: the steps and the signs of LAPACK's unblocked routines. Elements
// are row-major, so that the lanes of a row are contiguous.
#include "neura/backend/cuda/linalg/linalg.cuh"

namespace neura::cuda {
namespace {

using namespace factor;
constexpr int kWarps = 4;  // of a block

template <class R> __device__ R most_of_warp(R x) {
  for (int step = 16; step; step /= 2) x = max(x, across(x, step));
  return x;
}

struct Shape2 {
  int64_t count;
  int m, n, k;
};

// The first row from k on whose element of column k is the largest.
template <class N> __device__ int pivot_row(const N* a, const Shape2& s, int k, int lane) {
  using R = real_of<N>;
  R best = R(-1.0f);
  int row = k;
  for (int i = k + lane; i < s.m; i += 32) {
    const R size = pivot_magnitude(a[i * s.n + k]);
    if (size > best) best = size, row = i;
  }
  return place_of_most(best, row);
}

template <class N> __global__ void __launch_bounds__(32 * kWarps) lu(const Shape2 s, N* all, std::int32_t* all_pivots) {
  const int64_t matrix = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32, least = s.m < s.n ? s.m : s.n;
  if (matrix >= s.count) return;
  N* const a = all + matrix * s.m * s.n;
  std::int32_t* const pivots = all_pivots + matrix * (least + 1);
  int info = 0;
  for (int k = 0; k < least; ++k) {
    const int p = pivot_row(a, s, k, lane);
    if (lane == 0) pivots[k] = p + 1;
    if (p != k)
      for (int j = lane; j < s.n; j += 32) {
        const N x = a[k * s.n + j];
        a[k * s.n + j] = a[p * s.n + j], a[p * s.n + j] = x;
      }
    __syncwarp();
    const N pivot = a[k * s.n + k];
    if (pivot_magnitude(pivot) == 0) {
      if (!info) info = k + 1;
      continue;
    }
    for (int i = k + 1 + lane; i < s.m; i += 32) a[i * s.n + k] = a[i * s.n + k] / pivot;
    __syncwarp();
    for (int i = k + 1; i < s.m; ++i) {
      const N f = a[i * s.n + k];
      for (int j = k + 1 + lane; j < s.n; j += 32) a[i * s.n + j] = a[i * s.n + j] - f * a[k * s.n + j];
    }
    __syncwarp();
  }
  if (lane == 0) pivots[least] = info;
}

// Of column k from row k on: beta, tau, and the vector below its 1, scaled so that no square overflows.
template <class N> __device__ N reflector(N* a, const Shape2& s, int k, int lane) {
  using R = real_of<N>;
  const N alpha = a[k * s.n + k];
  R most = 0;
  for (int i = k + 1 + lane; i < s.m; i += 32) {
    const N x = a[i * s.n + k];
    most = max(most, max(fabs(real(x)), fabs(imag(x))));
  }
  most = most_of_warp(most);
  if (most == R(0.0f) && imag(alpha) == R(0.0f)) return N(0.0f);
  const R scale = max(most, max(fabs(real(alpha)), fabs(imag(alpha))));
  R squares = 0;
  for (int i = k + 1 + lane; i < s.m; i += 32) {
    const R re = real(a[i * s.n + k]) / scale, im = imag(a[i * s.n + k]) / scale;
    squares += re * re + im * im;
  }
  squares = sum_of_warp(squares);
  const R re = real(alpha) / scale, im = imag(alpha) / scale;
  const R norm = scale * sqrt(squares + re * re + im * im), beta = real(alpha) < R(0.0f) ? norm : -norm;
  const N below = alpha - number_of<N>(beta, R(0.0f));
  for (int i = k + 1 + lane; i < s.m; i += 32) a[i * s.n + k] = a[i * s.n + k] / below;
  __syncwarp();
  if (lane == 0) a[k * s.n + k] = number_of<N>(beta, R(0.0f));
  __syncwarp();
  return number_of<N>((beta - real(alpha)) / beta, -imag(alpha) / beta);
}

// a - factor v v^H a of the columns after k, where v is column k with a 1 in row k
template <class N> __device__ void apply(N* a, const Shape2& s, int k, N factor, int lane) {
  for (int j = k + 1 + lane; j < s.n; j += 32) {
    N w = a[k * s.n + j];
    for (int i = k + 1; i < s.m; ++i) w = w + conj(a[i * s.n + k]) * a[i * s.n + j];
    w = factor * w;
    a[k * s.n + j] = a[k * s.n + j] - w;
    for (int i = k + 1; i < s.m; ++i) a[i * s.n + j] = a[i * s.n + j] - a[i * s.n + k] * w;
  }
  __syncwarp();
}

template <class N> __global__ void __launch_bounds__(32 * kWarps) reflectors(const Shape2 s, N* all, N* taus) {
  const int64_t matrix = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (matrix >= s.count) return;
  N* const a = all + matrix * s.m * s.n;
  for (int k = 0; k < s.k; ++k) {
    const N tau = reflector(a, s, k, lane);
    if (lane == 0) taus[matrix * s.k + k] = tau;
    apply(a, s, k, conj(tau), lane);
  }
}

template <class N> __global__ void __launch_bounds__(32 * kWarps) product(const Shape2 s, N* all, const N* taus) {
  const int64_t matrix = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (matrix >= s.count) return;
  N* const q = all + matrix * s.m * s.n;
  for (int i = 0; i < s.m; ++i)
    for (int j = s.k + lane; j < s.n; j += 32) q[i * s.n + j] = N(i == j ? 1.0f : 0.0f);
  __syncwarp();
  for (int k = s.k - 1; k >= 0; --k) {
    const N tau = taus[matrix * s.k + k];
    apply(q, s, k, tau, lane);
    for (int i = lane; i < s.m; i += 32) {
      N& x = q[i * s.n + k];
      x = i < k ? N(0.0f) : i == k ? N(1.0f) - tau : -(tau * x);
    }
    __syncwarp();
  }
}

Grid warps(const MatrixSizes& b) { return {.x = ceiling_of(b.count, kWarps), .threads = 32 * kWarps}; }
Shape2 shape_of(const MatrixSizes& b, int64_t k) { return {b.count, int(b.rows), int(b.columns), int(k)}; }

}  // namespace

Failed small_lu(int index, DType d, const MatrixSizes& b, char* a, std::int32_t* pivots) {
  return with_number(d, [&]<class N>(N) {
    launch_kernel(lu<N>, warps(b), current_stream(index), shape_of(b, 0), reinterpret_cast<N*>(a), pivots);
    return launched(index);
  });
}
Failed small_householder(int index, DType d, const MatrixSizes& b, char* a, char* tau) {
  return with_number(d, [&]<class N>(N) {
    launch_kernel(reflectors<N>, warps(b), current_stream(index), shape_of(b, b.least()), reinterpret_cast<N*>(a),
                  reinterpret_cast<N*>(tau));
    return launched(index);
  });
}
Failed small_reflect(int index, DType d, const MatrixSizes& b, int64_t k, char* q, const char* tau) {
  return with_number(d, [&]<class N>(N) {
    launch_kernel(product<N>, warps(b), current_stream(index), shape_of(b, k), reinterpret_cast<N*>(q),
                  reinterpret_cast<const N*>(tau));
    return launched(index);
  });
}

}  // namespace neura::cuda
