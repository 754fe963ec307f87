// Sums over rows of halves: eight columns a thread, whose 16 bytes of eight rows are in flight together. One by one, as
// fold_columns reads them, halves are too small for the memory's speed.
#include "neura/backend/cuda/rowwise/rowwise_launch.cuh"
#include "neura/backend/cuda/reduce/reduce.h"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {
namespace {

constexpr std::uint32_t V = 8, kRows = 8, kParts = kThreads / 32;  // of a block: they take rows in turn
static_assert(kThreads == 32 * V);

template <class M> __global__ void __maxnreg__(64) column_sums(const __grid_constant__ FoldArguments f) {
  __shared__ float shared[kParts][32 * V];
  const std::uint32_t tiles = (f.outputs + kThreads - 1) / kThreads, tile = blockIdx.x % tiles;
  const std::uint32_t lane = threadIdx.x % 32, part = threadIdx.x / 32, column = (tile * 32 + lane) * V;
  const std::uint32_t chunk = blockIdx.x / tiles, begin = chunk * f.chunk;
  const std::uint32_t last = f.count - begin < f.chunk ? f.count : begin + f.chunk, end = column < f.outputs ? last : 0;
  const char* from = f.x + column * sizeof(M);
  float sum[V] = {};
  const auto add = [&](const uint4& words) {
    float v[V];
    load_as<M, V>(v, reinterpret_cast<const char*>(&words), 0);
#pragma unroll
    for (std::uint32_t j = 0; j < V; ++j) sum[j] += v[j];
  };
  const auto at = [&](std::uint32_t row) { return *reinterpret_cast<const uint4*>(from + row * f.reduced.x[0]); };
  std::uint32_t row = begin + part;
  for (; row + kParts * (kRows - 1) < end; row += kParts * kRows) {
    uint4 words[kRows];
#pragma unroll
    for (std::uint32_t k = 0; k < kRows; ++k) words[k] = at(row + kParts * k);
#pragma unroll
    for (std::uint32_t k = 0; k < kRows; ++k) add(words[k]);
  }
  for (; row < end; row += kParts) add(at(row));
  store_as<float, 4>(reinterpret_cast<float(&)[4]>(sum[0]), reinterpret_cast<char*>(shared[part]), lane * V);
  store_as<float, 4>(reinterpret_cast<float(&)[4]>(sum[4]), reinterpret_cast<char*>(shared[part]), lane * V + 4);
  __syncthreads();
  float all = 0;
#pragma unroll
  for (std::uint32_t p = 0; p < kParts; ++p) all += shared[p][threadIdx.x];
  const std::uint32_t mine = tile * kThreads + threadIdx.x;
  if (mine < f.outputs) reinterpret_cast<float*>(f.partial)[std::size_t(chunk) * f.outputs + mine] = all;
}
// The chunks of eight columns, whose sectors are read whole: a block.
__global__ void __launch_bounds__(kThreads) add_chunks(const __grid_constant__ FoldArguments f) {
  __shared__ float shared[kThreads];
  const std::uint32_t column = blockIdx.x * V + threadIdx.x % V;
  const float* from = reinterpret_cast<const float*>(f.partial) + column;
  float sum = sum_apart(from, f.outputs, threadIdx.x / V, f.chunks, kThreads / V);
  shared[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x >= V) return;
  for (std::uint32_t t = threadIdx.x + V; t < kThreads; t += V) sum += shared[t];
  store_simple<float>(f.y + column * f.kept.y[0], f.y_dtype, 0, sum);
}

}  // namespace

bool takes_column_sums(const FoldArguments& f) {
  const bool half = f.x_dtype == DType::float16 || f.x_dtype == DType::bfloat16;
  return half && f.kept.rank == 1 && f.reduced.rank == 1 && f.kept.x[0] == 2 && f.outputs % V == 0 && f.count >= 64 &&
         f.reduced.x[0] % 16 == 0 && reinterpret_cast<std::uintptr_t>(f.x) % 16 == 0;
}
Failed sum_columns(FoldArguments f, int index, cudaStream_t stream) {
  const std::uint32_t tiles = ceiling(f.outputs, kThreads);
  f.chunks = std::max(1u, std::min(kEnough / tiles, f.count / 64));
  f.chunk = ceiling(ceiling(f.count, f.chunks), kParts * kRows) * kParts * kRows;
  f.chunks = ceiling(f.count, f.chunk);
  Scratch scratch(index, stream);
  if (Failed e = scratch.take(std::size_t(f.chunks) * f.outputs * sizeof(float), &f.partial)) return e;
  if (f.x_dtype == DType::float16) column_sums<Half><<<tiles * f.chunks, kThreads, 0, stream>>>(f);
  else column_sums<BFloat16><<<tiles * f.chunks, kThreads, 0, stream>>>(f);
  add_chunks<<<f.outputs / V, kThreads, 0, stream>>>(f);
  return launched(index);
}

}  // namespace neura::cuda
