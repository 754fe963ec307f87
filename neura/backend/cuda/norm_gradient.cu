// Gradients of layer_norm and rms_norm. Those of weight and bias are sums over rows: of chunks of them first.
#include "neura/backend/cuda/norm.cuh"

namespace neura::cuda {

Failed norm_input_gradient(DType d, RowPlan r, const Affine& a, const NormStatistics& s, bool centred, int index,
                           cudaStream_t stream) {
  return with_floating(d, [&]<class M>() {
    using E = number_of<M>;
    const NormGradientOp<E> op{
        a, static_cast<const E*>(s.mean), static_cast<const E*>(s.second), E(s.eps), centred, s.variance};
    return run_rows<NormGradientOp<E>, M>(op, r, allows_packs(a, 16 / sizeof(M)), index, stream);
  });
}

namespace {

struct SumPlan {
  const char *g, *x;
  const void *mean, *rstd;
  std::int64_t g_pitch, x_pitch, rows, chunk;  // pitches in bytes
  std::uint32_t n, lanes, tiles, chunks;       // lanes of a block along columns: a power of two
  char* partial;                               // [2, chunks, n]; null where one chunk does all
  ParameterGradients to;
};

template <class E> __device__ void deliver_sum(const SumPlan& p, int which, std::uint32_t column, E sum) {
  which ? store_bias(p.to, column, sum) : store_weight(p.to, column, sum);
}
// Sums of the parts of a block: the first part's threads get them.
template <class E, int V> __device__ void join_parts(E (&s)[V], std::uint32_t lanes) {
  __shared__ E shared[V][kThreads];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < V; ++j) shared[j][threadIdx.x] = s[j];
  __syncthreads();
  if (threadIdx.x >= lanes) return;
  for (std::uint32_t t = threadIdx.x + lanes; t < kThreads; t += lanes)
#pragma unroll
    for (int j = 0; j < V; ++j) s[j] += shared[j][t];
}

template <class M, int V> __global__ void __launch_bounds__(kThreads) sum_rows(const __grid_constant__ SumPlan p) {
  using E = number_of<M>;
  constexpr int K = 4;
  const std::uint32_t lane = threadIdx.x % p.lanes, parts = kThreads / p.lanes, tile = blockIdx.x % p.tiles;
  const std::uint32_t chunk = blockIdx.x / p.tiles, column = (tile * p.lanes + lane) * V;
  const std::int64_t begin = chunk * p.chunk, end = p.rows - begin < p.chunk ? p.rows : begin + p.chunk;
  const std::size_t at = std::size_t(column) * sizeof(M);
  E sum[2][V] = {};
  for (std::int64_t r = begin + threadIdx.x / p.lanes; column < p.n && r < end; r += K * parts) {
    PackOf<M, V> g[K], x[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (const std::int64_t row = r + k * parts; row < end) {
        g[k] = *reinterpret_cast<const PackOf<M, V>*>(p.g + row * p.g_pitch + at);
        x[k] = *reinterpret_cast<const PackOf<M, V>*>(p.x + row * p.x_pitch + at);
      }
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (const std::int64_t row = r + k * parts; row < end) {
        const E m = p.mean ? static_cast<const E*>(p.mean)[row] : E(0), s = static_cast<const E*>(p.rstd)[row];
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const E v = cast<E>(g[k].v[j]);
          sum[0][j] += v * ((cast<E>(x[k].v[j]) - m) * s), sum[1][j] += v;
        }
      }
  }
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    join_parts(sum[which], p.lanes);
    if (threadIdx.x >= p.lanes || column >= p.n) continue;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (p.partial)
        reinterpret_cast<E*>(p.partial)[(std::size_t(which) * p.chunks + chunk) * p.n + column + j] = sum[which][j];
      else deliver_sum(p, which, column + j, sum[which][j]);
    }
  }
}
template <class E> __global__ void __launch_bounds__(kThreads) sum_chunks(const __grid_constant__ SumPlan p) {
  const std::uint32_t tiles = (p.n + 31) / 32, tile = blockIdx.x % tiles, column = tile * 32 + threadIdx.x % 32;
  const int which = int(blockIdx.x / tiles);
  const E* from = reinterpret_cast<const E*>(p.partial) + std::size_t(which) * p.chunks * p.n;
  E sum[1] = {E(0)};
  for (std::uint32_t c = threadIdx.x / 32; column < p.n && c < p.chunks; c += kThreads / 32)
    sum[0] += from[std::size_t(c) * p.n + column];
  join_parts(sum, 32);
  if (threadIdx.x < 32 && column < p.n) deliver_sum(p, which, column, sum[0]);
}

template <class M, int V> Failed launch_sums(SumPlan p, int index, cudaStream_t stream) {
  using E = number_of<M>;
  const std::uint32_t packs = ceiling(p.n, V);
  p.lanes = std::min(32u, power_from(packs)), p.tiles = ceiling(packs, p.lanes);
  const std::int64_t least = std::int64_t(kThreads / p.lanes) * 8, wanted = ceiling(2 * kEnough, p.tiles);
  p.chunks = std::uint32_t(std::clamp<std::int64_t>(p.rows / least, 1, wanted));
  p.chunk = std::max<std::int64_t>(1, (p.rows + p.chunks - 1) / p.chunks);
  Scratch scratch(index, stream);
  if (p.chunks > 1)
    if (Failed f = scratch.take(2 * std::size_t(p.chunks) * p.n * sizeof(E), &p.partial)) return f;
  sum_rows<M, V><<<p.tiles * p.chunks, kThreads, 0, stream>>>(p);
  if (p.partial) sum_chunks<E><<<2 * ceiling(p.n, 32), kThreads, 0, stream>>>(p);
  return launched(index);
}
Failed parameter_gradients(DType d, const SumPlan& p, int index, cudaStream_t stream) {
  return with_floating(d, [&]<class M>() {
    if constexpr (constexpr int V = 16 / sizeof(M); V > 2) {
      const auto all = reinterpret_cast<std::uintptr_t>(p.g) | reinterpret_cast<std::uintptr_t>(p.x) |
                       std::uintptr_t(p.g_pitch | p.x_pitch);
      if (all % 16 == 0 && p.n % V == 0) return launch_sums<M, V>(p, index, stream);
    }
    return launch_sums<M, 1>(p, index, stream);
  });
}

void rows_backward(Context& c, View g, View x, View mean, View rstd, View weight, int first, View gx, View gw, View gb,
                   bool centred) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  RowStaging staging(index, stream);
  RowPlan r{};
  if (Failed f = staging.plan({&g, &x}, first, gx.data, r)) return c.fail(f);
  if (!r.n) return;
  if (gx && r.rows) {
    Affine a;
    if (Failed f = stage_affine(staging, accumulation(x.dtype()), weight, {}, &a)) return c.fail(f);
    const NormStatistics s{mean.data, rstd.data, false, 0};
    if (Failed f = norm_input_gradient(x.dtype(), r, a, s, centred, index, stream)) return c.fail(f);
  }
  if (!gw && !gb) return;
  SumPlan p{r.in[0], r.in[1], mean.data, rstd.data, r.pitch[0], r.pitch[1], r.rows};
  p.n = r.n, p.to = parameters_of(gw, gb);
  c.fail(parameter_gradients(x.dtype(), p, index, stream));
}

}  // namespace

void layer_norm_backward(Context& c, View g, View x, View mean, View rstd, View weight, int first, View gx, View gw,
                         View gb) {
  rows_backward(c, g, x, mean, rstd, weight, first, gx, gw, gb, true);
}
void rms_norm_backward(Context& c, View g, View x, View rstd, View weight, int first, View gx, View gw) {
  rows_backward(c, g, x, {}, rstd, weight, first, gx, gw, {}, false);
}

}  // namespace neura::cuda
