// Mean and spread of lines that lie densely, in one pass: short runs of elements are taken apart from their own mean,
// and the runs are put together as Chan, Golub and LeVeque do (1979), in an order that the sizes alone decide.
#include "neura/backend/cuda/reduce.cuh"

namespace neura::cuda {
namespace {

template <class N> struct Run {
  N n, mean, spread;  // spread: sum of the squares of the distances from the mean
};
template <class N> __device__ Run<N> joined(Run<N> a, Run<N> b) {
  const N n = a.n + b.n, part = n > 0 ? b.n / n : N(0), distance = b.mean - a.mean;
  return {n, a.mean + distance * part, a.spread + b.spread + distance * distance * a.n * part};
}
template <int K, class N> __device__ Run<N> run_of(const N (&x)[K]) {
  N sum = 0, spread = 0;
#pragma unroll
  for (int k = 0; k < K; ++k) sum += x[k];
  const N mean = sum / N(K);
#pragma unroll
  for (int k = 0; k < K; ++k) spread += (x[k] - mean) * (x[k] - mean);
  return {N(K), mean, spread};
}

template <class N> __device__ Run<N> run_of_line(const char* line, DType dtype, std::uint32_t count, std::uint32_t lane,
                                                 std::uint32_t width) {
  constexpr std::uint32_t V = kPack<N>, K = 4;
  Run<N> all{0, 0, 0};
  std::uint32_t i = lane * V;
  for (; i + (K - 1) * width * V + V <= count; i += K * width * V) {
    N x[K][V], flat[K * V];
#pragma unroll
    for (std::uint32_t k = 0; k < K; ++k) load_pack(x[k], line, dtype, i + k * width * V);
#pragma unroll
    for (std::uint32_t k = 0; k < K * V; ++k) flat[k] = x[k / V][k % V];
    all = joined(all, run_of(flat));
  }
  for (; i < count; i += width * V)
    for (std::uint32_t j = i; j < i + V && j < count; ++j) {
      const N x[1] = {load_simple<N>(line, dtype, j)};
      all = joined(all, run_of(x));
    }
  return all;
}

template <class N, int width> __global__ void __launch_bounds__(kThreads)
    moments_of_rows(const __grid_constant__ FoldArguments f, N* means) {
  __shared__ Run<N> parts[kThreads / 32];
  const std::uint32_t output = blockIdx.x * (kThreads / width) + threadIdx.x / width, lane = threadIdx.x % width;
  std::int64_t x = 0, y = 0;
  if (output < f.outputs) locate(f.kept, output, x, y);
  Run<N> a = output < f.outputs ? run_of_line<N>(f.x + x, f.x_dtype, f.count, lane, width) : Run<N>{0, 0, 0};
  a = across_warp(a, [](Run<N> u, Run<N> v) { return joined(u, v); });
  if constexpr (width > 32) {
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = a;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < kThreads / 32; ++w) a = joined(a, parts[w]);
  }
  if (output >= f.outputs || lane) return;
  const N spread = a.spread / N(f.number);
  store_simple(f.y + y, f.y_dtype, 0, f.root ? sqrt(spread) : spread);
  if (means) means[output] = a.mean;
}

template <class N> void launch(const FoldArguments& f, char* means, cudaStream_t stream) {
  N* const to = reinterpret_cast<N*>(means);
  if (f.count <= 1024) moments_of_rows<N, 32><<<(f.outputs + 7) / 8, kThreads, 0, stream>>>(f, to);
  else moments_of_rows<N, kThreads><<<f.outputs, kThreads, 0, stream>>>(f, to);
}

}  // namespace

bool moments_in_one_pass(const FoldArguments& f, DType computed, char* means, cudaStream_t stream) {
  const bool few = f.outputs < 264 && f.count > 8192;  // several blocks for each, which read twice
  if (!f.packs || few || !f.count) return false;       // of nothing the mean is NaN, as the folds say
  if (computed == DType::float64) launch<double>(f, means, stream);
  else launch<float>(f, means, stream);
  return true;
}

}  // namespace neura::cuda
