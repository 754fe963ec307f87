// Gradients of layer_norm and rms_norm. Those of weight and bias are sums over rows: of chunks of them first. Where a
// row fits into the registers of a block they are summed while the input's is computed, so that all is read once.
#include "neura/backend/cuda/norm/norm.cuh"

namespace neura::cuda {

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
template <class E>
__device__ void deliver_chunk(const SumPlan& p, int which, std::uint32_t chunk, std::uint32_t column, E sum) {
  if (p.partial) reinterpret_cast<E*>(p.partial)[(std::size_t(which) * p.chunks + chunk) * p.n + column] = sum;
  else deliver_sum(p, which, column, sum);
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
    for (int j = 0; j < V; ++j) deliver_chunk(p, which, chunk, column + j, sum[which][j]);
  }
}
// A block has kThreads / C chunks under way of C columns, whose sectors are read whole from 8 floats on.
template <class E, int C> __global__ void __launch_bounds__(kThreads) sum_chunks(const __grid_constant__ SumPlan p) {
  const std::uint32_t tiles = (p.n + C - 1) / C, tile = blockIdx.x % tiles, column = tile * C + threadIdx.x % C;
  const int which = int(blockIdx.x / tiles);
  const E* from = reinterpret_cast<const E*>(p.partial) + std::size_t(which) * p.chunks * p.n;
  E sum[1] = {column < p.n ? sum_apart(from + column, p.n, threadIdx.x / C, p.chunks, kThreads / C) : E(0)};
  join_parts(sum, C);
  if (threadIdx.x < C && column < p.n) deliver_sum(p, which, column, sum[0]);
}
template <class E> void add_chunks(const SumPlan& p, cudaStream_t stream) {
  if (!p.partial) return;
  if (p.n >= 32 * kEnough) sum_chunks<E, 32><<<2 * ceiling(p.n, 32), kThreads, 0, stream>>>(p);
  else sum_chunks<E, 8><<<2 * ceiling(p.n, 8), kThreads, 0, stream>>>(p);
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
  add_chunks<E>(p, stream);
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

// All three gradients of rows that a team holds: its threads keep to their columns, whose weights they hold and whose
// sums they carry from row to row. The next row is on its way while one is computed.
template <class M> constexpr int kFused = sizeof(M) == 8 ? 4 : 8;  // elements of a thread, in four arrays
template <class M> constexpr std::uint32_t kResident = sizeof(M) == 8 ? 512 : 640;  // threads that an SM has room for
// Sums of the teams of a block: the first team's threads get them.
template <class E, int K, int V> __device__ void join_teams(E (&s)[K][V], const Team& team, std::uint32_t teams) {
  if (teams == 1) return;
  __shared__ E shared[K * V][128];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < K * V; ++i) shared[i][threadIdx.x] = s[i / V][i % V];
  __syncthreads();
  for (std::uint32_t t = 1; t < teams && threadIdx.x < team.width; ++t)
#pragma unroll
    for (int i = 0; i < K * V; ++i) s[i / V][i % V] += shared[i][t * team.width + threadIdx.x];
}
template <class E, int K, int V> __device__ void deliver_sums(const SumPlan& p, E (&gw)[K][V], E (&gb)[K][V],
                                                              const Place& own, const Team& team, std::uint32_t teams) {
  join_teams(gw, team, teams), join_teams(gb, team, teams);
  if (threadIdx.x >= team.width) return;
#pragma unroll
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int j = 0; j < V; ++j)
      if (const std::uint32_t i = own.at<V>(k) + j; i < own.n)
        deliver_chunk(p, 0, blockIdx.x, i, gw[k][j]), deliver_chunk(p, 1, blockIdx.x, i, gb[k][j]);
}
struct FusedPlan {
  RowPlan rows;
  Affine affine;
  SumPlan sums;  // a chunk for each block
};
// Loads stay in whole registers: unpacking halves at once would wait for them.
template <class M, int V, int K> struct RowOnItsWay {
  using E = number_of<M>;
  using Raw = std::conditional_t<V * sizeof(M) == 16, uint4, PackOf<M, V>>;
  Raw g[K], x[K];
  E mean, rstd;
  __device__ void fetch(const FusedPlan& f, const Place& q) {
    const char *from_g = f.rows.in[0] + q.row * f.rows.pitch[0], *from_x = f.rows.in[1] + q.row * f.rows.pitch[1];
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (const std::uint32_t i = q.at<V>(k); i < q.end) {
        g[k] = *reinterpret_cast<const Raw*>(from_g + i * sizeof(M));
        x[k] = *reinterpret_cast<const Raw*>(from_x + i * sizeof(M));
      }
    mean = f.sums.mean ? static_cast<const E*>(f.sums.mean)[q.row] : E(0);
    rstd = static_cast<const E*>(f.sums.rstd)[q.row];
  }
  __device__ static void unpack(const Raw& from, bool there, E less, E (&to)[V]) {
    const auto& pack = reinterpret_cast<const PackOf<M, V>&>(from);
#pragma unroll
    for (int j = 0; j < V; ++j) to[j] = there ? cast<E>(pack.v[j]) - less : E(0);
  }
};
template <class M, int V, int K> __global__ void __launch_bounds__(kTeam)
    fused_rows(const __grid_constant__ FusedPlan f) {
  using E = number_of<M>;
  struct Dots {
    E g, gx, x;
  };
  const RowPlan& r = f.rows;
  Team team(r.width);
  const std::uint32_t teams = blockDim.x / r.width, mine = threadIdx.x / r.width;
  const auto place = [&](std::int64_t row) {
    return Place{row < r.rows ? row : 0, 0, row < r.rows ? r.n : 0, r.n, r.width, team.lane};
  };
  const Place own{0, 0, r.n, r.n, r.width, team.lane};
  E w[K][V], gw[K][V] = {}, gb[K][V] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (const std::uint32_t i = own.at<V>(k); i < r.n)
      factors(f.affine, f.affine.w, f.affine.w_dtype, 0, i, E(1), w[k]);
  const std::int64_t step = std::int64_t(gridDim.x) * teams;
  const E part = E(1) / E(r.n);
  Place q = place(std::int64_t(blockIdx.x) * teams + mine);
  RowOnItsWay<M, V, K> next;
  next.fetch(f, q);
  for (std::int64_t first = std::int64_t(blockIdx.x) * teams; first < r.rows; first += step) {
    const Place here = q;
    const E s = next.rstd;
    E g[K][V], x[K][V];
    Dots d{E(0), E(0), E(0)};
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const bool there = here.at<V>(k) < here.end;
      next.unpack(next.g[k], there, E(0), g[k]), next.unpack(next.x[k], there, next.mean, x[k]);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const E weighed = there ? g[k][j] * w[k][j] : E(0);
        d.g += weighed, d.gx += weighed * x[k][j], d.x += x[k][j];
      }
    }
    if (first + step < r.rows) q = place(first + step + mine), next.fetch(f, q);
    d = team.all(d, [](Dots a, Dots b) { return Dots{a.g + b.g, a.gx + b.gx, a.x + b.x}; });
    const E rest = f.sums.mean ? d.x * part : E(0);  // the saved mean was rounded
    const E c1 = f.sums.mean ? d.g * part : E(0), c2 = (d.gx - rest * d.g) * part * s * s;
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (const std::uint32_t i = here.at<V>(k); i < here.end) {
#pragma unroll
        for (int j = 0; j < V; ++j) {
          const E distance = x[k][j] - rest;
          gw[k][j] += g[k][j] * (distance * s), gb[k][j] += g[k][j];
          g[k][j] = s * (g[k][j] * w[k][j] - c1 - distance * c2);
        }
        store_as<M, V>(g[k], r.out + here.row * r.out_pitch, i);
      }
  }
  deliver_sums(f.sums, gw, gb, own, team, teams);
}

template <class M, int V> bool fits_fused(std::uint32_t n) { return ceiling(n, V) <= kTeam * kFused<M> / V; }
template <class M, int V> Failed launch_fused(FusedPlan f, int index, cudaStream_t stream) {
  using E = number_of<M>;
  constexpr int K = kFused<M> / V;
  RowPlan& r = f.rows;
  SumPlan& p = f.sums;
  const std::uint32_t lanes = ceiling(ceiling(r.n, V), K);
  r.width = lanes <= 32 ? power_from(lanes) : ceiling(lanes, 32) * 32;
  const std::uint32_t threads = r.width > 32 ? r.width : 128, teams = threads / r.width;
  p.chunks = std::min(ceiling(ceiling(r.rows, teams), 2), 132 * std::max(1u, kResident<M> / threads));
  Scratch scratch(index, stream);
  if (p.chunks > 1)
    if (Failed e = scratch.take(2 * std::size_t(p.chunks) * p.n * sizeof(E), &p.partial)) return e;
  fused_rows<M, V, K><<<p.chunks, threads, 0, stream>>>(f);
  add_chunks<E>(p, stream);
  return launched(index);
}
// Not `done` where rows are too long.
Failed fused_gradients(DType d, const FusedPlan& f, bool* done, int index, cudaStream_t stream) {
  return with_floating(d, [&]<class M>() -> Failed {
    const RowPlan& r = f.rows;
    if constexpr (constexpr int V = 16 / sizeof(M); V > 2) {
      auto all = reinterpret_cast<std::uintptr_t>(r.in[0]) | reinterpret_cast<std::uintptr_t>(r.in[1]) |
                 reinterpret_cast<std::uintptr_t>(r.out) | std::uintptr_t(r.pitch[0] | r.pitch[1]);
      if (all % 16 == 0 && r.n % V == 0 && allows_packs(f.affine, V) && fits_fused<M, V>(r.n)) {
        *done = true;
        return launch_fused<M, V>(f, index, stream);
      }
    }
    if (!fits_fused<M, 1>(r.n)) return nullptr;
    *done = true;
    return launch_fused<M, 1>(f, index, stream);
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
  SumPlan p{r.in[0], r.in[1], mean.data, rstd.data, r.pitch[0], r.pitch[1], r.rows};
  p.n = r.n, p.to = parameters_of(gw, gb);
  if (gx && r.rows) {
    Affine a;
    if (Failed f = stage_affine(staging, accumulation(x.dtype()), weight, {}, &a)) return c.fail(f);
    bool done = false;
    if (gw || gb)
      if (Failed f = fused_gradients(x.dtype(), {r, a, p}, &done, index, stream)) return c.fail(f);
    if (done) return;
    const NormStatistics s{mean.data, rstd.data, false, 0};
    if (Failed f = norm_input_gradient(x.dtype(), r, a, s, centred, index, stream)) return c.fail(f);
  }
  if (gw || gb) c.fail(parameter_gradients(x.dtype(), p, index, stream));
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
