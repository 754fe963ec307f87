// Attention in tiles of 64 queries and 64 keys, computed in float32, without a matrix of all scores. The gradients make
// the scores again: one kernel for those of the queries, one for those of keys and values, each in a fixed order.
#include "neura/backend/cuda/product/attention.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

constexpr int kTile = 64, kSide = 16, kOwn = kTile / kSide;  // a thread has kOwn x kOwn scores
constexpr int kPitch = kTile + 1;                            // floats, so that neighbours are in different banks
constexpr float kNothing = -INFINITY;

struct Operand {  // a matrix for each head, of any strides; in elements
  const char* data;
  DType dtype;
  std::uint8_t bytes;
  bool packed;  // four numbers of a line may be read at once
  std::int64_t row, column, step[kMaxRank];
};
struct Arguments {
  Operand q, k, v, g, mask;
  char *y, *gq, *gk, *gv;  // contiguous
  float *sums, *products;  // of a query: the logarithm of its sum, and of g with y
  DType dtype;             // of q, k, v and of what is written
  std::int64_t queries, keys, tiles, size[kMaxRank];
  int rank, width, values;
  float scale;
  bool causal, masked;
};

struct Head {
  std::int64_t number;
  int tile;
};
__device__ Head head_of(const Arguments& a) { return {std::int64_t(blockIdx.x) / a.tiles, int(blockIdx.x % a.tiles)}; }
__device__ const char* matrix(const Operand& x, const Arguments& a, std::int64_t head) {
  std::int64_t at = 0;
#pragma unroll 1
  for (int d = a.rank - 1; d >= 0; --d) at += head % a.size[d] * x.step[d], head /= a.size[d];
  return x.data + at * x.bytes;
}

// Lines [first, first + kTile) of a head's matrix, each of `width` numbers, as float; zeros outside. Either side by
// side, or turned.
template <int D, bool turned>
__device__ void load(float* to, const Operand& x, const char* data, std::int64_t first, std::int64_t lines, int width) {
  if (x.packed) {
#pragma unroll 4
    for (int e = int(threadIdx.x) * 4; e < kTile * D; e += kSide * kSide * 4) {
      const int line = e / D, d = e % D;
      float v[4] = {};
      if (first + line < lines && d < width)
        load_pack<float, 4>(v, data + ((first + line) * x.row + d) * x.bytes, x.dtype, 0);
      if constexpr (!turned) *reinterpret_cast<float4*>(to + line * (D + 4) + d) = {v[0], v[1], v[2], v[3]};
#pragma unroll
      for (int i = 0; turned && i < 4; ++i) to[(d + i) * kPitch + line] = v[i];
    }
    return;
  }
#pragma unroll 4
  for (int e = int(threadIdx.x); e < kTile * D; e += kSide * kSide) {
    const int line = e / D, d = e % D;
    const std::int64_t at = (first + line) * x.row + d * x.column;
    const bool inside = first + line < lines && d < width;
    to[turned ? d * kPitch + line : line * (D + 4) + d] =
        inside ? load_simple<float>(data + at * x.bytes, x.dtype, 0) : 0;
  }
}

// Every thread's part of a tile: lines y * kOwn + i, columns x + j * kSide.
struct Place {
  int x = int(threadIdx.x) % kSide, y = int(threadIdx.x) / kSide;
  __device__ int line(int i) const { return y * kOwn + i; }
  __device__ int column(int j) const { return x + j * kSide; }
};
// s = lines times turned lines.
template <int D>
__device__ void multiply(float (&s)[kOwn][kOwn], const float* lines, const float* turned, int width, Place p) {
#pragma unroll
  for (int i = 0; i < kOwn; ++i)
#pragma unroll
    for (int j = 0; j < kOwn; ++j) s[i][j] = 0;
#pragma unroll 2
  for (int d = 0; d < width; d += 4) {
    float4 left[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) left[i] = *reinterpret_cast<const float4*>(lines + p.line(i) * (D + 4) + d);
#pragma unroll
    for (int e = 0; e < 4; ++e)
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const float right = turned[(d + e) * kPitch + p.column(j)];
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
          s[i][j] = fmaf(e == 0 ? left[i].x : e == 1 ? left[i].y : e == 2 ? left[i].z : left[i].w, right, s[i][j]);
      }
  }
}
// sum += weights times the transposed lines.
template <int D>
__device__ void gather(float (&sum)[kOwn][D / kSide], const float* weights, const float* turned, Place p) {
#pragma unroll 2
  for (int k = 0; k < kTile; ++k) {
    float w[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) w[i] = weights[p.line(i) * kPitch + k];
#pragma unroll
    for (int j = 0; j < D / kSide; ++j) {
      const float right = turned[p.column(j) * kPitch + k];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) sum[i][j] = fmaf(w[i], right, sum[i][j]);
    }
  }
}
__device__ inline void put(float* weights, const float (&s)[kOwn][kOwn], Place p) {
#pragma unroll
  for (int i = 0; i < kOwn; ++i)
#pragma unroll
    for (int j = 0; j < kOwn; ++j) weights[p.line(i) * kPitch + p.column(j)] = s[i][j];
}
template <int D> __device__ void store(char* to, const Arguments& a, const float (&sum)[kOwn][D / kSide],
                                       std::int64_t first, std::int64_t lines, int width, float scale, Place p) {
#pragma unroll
  for (int i = 0; i < kOwn; ++i)
#pragma unroll
    for (int j = 0; j < D / kSide; ++j) {
      const std::int64_t line = first + p.line(i);
      if (line < lines && p.column(j) < width)
        store_simple<float>(to + (line * width + p.column(j)) * a.q.bytes, a.dtype, 0, sum[i][j] * scale);
    }
}

// The score of a query and a key from their product: -inf where they do not meet.
__device__ float score(const Arguments& a, const char* mask, float product, std::int64_t query, std::int64_t key) {
  if (key >= a.keys || query >= a.queries || (a.causal && key > query)) return kNothing;
  float s = product * a.scale;
  if (a.masked)
    s += load_simple<float>(mask + (query * a.mask.row + key * a.mask.column) * a.mask.bytes, a.mask.dtype, 0);
  return s;
}
template <class F> __device__ float across_line(float v, F&& combine) {  // of the 16 threads of a line
#pragma unroll
  for (int step = kSide / 2; step; step /= 2) v = combine(v, __shfl_xor_sync(~0u, v, step));
  return v;
}
__device__ inline std::int64_t keys_seen(const Arguments& a, std::int64_t first) {
  return a.causal && first + kTile < a.keys ? first + kTile : a.keys;
}

template <int D> __global__ void __launch_bounds__(kSide* kSide) forward(const Arguments a) {
  extern __shared__ float4 shared[];
  float *const lines = reinterpret_cast<float*>(shared), *const turned = lines + kTile * (D + 4),
               *const weights = turned + D * kPitch;
  const Head h = head_of(a);
  const Place p;
  const std::int64_t first = std::int64_t(h.tile) * kTile, end = keys_seen(a, first);
  const char *const k = matrix(a.k, a, h.number), *const v = matrix(a.v, a, h.number);
  const char* const mask = a.masked ? matrix(a.mask, a, h.number) : nullptr;
  load<D, false>(lines, a.q, matrix(a.q, a, h.number), first, a.queries, a.width);
  float largest[kOwn], total[kOwn], sum[kOwn][D / kSide] = {};
#pragma unroll
  for (int i = 0; i < kOwn; ++i) largest[i] = kNothing, total[i] = 0;
  for (std::int64_t at = 0; at < end; at += kTile) {
    load<D, true>(turned, a.k, k, at, a.keys, a.width);
    __syncthreads();
    float s[kOwn][kOwn];
    multiply<D>(s, lines, turned, a.width, p);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      float most = kNothing, part = 0;
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        s[i][j] = score(a, mask, s[i][j], first + p.line(i), at + p.column(j));
        most = fmaxf(most, s[i][j]);
      }
      most = fmaxf(largest[i], across_line(most, [](float x, float y) { return fmaxf(x, y); }));
      const bool none = most == kNothing;
      const float old = none ? 1 : expf(largest[i] - most);
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        // A NaN among scores of -inf is no maximum, but stays what it is.
        s[i][j] = none && s[i][j] == kNothing ? 0 : expf(s[i][j] - most);
        part += s[i][j];
      }
      total[i] = total[i] * old + across_line(part, [](float x, float y) { return x + y; });
      largest[i] = most;
#pragma unroll
      for (int j = 0; j < D / kSide; ++j) sum[i][j] *= old;
    }
    put(weights, s, p);
    __syncthreads();
    load<D, true>(turned, a.v, v, at, a.keys, a.values);
    __syncthreads();
    gather<D>(sum, weights, turned, p);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const bool hidden = total[i] == 0 && (a.masked || a.causal);  // no key is seen: zeros
#pragma unroll
    for (int j = 0; j < D / kSide; ++j) sum[i][j] = hidden ? 0 : sum[i][j] / total[i];
    const std::int64_t line = first + p.line(i);
    if (!p.x && line < a.queries && a.sums)
      a.sums[h.number * a.queries + line] = hidden ? INFINITY : largest[i] + logf(total[i]);
  }
  store<D>(a.y + h.number * a.queries * a.values * a.q.bytes, a, sum, first, a.queries, a.values, 1, p);
}

// products[i] = the sum of g[i] y[i]: a warp per query.
__global__ void __launch_bounds__(kThreads) multiply_results(const Arguments a, std::int64_t count) {
  const std::int64_t i = (std::int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= count) return;
  const int lane = int(threadIdx.x) % 32;
  const char* const g = matrix(a.g, a, i / a.queries) + i % a.queries * a.g.row * a.g.bytes;
  const char* const y = a.y + i * a.values * a.q.bytes;
  float sum = 0;
  for (int c = lane; c < a.values; c += 32)
    sum += load_simple<float>(g + c * a.g.column * a.g.bytes, a.dtype, 0) *
           load_simple<float>(y + c * a.q.bytes, a.dtype, 0);
  sum = across_warp(sum, [](float x, float y) { return x + y; });
  if (!lane) a.products[i] = sum;
}

// The weight of a query and a key, made again, and the slope of its score.
struct Weighed {
  const Arguments& a;
  const char* mask;
  const float *sums, *products;  // of this head
  __device__ float weight(float product, std::int64_t query, std::int64_t key) const {
    const float s = score(a, mask, product, query, key);
    return s == kNothing ? 0 : expf(s - sums[query]);
  }
  __device__ float slope(float weight, float g, std::int64_t query) const {
    return query < a.queries ? weight * (g - products[query]) : 0;
  }
};

template <int D> __global__ void __launch_bounds__(kSide* kSide) query_gradient(const Arguments a) {
  extern __shared__ float4 shared[];
  float *const q = reinterpret_cast<float*>(shared), *const g = q + kTile * (D + 4),
               *const turned = g + kTile * (D + 4), *const weights = turned + D * kPitch;
  const Head h = head_of(a);
  const Place p;
  const std::int64_t first = std::int64_t(h.tile) * kTile, end = keys_seen(a, first);
  const char *const k = matrix(a.k, a, h.number), *const v = matrix(a.v, a, h.number);
  const Weighed of{a, a.masked ? matrix(a.mask, a, h.number) : nullptr, a.sums + h.number * a.queries,
                   a.products + h.number * a.queries};
  load<D, false>(q, a.q, matrix(a.q, a, h.number), first, a.queries, a.width);
  load<D, false>(g, a.g, matrix(a.g, a, h.number), first, a.queries, a.values);
  float sum[kOwn][D / kSide] = {};
  for (std::int64_t at = 0; at < end; at += kTile) {
    float s[kOwn][kOwn], slopes[kOwn][kOwn];
    load<D, true>(turned, a.k, k, at, a.keys, a.width);
    __syncthreads();
    multiply<D>(s, q, turned, a.width, p);
    __syncthreads();
    load<D, true>(turned, a.v, v, at, a.keys, a.values);
    __syncthreads();
    multiply<D>(slopes, g, turned, a.values, p);
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        const std::int64_t query = first + p.line(i);
        slopes[i][j] = of.slope(of.weight(s[i][j], query, at + p.column(j)), slopes[i][j], query);
      }
    put(weights, slopes, p);
    __syncthreads();
    load<D, true>(turned, a.k, k, at, a.keys, a.width);
    __syncthreads();
    gather<D>(sum, weights, turned, p);
    __syncthreads();
  }
  store<D>(a.gq + h.number * a.queries * a.width * a.q.bytes, a, sum, first, a.queries, a.width, a.scale, p);
}

template <int D> __global__ void __launch_bounds__(kSide* kSide) key_gradient(const Arguments a) {
  extern __shared__ float4 shared[];
  float *const k = reinterpret_cast<float*>(shared), *const v = k + kTile * (D + 4),
               *const turned = v + kTile * (D + 4), *const weights = turned + D * kPitch;
  const Head h = head_of(a);
  const Place p;
  const std::int64_t first = std::int64_t(h.tile) * kTile;
  const char *const q = matrix(a.q, a, h.number), *const g = matrix(a.g, a, h.number);
  const Weighed of{a, a.masked ? matrix(a.mask, a, h.number) : nullptr, a.sums + h.number * a.queries,
                   a.products + h.number * a.queries};
  load<D, false>(k, a.k, matrix(a.k, a, h.number), first, a.keys, a.width);
  load<D, false>(v, a.v, matrix(a.v, a, h.number), first, a.keys, a.values);
  float key_sum[kOwn][D / kSide] = {}, value_sum[kOwn][D / kSide] = {};
  for (std::int64_t at = a.causal ? first : 0; at < a.queries; at += kTile) {
    float s[kOwn][kOwn], slopes[kOwn][kOwn];
    load<D, true>(turned, a.q, q, at, a.queries, a.width);
    __syncthreads();
    multiply<D>(s, k, turned, a.width, p);
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
#pragma unroll
      for (int j = 0; j < kOwn; ++j) s[i][j] = of.weight(s[i][j], at + p.column(j), first + p.line(i));
    put(weights, s, p);
    __syncthreads();
    load<D, true>(turned, a.g, g, at, a.queries, a.values);
    __syncthreads();
    gather<D>(value_sum, weights, turned, p);
    multiply<D>(slopes, v, turned, a.values, p);
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
#pragma unroll
      for (int j = 0; j < kOwn; ++j) slopes[i][j] = of.slope(s[i][j], slopes[i][j], at + p.column(j));
    __syncthreads();
    put(weights, slopes, p);
    load<D, true>(turned, a.q, q, at, a.queries, a.width);
    __syncthreads();
    gather<D>(key_sum, weights, turned, p);
    __syncthreads();
  }
  store<D>(a.gk + h.number * a.keys * a.width * a.q.bytes, a, key_sum, first, a.keys, a.width, a.scale, p);
  store<D>(a.gv + h.number * a.keys * a.values * a.q.bytes, a, value_sum, first, a.keys, a.values, 1, p);
}

Operand operand(const View& x, const View& like) {
  if (!x) return {};
  const int r = x.rank(), ahead = like.rank() - r;
  const auto step = [&](int d) { return d < 0 || x.size(d) == 1 ? 0 : x.stride(d); };
  Operand o{x.data, x.dtype(), std::uint8_t(size_of(x.dtype())), false, step(r - 2), step(r - 1), {}};
  for (int d = 0; d < like.rank() - 2; ++d) o.step[d] = step(d - ahead);
  o.packed = r >= 2 && o.column == 1 && x.size(r - 1) % 4 == 0 && o.row % 4 == 0 &&
             reinterpret_cast<std::uintptr_t>(x.data) % (4 * o.bytes) == 0;
  for (int d = 0; d < like.rank() - 2; ++d) o.packed = o.packed && o.step[d] % 4 == 0;
  return o;
}

using Kernel = void(Arguments);
Failed launch(Kernel* kernel, int lines, Arguments& a, std::int64_t length, std::int64_t heads, int depth,
              cudaStream_t stream) {
  const std::size_t bytes =
      sizeof(float) * (std::size_t(lines) * kTile * (depth + 4) + std::size_t(depth + kTile) * kPitch);
  NEURA_CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)), "attention");
  a.tiles = (length + kTile - 1) / kTile;
  if ((a.tiles * heads) >> 31)
    return fail(DeviceFailure::absent, "expected attention over fewer than 2^37 positions of all heads on cuda");
  kernel<<<unsigned(a.tiles * heads), kSide * kSide, bytes, stream>>>(a);
  return nullptr;
}
template <int D> Failed run(int index, const AttentionCall& c, Arguments& a, std::int64_t heads, cudaStream_t stream) {
  if (!c.g) {
    if (Failed f = launch(forward<D>, 1, a, a.queries, heads, D, stream)) return f;
    return launched(index);
  }
  Scratch scratch(index, stream);
  const std::int64_t count = heads * a.queries;
  if (Failed f = scratch.take(std::size_t(count) * sizeof(float), &a.products)) return f;
  multiply_results<<<unsigned((count + kThreads / 32 - 1) / (kThreads / 32)), kThreads, 0, stream>>>(a, count);
  if (Failed f = launch(query_gradient<D>, 2, a, a.queries, heads, D, stream)) return f;
  if (Failed f = launch(key_gradient<D>, 2, a, a.keys, heads, D, stream)) return f;
  return launched(index);
}

}  // namespace

Failed attention_by_tiles(int index, const AttentionCall& c) {
  Arguments a{operand(c.q, c.q), operand(c.k, c.q), operand(c.v, c.q), operand(c.g, c.q), operand(c.mask, c.q)};
  const int r = c.q.rank();
  a.y = c.y.data, a.gq = c.gq.data, a.gk = c.gk.data, a.gv = c.gv.data, a.sums = c.sums.as<float>();
  a.dtype = c.q.dtype(), a.queries = c.q.size(r - 2), a.keys = c.k.size(r - 2), a.rank = r - 2;
  a.width = int(c.q.size(r - 1)), a.values = int(c.v.size(r - 1)), a.scale = float(c.shape.scale);
  a.causal = c.shape.causal, a.masked = bool(c.mask);
  std::int64_t heads = 1;
  for (int d = 0; d < a.rank; ++d) heads *= a.size[d] = c.q.size(d);
  const int wider = std::max(a.width, a.values);
  const cudaStream_t stream = current_stream(index);
  return (wider <= 32    ? run<32>
          : wider <= 64  ? run<64>
          : wider <= 128 ? run<128>
                         : run<256>)(index, c, a, heads, stream);
}

}  // namespace neura::cuda
