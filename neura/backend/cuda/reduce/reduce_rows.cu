// Mean and spread of contiguous lines, in one pass: short runs of elements are taken apart from their own mean,
// and the runs are put together as Chan, Golub and LeVeque do (1979), in an order that the sizes alone decide.
#include "neura/backend/cuda/reduce/reduce.cuh"

namespace neura::cuda {
namespace {

// The mean is in two parts, because a float holds one of 10^6 to 0.03 only. spread: sum of the squares of the distances
// from it.
template <class N> struct Run { N n, mean, rest, spread; };
template <class N> __device__ Run<N> joined(Run<N> a, Run<N> b) {
  if (b.n == N(0)) return a;
  if (a.n == N(0)) return b;
  const N n = a.n + b.n, part = b.n / n, distance = (b.mean - a.mean) + (b.rest - a.rest);
  const N rest = a.rest + distance * part, mean = a.mean + rest;
  return {n, mean, rest - (mean - a.mean), a.spread + b.spread + distance * distance * a.n * part};
}
template <int K, class N> __device__ Run<N> run_of(const N (&x)[K]) {
  N sum = 0, off = 0, spread = 0;
#pragma unroll
  for (int k = 0; k < K; ++k) sum += x[k];
  const N mean = sum / N(K);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const N d = x[k] - mean;
    off += d, spread += d * d;
  }
  const N rest = off / N(K), around = spread - off * rest;
  return {N(K), mean, rest, around < N(0) ? N(0) : around};
}

template <class N> __device__ Run<N> run_of_line(const char* line, DType dtype, std::uint32_t count, std::uint32_t lane,
                                                 std::uint32_t width) {
  constexpr std::uint32_t V = kPack<N>, K = 4;
  Run<N> all{0, 0, 0, 0};
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
  Run<N> a = output < f.outputs ? run_of_line<N>(f.x + x, f.x_dtype, f.count, lane, width) : Run<N>{0, 0, 0, 0};
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

template <class N> __global__ void first_of_each(const __grid_constant__ FoldArguments f, N* pilots) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= f.outputs) return;
  std::int64_t x = 0, y = 0;
  locate(f.kept, i, x, y);
  const N first = load_simple<N>(f.x + x, f.x_dtype, 0), most = sizeof(N) == 8 ? N(4e307) : N(8e37);
  pilots[i] = first <= most && first >= -most ? first : N(0);
}
template <class N> __global__ void settle(N* means, N* rests, N count, std::uint32_t n) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= n) return;
  const N off = rests[i] / count, mean = means[i] + off, rest = off - (mean - means[i]);
  means[i] = mean, rests[i] = rest - rest == N(0) ? rest : N(0);
}
template <class N> __global__ void corrected(const __grid_constant__ FoldArguments f, const N* spread, const N* rests) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= f.outputs) return;
  std::int64_t x = 0, y = 0;
  locate(f.kept, i, x, y);
  const N around = spread[i] - N(f.count) * rests[i] * rests[i], v = (around < N(0) ? N(0) : around) / N(f.number);
  store_simple(f.y + y, f.y_dtype, 0, f.root ? sqrt(v) : v);
}
std::uint32_t blocks_of(const FoldArguments& f) { return (f.outputs + kThreads - 1) / kThreads; }
// f.operator()<N>() with the number that the dtype is computed in.
template <class F> void with_real(DType d, const F& f) {
  d == DType::float64 ? f.template operator()<double>() : f.template operator()<float>();
}

}  // namespace

void first_elements(const FoldArguments& f, DType computed, char* pilots, cudaStream_t stream) {
  with_real(computed, [&]<class N>() {
    first_of_each<N><<<blocks_of(f), kThreads, 0, stream>>>(f, reinterpret_cast<N*>(pilots));
  });
}
void settle_means(const FoldArguments& f, DType computed, char* means, char* rests, cudaStream_t stream) {
  with_real(computed, [&]<class N>() {
    settle<N><<<blocks_of(f), kThreads, 0, stream>>>(reinterpret_cast<N*>(means), reinterpret_cast<N*>(rests),
                                                     N(f.count), f.outputs);
  });
}
void deliver_spread(const FoldArguments& f, DType computed, const char* spread, const char* rests,
                    cudaStream_t stream) {
  with_real(computed, [&]<class N>() {
    corrected<N><<<blocks_of(f), kThreads, 0, stream>>>(f, reinterpret_cast<const N*>(spread),
                                                        reinterpret_cast<const N*>(rests));
  });
}

bool moments_in_one_pass(const FoldArguments& f, DType computed, char* means, cudaStream_t stream) {
  const bool few = f.outputs < 264 && f.count > 8192;  // several blocks for each, which read twice
  if (!f.packs || few || !f.count) return false;       // of nothing the mean is NaN, as the folds say
  if (computed == DType::float64) launch<double>(f, means, stream);
  else launch<float>(f, means, stream);
  return true;
}

}  // namespace neura::cuda
