// One pass over the bins of a Fourier transform: scale, weights, and the symmetry of a real signal's.
#include "neura/backend/cuda/fft/fft.h"
#include "neura/backend/cuda/runtime/launch.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

using std::int64_t;

template <class T> struct __align__(2 * sizeof(T)) Bin { T re, im; };

__device__ int64_t bin_of(const FftBins& b, int64_t i) { return i / b.inner % b.bins; }
__device__ bool stands_alone(const FftBins& b, int64_t k) { return k == 0 || 2 * k == b.n; }

template <class T> __global__ void scale_all(Bin<T>* y, int64_t count, T factor) {
  for (int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x; i < count; i += int64_t(gridDim.x) * kGridThreads)
    y[i] = {y[i].re * factor, y[i].im * factor};
}

template <class T> __global__ void scale_bins(const __grid_constant__ FftBins b, Bin<T>* y) {
  for (int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x; i < b.count;
       i += int64_t(gridDim.x) * kGridThreads) {
    const T f = T(stands_alone(b, bin_of(b, i)) ? b.factor : b.factor * b.weight);
    y[i] = {y[i].re * f, y[i].im * f};
  }
}

// The bin with the opposite frequencies in all other dimensions.
__device__ int64_t opposite(const FftBins& b, int64_t i) {
  int64_t at = i;
  for (int d = 0; d < b.others; ++d) {
    const int64_t k = i / b.stride[d] % b.size[d];
    if (k) at += (b.size[d] - 2 * k) * b.stride[d];
  }
  return at;
}

template <class T> __global__ void scale_hermitian(const __grid_constant__ FftBins b, const Bin<T>* x, Bin<T>* y) {
  for (int64_t i = int64_t(blockIdx.x) * kGridThreads + threadIdx.x; i < b.count;
       i += int64_t(gridDim.x) * kGridThreads) {
    Bin<T> v = x[i];
    T f = T(b.factor * b.weight);
    if (stands_alone(b, bin_of(b, i))) {
      const Bin<T> o = x[opposite(b, i)];
      v = {(v.re + o.re) / 2, (v.im - o.im) / 2}, f = T(b.factor);
    }
    y[i] = {v.re * f, v.im * f};
  }
}

template <class T> void start_scale(int index, const FftBins& b, char* y) {
  const Grid grid = grid_striding(b.count);
  Bin<T>* const to = reinterpret_cast<Bin<T>*>(y);
  if (b.weight == 1) launch_kernel(scale_all<T>, grid, current_stream(index), to, b.count, T(b.factor));
  else launch_kernel(scale_bins<T>, grid, current_stream(index), b, to);
}
template <class T> void start_hermitian(int index, const FftBins& b, const char* x, char* y) {
  launch_kernel(scale_hermitian<T>, grid_striding(b.count), current_stream(index), b,
                reinterpret_cast<const Bin<T>*>(x), reinterpret_cast<Bin<T>*>(y));
}

}  // namespace

Failed weigh(int index, const FftBins& b, char* y) {
  if (b.factor == 1 && b.weight == 1) return nullptr;
  b.wide ? start_scale<double>(index, b, y) : start_scale<float>(index, b, y);
  return launched(index);
}

Failed weigh_hermitian(int index, const FftBins& b, const char* x, char* y) {
  b.wide ? start_hermitian<double>(index, b, x, y) : start_hermitian<float>(index, b, x, y);
  return launched(index);
}

}  // namespace neura::cuda
