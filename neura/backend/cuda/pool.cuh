// Pooling's windows on a device, and how its launches are cut.
#pragma once
#include <algorithm>
#include <type_traits>

#include "neura/backend/cuda/failure.h"
#include "neura/backend/cuda/memory.cuh"
#include "neura/backend/cuda/stream.h"
#include "neura/backend/kernels/pool.h"

namespace neura::cuda::pooling {

using std::int64_t;

constexpr int64_t kMostSize = int64_t{1} << 29;     // of a dimension with its padding: coordinates are of 32 bits
constexpr int64_t kMostResults = int64_t{1} << 30;  // of one launch

struct Grid {  // of the input's or the results' spatial dimensions
  Division plane, slice, row;
};
struct Pool {
  int in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  Division by_stride[3];
  Grid x, y;
  bool adaptive, count_include_pad, bytes;
  DType dtype;
  std::uint8_t size;  // of an element
  int64_t divisor;
};
struct Place {
  int at[3];
};

__device__ inline std::uint32_t split(const Grid& g, std::uint32_t i, std::uint32_t& image, Place& p) {
  image = quotient(i, g.plane);
  const std::uint32_t in_plane = i - image * g.plane.divisor, z = quotient(in_plane, g.slice);
  const std::uint32_t in_slice = in_plane - z * g.slice.divisor, y = quotient(in_slice, g.row);
  p = {{int(z), int(y), int(in_slice - y * g.row.divisor)}};
  return in_plane;
}
__device__ inline int divided(int64_t product, int by) {  // the product of two sizes
  return int(product >> 32 ? product / by : std::uint32_t(product) / std::uint32_t(by));
}
__device__ inline int lesser(int a, int b) { return a < b ? a : b; }
__device__ inline int greater(int a, int b) { return a > b ? a : b; }
__device__ inline int steps(int n, int by) { return by == 1 ? n : (n + by - 1) / by; }

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
inline Grid grid_of(const int64_t (&n)[3]) {
  return {division(std::uint32_t(n[0] * n[1] * n[2])), division(std::uint32_t(n[1] * n[2])),
          division(std::uint32_t(n[2]))};
}
inline Failed pool_of(const PoolShape& s, DType dtype, bool bytes, Pool* p) {
  int64_t in = 1, out = 1;
  for (int d = 0; d < 3; ++d) {
    const bool windows = !s.adaptive;
    // What is of no consequence may be of any size.
    const int64_t stride = windows && s.out[d] > 1 ? s.stride[d] : 1;
    const int64_t kernel = windows ? s.kernel[d] : 1, dilation = kernel > 1 ? s.dilation[d] : 1;
    const int64_t padding = windows ? s.padding[d] : 0;
    const int64_t most = std::max({s.in[d], s.out[d], kernel, stride, padding, dilation});
    if (most >= kMostSize || (kernel - 1) * dilation >= kMostSize || in * s.in[d] > kMostResults ||
        out * s.out[d] > kMostResults)
      return fail(DeviceFailure::absent,
                  "expected images of at most 2^30 elements and windows below 2^29 on cuda; move the tensor with "
                  ".to(\"cpu\")");
    in *= s.in[d], out *= s.out[d];
    p->in[d] = int(s.in[d]), p->out[d] = int(s.out[d]), p->kernel[d] = int(kernel), p->stride[d] = int(stride);
    p->padding[d] = int(padding), p->dilation[d] = int(dilation);
    p->by_stride[d] = division(std::uint32_t(stride));
  }
  p->x = grid_of(s.in), p->y = grid_of(s.out);
  p->adaptive = s.adaptive, p->count_include_pad = s.count_include_pad, p->divisor = s.divisor;
  p->bytes = bytes, p->dtype = dtype, p->size = std::uint8_t(size_of(dtype));
  return nullptr;
}
// f(element type, how it is computed in) for the dtypes of which pooling knows.
template <class F> void visit(DType dtype, F f) {
  if (accumulation(dtype) == DType::float32) f(float());
  else if (dtype == DType::float64) f(double());
  else f(int64_t());
}
// f(first image, how many): as many as one launch may hold, of images that have `each` results.
template <class F> void in_parts(int64_t images, int64_t each, F f) {
  const int64_t most = std::max<int64_t>(1, kMostResults / each);
  for (int64_t i = 0; i < images; i += most) f(i, std::min(most, images - i));
}
inline std::uint32_t blocks(std::uint32_t count, int lanes = 1) {
  const std::uint32_t each = std::uint32_t(kThreads / lanes);
  return (count + each - 1) / each;
}
inline bool has_fours(const PoolShape& s, const View& x, const View& y, const View& places) {
  const auto aligned = [](const View& v, unsigned to) { return reinterpret_cast<std::uintptr_t>(v.data) % to == 0; };
  bool fits = !s.adaptive && accumulation(x.dtype()) == DType::float32 && places.dtype() == DType::uint8 &&
              s.kernel[0] == 1 && s.in[0] == s.out[0] && s.stride[0] == 1 && s.out[2] % 2 == 0 && aligned(x, 16) &&
              aligned(y, 8) && aligned(places, 2);
  for (int d = 1; d < 3; ++d)
    fits =
        fits && s.kernel[d] == 2 && s.stride[d] == 2 && s.dilation[d] == 1 && !s.padding[d] && s.in[d] == 2 * s.out[d];
  return fits && s.in_size() <= kMostResults;
}
// f(first pair of results, how many, pairs of a row)
template <class F> void each_pair(const PoolShape& s, int64_t results, F f) {
  in_parts(results / s.out_size(), s.out_size(), [&](int64_t first, int64_t n) {
    f(first * s.out_size() / 2, std::uint32_t(n * s.out_size() / 2), division(std::uint32_t(s.out[2] / 2)));
  });
}

// pool_gradient.cu
void scatter(Context&, View g, View places, View x, const PoolShape&);
void mean_gradient(Context&, View g, View x, const PoolShape&);

}  // namespace neura::cuda::pooling
