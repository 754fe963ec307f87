// Pooling's windows on a device.
#pragma once
#include <type_traits>

#include "neura/backend/cuda/runtime/stream.h"
#include "neura/backend/cuda/windows.cuh"
#include "neura/backend/kernels/pool.h"

namespace neura::cuda::pooling {

using namespace windows;

struct Pool : Windows {
  bool adaptive, count_include_pad, bytes;
  DType dtype;
  std::uint8_t size;  // of an element
  int64_t divisor;
};
__device__ inline int divided(int64_t product, int by) {  // the product of two sizes
  return int(product >> 32 ? product / by : std::uint32_t(product) / std::uint32_t(by));
}
struct Window {  // in one dimension: elements first + k * dilation for k in [begin, end)
  int first, begin, end;
};
__device__ inline Window window(const Pool& p, int d, int o) {
  if (p.adaptive) {
    const int first = divided(int64_t(o) * p.in[d], p.out[d]);
    return {first, 0, divided(int64_t(o + 1) * p.in[d] + p.out[d] - 1, p.out[d]) - first};
  }
  const int first = o * p.stride[d] - p.padding[d];
  const int begin = first < 0 ? steps(-first, p.dilation[d]) : 0;
  return {first, begin, greater(begin, lesser(p.kernel[d], steps(p.in[d] - first, p.dilation[d])))};
}
// f(element of the plane, its place) for the part of a window that is this lane's, in order.
template <int kLanes, class F> __device__ void each(const Pool& p, const Window (&w)[3], int lane, F f) {
  const int dx = p.adaptive ? 1 : p.dilation[2], by = p.bytes ? 1 : dx;
  const auto at = [&](int kz, int ky, int kx) {
    const int z = w[0].first + kz * (p.adaptive ? 1 : p.dilation[0]);
    const int y = w[1].first + ky * (p.adaptive ? 1 : p.dilation[1]);
    const int row = (z * p.in[1] + y) * p.in[2] + w[2].first;
    f(row + kx * dx, (p.bytes ? (kz * p.kernel[1] + ky) * p.kernel[2] : row) + kx * by);
  };
  if constexpr (kLanes == 1) {
    for (int z = w[0].begin; z < w[0].end; ++z)
      for (int y = w[1].begin; y < w[1].end; ++y)
        for (int x = w[2].begin; x < w[2].end; ++x) at(z, y, x);
  } else {
    const int nz = w[0].end - w[0].begin, ny = w[1].end - w[1].begin, nx = w[2].end - w[2].begin;
    const bool line = nz == 1 && ny == 1;
#pragma unroll 4
    for (int i = lane; i < nz * ny * nx; i += kLanes) {
      const int row = line ? 0 : i / nx, z = line ? 0 : row / ny;
      at(w[0].begin + z, w[1].begin + row - z * ny, w[2].begin + i - row * nx);
    }
  }
}
// Of the lanes' parts, which the first of them has then.
template <int kLanes, class T, class F> __device__ T together(T a, F combine) {
  if constexpr (kLanes >= 32) a = across_warp(a, combine);
  if constexpr (kLanes > 32) {
    __shared__ T parts[kLanes / 32];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = a;
    __syncthreads();
    for (int i = 1; threadIdx.x == 0 && i < kLanes / 32; ++i) a = combine(a, parts[i]);
  }
  return a;
}

// Integers are computed in 64 bits, of which the lower ones are those of their own arithmetic.
template <class N> __device__ N load(const Pool& p, const char* x, std::uint32_t i) {
  if constexpr (is_same<N, int64_t>) return load_one<int64_t>(x + std::size_t(i) * p.size, p.dtype);
  else return load_simple<N>(x, p.dtype, i);
}
template <class N> __device__ void store(const Pool& p, char* x, std::uint32_t i, N v) {
  if constexpr (is_same<N, int64_t>) store_one<int64_t>(x + std::size_t(i) * p.size, p.dtype, v);
  else store_simple<N>(x, p.dtype, i, v);
}
__device__ inline int place_at(const Pool& p, const char* places, std::uint32_t i) {
  return p.bytes ? reinterpret_cast<const std::uint8_t*>(places)[i] : int(reinterpret_cast<const int64_t*>(places)[i]);
}

template <class N> __device__ N divisor_of(const Pool& p, const Window (&w)[3], const int (&at)[3]) {
  if (p.divisor) return N(p.divisor);
  int64_t count = 1;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const bool padded = !p.adaptive && p.count_include_pad;
    const int first = at[d] * p.stride[d] - p.padding[d];
    count *= padded ? lesser(first + p.kernel[d], p.in[d] + p.padding[d]) - first : w[d].end - w[d].begin;
  }
  return N(count);
}
template <class N> __device__ N over(N sum, N divisor) {
  if constexpr (is_same<N, int64_t>) return divisor == -1 ? int64_t(-std::uint64_t(sum)) : sum / divisor;
  else return sum / divisor;
}
inline Failed pool_of(const PoolShape& s, DType dtype, bool bytes, Pool* p) {
  p->adaptive = s.adaptive, p->count_include_pad = s.count_include_pad, p->divisor = s.divisor;
  p->bytes = bytes, p->dtype = dtype, p->size = std::uint8_t(size_of(dtype));
  return windows_of(s, !s.adaptive, p);
}
// f(element type, how it is computed in) for the dtypes of which pooling knows.
template <class F> void visit(DType dtype, F f) {
  if (accumulation(dtype) == DType::float32) f(float());
  else if (dtype == DType::float64) f(double());
  else f(int64_t());
}
// Windows of 2 x 2 that tile their images, so that rows of images are pairs of rows of results.
struct Fours {
  Division threads;  // of a row of results
  std::uint32_t row_bytes;
  DType dtype;
  std::uint8_t size;
  // Of what thread i sees, `each` elements, in the upper row.
  __device__ std::size_t offset(std::uint32_t i, int each) const {
    const std::uint32_t row = quotient(i, threads);
    return std::size_t(row) * 2 * row_bytes + std::size_t(i - row * threads.divisor) * unsigned(each) * size;
  }
};
template <int V> struct alignas(V) Bytes { std::uint8_t v[V]; };
template <int V> using Tiles = std::integral_constant<int, V>;

// How many of these windows one thread takes; 0: they are of another kind. places: null, or a byte for each.
inline int fours_of(const PoolShape& s, const View& x, const View& y, const char* places = nullptr) {
  bool fits = !s.adaptive && accumulation(x.dtype()) == DType::float32 && s.kernel[0] == 1 && s.in[0] == s.out[0] &&
              s.stride[0] == 1 && s.in_size() <= kMostResults;
  for (int d = 1; d < 3; ++d)
    fits =
        fits && s.kernel[d] == 2 && s.stride[d] == 2 && s.dilation[d] == 1 && !s.padding[d] && s.in[d] == 2 * s.out[d];
  const auto aligned = [&](const char* data, int to) {
    return reinterpret_cast<std::uintptr_t>(data) % unsigned(to) == 0;
  };
  const int size = size_of(x.dtype());
  for (int tiles : {2, 1})
    if (fits && s.out[2] % tiles == 0 && aligned(x.data, 2 * tiles * size) && aligned(y.data, tiles * size) &&
        aligned(places, tiles))
      return tiles;
  return 0;
}
inline int fours_of(const PoolShape& s, const View& x, const View& y, const View& places) {
  return places.dtype() == DType::uint8 ? fours_of(s, x, y, places.data) : 0;
}
// f(number of tiles of a thread, Fours, first thread, how many)
template <class F> void each_four(const PoolShape& s, int tiles, int64_t results, DType dtype, F f) {
  const Fours fours{division(std::uint32_t(s.out[2] / tiles)), std::uint32_t(s.in[2] * size_of(dtype)), dtype,
                    std::uint8_t(size_of(dtype))};
  const int64_t each = s.out_size() / tiles;
  in_parts(results / s.out_size(), each, [&](int64_t first, int64_t n) {
    if (tiles == 2) f(Tiles<2>(), fours, first * each, std::uint32_t(n * each));
    else f(Tiles<1>(), fours, first * each, std::uint32_t(n * each));
  });
}

// pool_gradient.cu
void scatter(Context&, View g, View places, View x, const PoolShape&);
void mean_gradient(Context&, View g, View x, const PoolShape&);

}  // namespace neura::cuda::pooling
