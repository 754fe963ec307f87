// Convolutions whose filters see one channel each (depthwise ones, and a network's first on grey images) of 3 x 3 or
// 5 x 5: what they move is more than what they compute. A block has a plane in its shared memory, a thread makes four
// neighbours of a row. In float32; sums have a fixed order.
#include <algorithm>

#include "neura/backend/cuda/conv/conv.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

constexpr int kShared = 48 * 1024 / int(sizeof(float));  // what a block may have

__device__ int min_of(int a, int b) { return a < b ? a : b; }

struct Depthwise {
  int height, width;              // of the planes whose elements threads make (or read, for the filters' gradient)
  int from_height, from_width;    // of those that tiles are taken from
  int pad_y, pad_x, pitch, band;  // of a tile; band: rows of a block
  int channels, filters;          // filters of a channel
  int chunk, images;              // images of a block
  Division by_pitch, quads;       // quads: fours of a row
  DType dtype;
  int bytes;

  __device__ int from_plane() const { return from_height * from_width; }
  __device__ int plane() const { return height * width; }
};

// Rows first.. of a plane with what its windows see around them.
template <int K> __device__ void load_tile(const Depthwise& t, const char* plane, int first, int rows, float* tile) {
  for (int i = threadIdx.x; i < (rows + K - 1) * t.pitch; i += kThreads) {
    const int row = int(quotient(std::uint32_t(i), t.by_pitch));
    const int y = first + row - t.pad_y, x = i - row * t.pitch - t.pad_x;
    const bool there = y >= 0 && y < t.from_height && x >= 0 && x < t.from_width;
    tile[i] = there ? load_simple<float>(plane, t.dtype, std::uint32_t(y * t.from_width + x)) : 0.0f;
  }
}
__device__ void load_line(const float* tile, float (&line)[8]) {  // aligned to four
  const float4 a = reinterpret_cast<const float4*>(tile)[0], b = reinterpret_cast<const float4*>(tile)[1];
  line[0] = a.x, line[1] = a.y, line[2] = a.z, line[3] = a.w, line[4] = b.x, line[5] = b.y, line[6] = b.z,
  line[7] = b.w;
}
__device__ void store_quad(const Depthwise& t, char* plane, int y, int x, const float (&v)[4]) {
  char* const to = plane + std::size_t(y * t.width + x) * unsigned(t.bytes);
  if (t.width % 4 == 0) return store_pack(v, to, t.dtype, 0);
#pragma unroll
  for (int p = 0; p < 4; ++p)
    if (x + p < t.width) store_simple<float>(to, t.dtype, std::uint32_t(p), v[p]);
}

template <int K, int F> __global__ void __launch_bounds__(kThreads)
    depthwise_forward(const __grid_constant__ Depthwise t, const char* x, const char* w, const char* bias, char* y,
                      int count) {
  extern __shared__ float4 shared[];
  float* const tile = reinterpret_cast<float*>(shared);
  float* const weight = tile + (t.height + K - 1) * t.pitch;  // [K * K, count]
  const int first = int(blockIdx.y) * count, channel = int(blockIdx.x % unsigned(t.channels)) * t.filters + first;
  count = min_of(count, t.filters - first);
  for (int i = threadIdx.x; i < K * K * count; i += kThreads)
    weight[i] = load_simple<float>(w, t.dtype, std::uint32_t((channel + i % count) * K * K + i / count));
  load_tile<K>(t, x + std::size_t(blockIdx.x) * unsigned(t.from_plane() * t.bytes), 0, t.height, tile);
  __syncthreads();
  char* const planes =
      y + (std::size_t(blockIdx.x) * unsigned(t.filters) + unsigned(first)) * unsigned(t.plane()) * unsigned(t.bytes);
  for (int q = threadIdx.x; q < t.height * int(t.quads.divisor); q += kThreads) {
    const int row = int(quotient(std::uint32_t(q), t.quads)), at = 4 * (q - row * int(t.quads.divisor));
    for (int f = 0; f < count; f += F) {
      float sum[F][4];
#pragma unroll
      for (int j = 0; j < F; ++j) {
        const float b = bias ? load_simple<float>(bias, t.dtype, std::uint32_t(channel + f + j)) : 0.0f;
#pragma unroll
        for (int p = 0; p < 4; ++p) sum[j][p] = b;
      }
#pragma unroll
      for (int ky = 0; ky < K; ++ky) {
        float line[8];
        load_line(tile + (row + ky) * t.pitch + at, line);
#pragma unroll
        for (int kx = 0; kx < K; ++kx) {
          float v[F];
          load_as<float, F>(v, reinterpret_cast<const char*>(weight + (ky * K + kx) * count + f), 0);
#pragma unroll
          for (int j = 0; j < F; ++j)
#pragma unroll
            for (int p = 0; p < 4; ++p) sum[j][p] += v[j] * line[kx + p];
        }
      }
#pragma unroll
      for (int j = 0; j < F; ++j)
        store_quad(t, planes + std::size_t(f + j) * unsigned(t.plane() * t.bytes), row, at, sum[j]);
    }
  }
}

// Of the images: a convolution of the gradients, whose filters are turned around, summed over a channel's filters.
template <int K> __global__ void __launch_bounds__(kThreads)
    depthwise_input_gradient(const __grid_constant__ Depthwise t, const char* g, const char* w, char* x) {
  extern __shared__ float4 shared[];
  float* const tile = reinterpret_cast<float*>(shared);
  float* const weight = tile + (t.band + K - 1) * t.pitch;  // [filters, K * K]
  const int channel = int(blockIdx.x % unsigned(t.channels)) * t.filters;
  const int first = int(blockIdx.y) * t.band, rows = min_of(t.band, t.height - first), q = threadIdx.x;
  const int row = int(quotient(std::uint32_t(q), t.quads)), at = 4 * (q - row * int(t.quads.divisor));
  for (int i = threadIdx.x; i < K * K * t.filters; i += kThreads)
    weight[i] = load_simple<float>(w, t.dtype, std::uint32_t(channel * K * K + i));
  float sum[4] = {};
  for (int f = 0; f < t.filters; ++f) {
    __syncthreads();
    load_tile<K>(t,
                 g + (std::size_t(blockIdx.x) * unsigned(t.filters) + unsigned(f)) * unsigned(t.from_plane() * t.bytes),
                 first, rows, tile);
    __syncthreads();
    if (row >= rows) continue;
#pragma unroll
    for (int ky = 0; ky < K; ++ky) {
      float line[8];
      load_line(tile + (row + ky) * t.pitch + at, line);
#pragma unroll
      for (int kx = 0; kx < K; ++kx) {
        const float v = weight[f * K * K + K * K - 1 - (ky * K + kx)];
#pragma unroll
        for (int p = 0; p < 4; ++p) sum[p] += v * line[kx + p];
      }
    }
  }
  if (row < rows) store_quad(t, x + std::size_t(blockIdx.x) * unsigned(t.plane() * t.bytes), first + row, at, sum);
}

// Of one filter, over some of the images: partial [chunks, filters, K * K].
template <int K> __global__ void __launch_bounds__(kThreads)
    depthwise_weight_gradient(const __grid_constant__ Depthwise t, const char* x, const char* g, float* partial) {
  extern __shared__ float4 shared[];
  float* const tile = reinterpret_cast<float*>(shared);
  const int filters = t.channels * t.filters, filter = int(blockIdx.x), channel = filter / t.filters;
  const int begin = int(blockIdx.y) * t.chunk, end = min_of(begin + t.chunk, t.images);
  float sum[K * K] = {};
  for (int n = begin; n < end; ++n) {
    __syncthreads();
    load_tile<K>(t,
                 x + (std::size_t(n) * unsigned(t.channels) + unsigned(channel)) * unsigned(t.from_plane() * t.bytes),
                 0, t.height, tile);
    __syncthreads();
    const char* const from =
        g + (std::size_t(n) * unsigned(filters) + unsigned(filter)) * unsigned(t.plane() * t.bytes);
    for (int q = threadIdx.x; q < t.height * int(t.quads.divisor); q += kThreads) {
      const int row = int(quotient(std::uint32_t(q), t.quads)), at = 4 * (q - row * int(t.quads.divisor));
      const char* const four = from + std::size_t(row * t.width + at) * unsigned(t.bytes);
      float v[4];
      if (t.width % 4 == 0) load_pack(v, four, t.dtype, 0);
      else
#pragma unroll
        for (int p = 0; p < 4; ++p)
          v[p] = at + p < t.width ? load_simple<float>(four, t.dtype, std::uint32_t(p)) : 0.0f;
#pragma unroll
      for (int ky = 0; ky < K; ++ky) {
        float line[8];
        load_line(tile + (row + ky) * t.pitch + at, line);
#pragma unroll
        for (int kx = 0; kx < K; ++kx)
#pragma unroll
          for (int p = 0; p < 4; ++p) sum[ky * K + kx] += v[p] * line[kx + p];
      }
    }
  }
  __syncthreads();  // the tile's memory has the warps' sums now
#pragma unroll
  for (int k = 0; k < K * K; ++k) {
    const float s = across_warp(sum[k], [](float a, float b) { return a + b; });
    if (threadIdx.x % 32 == 0) tile[threadIdx.x / 32 * K * K + k] = s;
  }
  __syncthreads();
  if (threadIdx.x >= K * K) return;
  float s = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) s += tile[warp * K * K + int(threadIdx.x)];
  partial[(std::size_t(blockIdx.y) * unsigned(filters) + unsigned(filter)) * K * K + threadIdx.x] = s;
}
__global__ void __launch_bounds__(kThreads)
    depthwise_sum(const float* partial, int chunks, int n, char* w, DType dtype) {
  const int i = int(blockIdx.x * kThreads + threadIdx.x);
  if (i >= n) return;
  float s = 0;
  for (int c = 0; c < chunks; ++c) s += partial[std::size_t(c) * unsigned(n) + unsigned(i)];
  store_simple<float>(w, dtype, std::uint32_t(i), s);
}

using std::int64_t;

bool fits(const ConvShape& s, DType dtype, const ConvData& d) {
  const auto aligned = [](const char* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  const bool flat = s.in[0] == 1 && s.kernel[0] == 1 && s.out[0] == 1 && s.padding[0] == 0;
  const bool square = s.kernel[1] == s.kernel[2] && (s.kernel[2] == 3 || s.kernel[2] == 5);
  bool fine = flat && square && s.group_channels() == 1 && accumulation(dtype) == DType::float32 && aligned(d.image) &&
              aligned(d.result) && s.in_size() < 1 << 24 && s.out_size() < 1 << 24 && s.n * s.filters < INT32_MAX;
  for (int i = 1; i < 3; ++i) fine = fine && s.stride[i] == 1 && s.dilation[i] == 1 && s.padding[i] < 1 << 24;
  return fine;
}
Depthwise depthwise_of(const ConvShape& s, DType dtype, bool back) {
  const int64_t *const own = back ? s.in : s.out, *const from = back ? s.out : s.in;
  const auto pad = [&](int d) { return int(back ? s.kernel[d] - 1 - s.padding[d] : s.padding[d]); };
  Depthwise t;
  t.height = int(own[1]), t.width = int(own[2]), t.from_height = int(from[1]), t.from_width = int(from[2]);
  t.pad_y = pad(1), t.pad_x = pad(2), t.pitch = (t.width + 3) / 4 * 4 + 4, t.band = t.height;
  t.channels = int(s.channels), t.filters = int(s.group_filters()), t.images = t.chunk = int(s.n);
  t.by_pitch = division(std::uint32_t(t.pitch)), t.quads = division(std::uint32_t((t.width + 3) / 4));
  t.dtype = dtype, t.bytes = size_of(dtype);
  return t;
}
int over(int64_t n, int64_t by) { return int((n + by - 1) / by); }
constexpr int64_t kBlocks = 132 * 8;  // keep a large device busy

// Each is false where a block has too little memory, or the device too few blocks.
template <int K> bool forward(const Depthwise& t, const ConvData& d, cudaStream_t stream) {
  const bool fours = t.filters % 4 == 0;
  const int64_t parts = std::max<int64_t>(over(t.filters, 64), over(kBlocks, int64_t(t.images) * t.channels));
  const int count = fours ? over(over(t.filters, parts), 4) * 4 : over(t.filters, parts);
  const int64_t shared = int64_t(t.height + K - 1) * t.pitch + K * K * count;
  if (shared > kShared) return false;
  const dim3 grid(unsigned(t.images) * unsigned(t.channels), unsigned(over(t.filters, count)));
  const std::size_t bytes = std::size_t(shared) * sizeof(float);
  if (fours) depthwise_forward<K, 4><<<grid, kThreads, bytes, stream>>>(t, d.image, d.filter, d.bias, d.result, count);
  else depthwise_forward<K, 1><<<grid, kThreads, bytes, stream>>>(t, d.image, d.filter, d.bias, d.result, count);
  return true;
}
template <int K> bool back(Depthwise t, const ConvData& d, cudaStream_t stream) {
  const int quads = int(t.quads.divisor);
  if (quads > kThreads) return false;
  t.band = std::min(t.height, kThreads / quads);
  const int64_t shared = int64_t(t.band + K - 1) * t.pitch + int64_t{K * K} * t.filters;
  const dim3 grid(unsigned(t.images) * unsigned(t.channels), unsigned(over(t.height, t.band)));
  if (shared > kShared || int64_t(grid.x) * grid.y < kBlocks / 4) return false;
  depthwise_input_gradient<K>
      <<<grid, kThreads, std::size_t(shared) * sizeof(float), stream>>>(t, d.result, d.filter, d.image);
  return true;
}
template <int K> bool weights(Depthwise t, const ConvData& d, int index, cudaStream_t stream, Failed* failure) {
  const int64_t shared = std::max(int64_t(t.height + K - 1) * t.pitch, int64_t{kThreads / 32 * K * K});
  const int filters = t.channels * t.filters, n = filters * K * K;
  if (shared > kShared) return false;
  t.chunk = over(t.images, std::clamp<int64_t>(over(2 * kBlocks, filters), 1, std::min(t.images, 1024)));
  const int chunks = over(t.images, t.chunk);
  Scratch scratch(index, stream);
  float* partial;
  if ((*failure = scratch.take(std::size_t(chunks) * unsigned(n) * sizeof(float), &partial))) return true;
  depthwise_weight_gradient<K>
      <<<dim3(unsigned(filters), unsigned(chunks)), kThreads, std::size_t(shared) * sizeof(float), stream>>>(
          t, d.image, d.result, partial);
  depthwise_sum<<<over(n, kThreads), kThreads, 0, stream>>>(partial, chunks, n, d.filter, t.dtype);
  return true;
}
template <int K> bool run(Convolve what, int index, const Depthwise& t, const ConvData& d, Failed* failure) {
  const cudaStream_t stream = current_stream(index);
  if (what == Convolve::forward) return forward<K>(t, d, stream);
  if (what == Convolve::input_gradient) return back<K>(t, d, stream);
  return weights<K>(t, d, index, stream, failure);
}

}  // namespace

bool by_planes(Convolve what, int index, DType dtype, const ConvShape& s, const ConvData& d, Failed* failure) {
  if (!fits(s, dtype, d)) return false;
  const Depthwise t = depthwise_of(s, dtype, what == Convolve::input_gradient);
  const bool did = s.kernel[2] == 3 ? run<3>(what, index, t, d, failure) : run<5>(what, index, t, d, failure);
  if (did && !*failure) *failure = launched(index);
  return did;
}

}  // namespace neura::cuda
