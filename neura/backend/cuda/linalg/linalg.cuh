// What kernels of linear algebra share: numbers of four dtypes, sums of a warp, loops over elements.
#pragma once
#include "neura/backend/cuda/runtime/launch.h"
#include "neura/backend/cuda/linalg/linalg.h"
#include "neura/backend/cuda/pointwise/numbers.cuh"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda::factor {

using std::int64_t;

template <class N> __device__ N number_of(real_of<N> re, real_of<N> im) {
  if constexpr (std::is_same_v<N, real_of<N>>) return re;
  else return N(re, im);
}
// By which LAPACK compares pivots
template <class N> __device__ real_of<N> pivot_magnitude(N x) { return fabs(real(x)) + fabs(imag(x)); }

template <class R> __device__ R across(R x, int step) { return __shfl_xor_sync(~0u, x, step); }
template <class R> __device__ complex<R> across(complex<R> x, int step) {
  return {__shfl_xor_sync(~0u, x.re, step), __shfl_xor_sync(~0u, x.im, step)};
}
template <class N> __device__ N sum_of_warp(N x) {
  for (int step = 16; step; step /= 2) x = x + across(x, step);
  return x;
}
// The place of the largest size, and of equal ones the first; in all lanes.
template <class R> __device__ int place_of_most(R size, int at) {
  for (int step = 16; step; step /= 2) {
    const R other = across(size, step);
    const int there = across(at, step);
    if (other > size || (other == size && there < at)) size = other, at = there;
  }
  return at;
}

// f(i) for each i below n, a thread for each
template <class F> __global__ void __launch_bounds__(kGridThreads) each(const __grid_constant__ F f, int64_t n) {
  for (int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x; i < n; i += int64_t(gridDim.x) * kGridThreads)
    f(i);
}
template <class F> Failed for_each(int index, int64_t n, const F& f) {
  launch_kernel(each<F>, grid_striding(n), current_stream(index), f, n);
  return launched(index);
}

template <class F> Failed with_number(DType d, F&& f) {  // f(a number of the dtype)
  if (d == DType::float32) return f(float());
  if (d == DType::float64) return f(double());
  if (d == DType::complex64) return f(complex<float>(0, 0));
  return f(complex<double>(0, 0));
}

}  // namespace neura::cuda::factor
