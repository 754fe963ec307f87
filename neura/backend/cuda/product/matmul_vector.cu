// Products of a matrix and a vector, which is what reading the matrix once costs. Where there are few results, several
// blocks share each, and their parts are added in order.
#include <algorithm>

#include "neura/backend/cuda/product/matmul_lt.h"
#include "neura/backend/cuda/runtime/memory.cuh"

namespace neura::cuda {
namespace {

constexpr int kWarps = kThreads / 32;

struct Arguments {
  const char *matrix, *vector, *c, *bias;
  char* y;
  void* parts;                        // [batch, splits, results], where splits > 1
  std::int64_t line, depth, element;  // elements from a result's numbers to the next one's, and along both sums
  std::int64_t matrix_step, vector_step, results, k, chunk;  // of a batch; of a split
  double alpha, beta;
  int splits, bytes, bias_step;
  DType dtype;
};

template <class E> __device__ void finish(const Arguments& a, std::int64_t batch, std::int64_t result, E sum) {
  const std::int64_t at = (batch * a.results + result) * a.bytes;
  sum *= E(a.alpha);
  if (a.c) sum += E(a.beta) * load_simple<E>(a.c + at, a.dtype, 0);
  if (a.bias) sum += load_simple<E>(a.bias + result * a.bias_step * a.bytes, a.dtype, 0);
  store_simple<E>(a.y + at, a.dtype, 0, sum);
}
template <class E> __device__ void put(const Arguments& a, std::int64_t result, E sum) {
  if (a.splits == 1) return finish(a, blockIdx.z, result, sum);
  static_cast<E*>(a.parts)[(std::int64_t(blockIdx.z) * a.splits + blockIdx.y) * a.results + result] = sum;
}
struct Range {
  std::int64_t begin, end;
};
__device__ Range range_of(const Arguments& a) {
  const std::int64_t begin = blockIdx.y * a.chunk;
  return {begin, begin + a.chunk < a.k ? begin + a.chunk : a.k};
}

template <class M> using Computed = std::conditional_t<is_same<M, double>, double, float>;

// The numbers of a result are contiguous: a warp for each.
template <class M, int V> __global__ void __launch_bounds__(kThreads) by_lines(const Arguments a) {
  using E = Computed<M>;
  const std::int64_t result = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (result >= a.results) return;
  const int lane = int(threadIdx.x) % 32;
  const char* const matrix = a.matrix + (blockIdx.z * a.matrix_step + result * a.line) * a.bytes;
  const char* const vector = a.vector + blockIdx.z * a.vector_step * a.bytes;
  const Range r = range_of(a);
  E sum = 0;
#pragma unroll 4
  for (std::int64_t i = r.begin + lane * V; i < r.end; i += 32 * V) {
    E m[V], x[V];
    load_as<M, V>(m, matrix + i * a.depth * sizeof(M), 0);
    load_as<M, V>(x, vector + i * a.element * sizeof(M), 0);
#pragma unroll
    for (int v = 0; v < V; ++v) sum += m[v] * x[v];
  }
  sum = across_warp(sum, [](E p, E q) { return p + q; });
  if (!lane) put(a, result, sum);
}
// Results are contiguous: V for a thread, and the warps of a block take turns along the sum.
template <class M, int V> __global__ void __launch_bounds__(kThreads) by_columns(const Arguments a) {
  using E = Computed<M>;
  __shared__ E sums[kWarps][32 * V + 1];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const std::int64_t result = (std::int64_t(blockIdx.x) * 32 + lane) * V;
  const char* const matrix = a.matrix + (blockIdx.z * a.matrix_step + result * a.line) * a.bytes;
  const char* const vector = a.vector + blockIdx.z * a.vector_step * a.bytes;
  const Range r = range_of(a);
  E sum[V] = {};
  if (result < a.results) {
#pragma unroll 4
    for (std::int64_t i = r.begin + warp; i < r.end; i += kWarps) {
      E m[V];
      load_as<M, V>(m, matrix + i * a.depth * sizeof(M), 0);
      E x[1];
      load_as<M, 1>(x, vector + i * a.element * sizeof(M), 0);
#pragma unroll
      for (int v = 0; v < V; ++v) sum[v] += m[v] * x[0];
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) sums[warp][lane * V + v] = sum[v];
  __syncthreads();
  for (int i = int(threadIdx.x); i < 32 * V; i += kThreads) {
    const std::int64_t at = std::int64_t(blockIdx.x) * 32 * V + i;
    if (at >= a.results) return;
    E total = sums[0][i];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) total += sums[w][i];
    put(a, at, total);
  }
}
template <class E> __global__ void __launch_bounds__(kThreads) add_parts(const Arguments a) {  // a warp for each result
  const std::int64_t result = std::int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (result >= a.results) return;
  const int lane = int(threadIdx.x) % 32;
  const E* const parts = static_cast<const E*>(a.parts) + std::int64_t(blockIdx.z) * a.splits * a.results + result;
  E sum = 0;
#pragma unroll 4
  for (int s = lane; s < a.splits; s += 32) sum += parts[s * a.results];
  sum = across_warp(sum, [](E p, E q) { return p + q; });
  if (!lane) finish(a, blockIdx.z, result, sum);
}

std::int64_t divided(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

template <class M, int V> Failed launch(int index, Arguments& a, std::int64_t batch, bool lines) {
  using E = Computed<M>;
  constexpr std::int64_t kManyWarps = 132 * 32, kMostSplits = 1024;  // all that the device runs at once
  const std::int64_t blocks = divided(a.results, lines ? kWarps : 32 * V), step = lines ? 32 * V : kWarps;
  const std::int64_t warps = batch * (lines ? a.results : blocks * kWarps);
  const std::int64_t wanted = divided(kManyWarps, warps), most = divided(a.k, step * 8);
  a.chunk = divided(divided(a.k, std::clamp<std::int64_t>(std::min(wanted, most), 1, kMostSplits)), step) * step;
  a.splits = int(divided(a.k, a.chunk));
  cudaStream_t stream = current_stream(index);
  Scratch scratch(index, stream);
  if (a.splits > 1)
    if (Failed f = scratch.take(std::size_t(batch * a.splits * a.results) * sizeof(E), &a.parts)) return f;
  const dim3 grid{unsigned(blocks), unsigned(a.splits), unsigned(batch)};
  if (lines) by_lines<M, V><<<grid, kThreads, 0, stream>>>(a);
  else by_columns<M, V><<<grid, kThreads, 0, stream>>>(a);
  if (a.splits > 1)
    add_parts<E><<<dim3(unsigned(divided(a.results, kWarps)), 1, unsigned(batch)), kThreads, 0, stream>>>(a);
  return launched(index);
}

bool multiple(const char* data, std::int64_t step, std::int64_t batch_step, int bytes) {  // of 16 bytes, all
  return !(
      (reinterpret_cast<std::uintptr_t>(data) | std::uintptr_t(step * bytes) | std::uintptr_t(batch_step * bytes)) %
      16);
}

}  // namespace

bool is_vector_product(const LtProduct& p) {
  constexpr DTypeSet taken = bit(DType::float32) | bit(DType::float64) | dtypes::halves;
  return (p.m == 1 || p.n == 1) && bit(p.dtype) & taken && p.batch <= 65535;
}
Failed multiply_vector(int index, const LtProduct& p) {
  const bool right = p.n == 1;  // the vector
  const LtMatrix &matrix = right ? p.a : p.b, &vector = right ? p.b : p.a;
  const bool lines = matrix.turned != right;  // the numbers of a result are contiguous
  Arguments a{matrix.data, vector.data, p.c, p.bias, p.y, nullptr};
  a.line = lines ? matrix.ld : 1, a.depth = lines ? 1 : matrix.ld, a.element = vector.turned == right ? 1 : vector.ld;
  a.matrix_step = matrix.step, a.vector_step = vector.step, a.results = right ? p.m : p.n, a.k = p.k;
  a.alpha = p.alpha.real(), a.beta = p.beta.real(), a.bytes = size_of(p.dtype), a.bias_step = right ? 0 : 1;
  a.dtype = p.dtype;
  const int pack = 16 / a.bytes;
  bool packed = multiple(matrix.data, matrix.ld, matrix.step, a.bytes) && (lines ? a.k : a.results) % pack == 0;
  if (lines) packed = packed && a.element == 1 && multiple(vector.data, 0, vector.step, a.bytes);
  const auto run = [&]<class M>() {
    return packed ? launch<M, 16 / sizeof(M)>(index, a, p.batch, lines) : launch<M, 1>(index, a, p.batch, lines);
  };
  switch (p.dtype) {
    case DType::float64:
      return run.template operator()<double>();
    case DType::float32:
      return run.template operator()<float>();
    case DType::float16:
      return run.template operator()<Half>();
    default:
      return run.template operator()<BFloat16>();
  }
}

}  // namespace neura::cuda
