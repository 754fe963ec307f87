// Operations of rowwise.cuh along a dimension that is not the last, of contiguous tensors [outer, n, inner]:
// neighbouring threads own neighbouring columns, and several share one. A column's number in `inner` is its row.
#pragma once
#include "neura/backend/cuda/rowwise/rowwise_launch.cuh"

namespace neura::cuda {

struct ColumnSizes {
  std::int64_t outer, n, inner;
};
struct ColumnPlan {
  const char* in[2];
  char* out;
  std::int64_t inner;
  std::uint32_t n, lanes, tiles;  // lanes of a block along columns: a power of two
  std::uint32_t chunk, chunks;    // of n, where several blocks share a column
  RowPlan::Stage stage;
  char* partial;  // [outer, inner, chunks]
};

// K rows, `step` apart, of V columns: each column's elements as a row that this thread alone holds.
template <class M, int V, int K, int inputs> struct HeldColumns {
  Held<M, 1, K> column[V][inputs];
  template <class E>
  __device__ void load(const char* const (&in)[2], std::int64_t at, std::int64_t step, std::uint32_t rows, E fill) {
    PackOf<M, V> raw[inputs][K];
#pragma unroll
    for (int o = 0; o < inputs; ++o)
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (k < rows)
          raw[o][k] = *reinterpret_cast<const PackOf<M, V>*>(in[o] + (at + k * step) * std::int64_t(sizeof(M)));
#pragma unroll
    for (int o = 0; o < inputs; ++o)
#pragma unroll
      for (int k = 0; k < K; ++k)
#pragma unroll
        for (int j = 0; j < V; ++j) column[j][o].v[k][0] = k < rows ? cast<E>(raw[o][k].v[j]) : fill;
  }
};

// What the threads of a column have, combined; all of them get it.
template <class Op, int V> __device__ void join_columns(const Op& op, typename Op::Stat (&s)[V], std::uint32_t lanes) {
  using Stat = typename Op::Stat;
  __shared__ alignas(16) char room[kThreads * V * sizeof(Stat)];
  Stat* shared = reinterpret_cast<Stat*>(room);
  const std::uint32_t lane = threadIdx.x % lanes;
#pragma unroll
  for (int j = 0; j < V; ++j) shared[j * kThreads + threadIdx.x] = s[j];
  __syncthreads();
  if (threadIdx.x < lanes) {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      for (std::uint32_t t = lane + lanes; t < kThreads; t += lanes) s[j] = op.combine(s[j], shared[j * kThreads + t]);
      shared[j * kThreads + lane] = s[j];
    }
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < V; ++j) s[j] = shared[j * kThreads + lane];
}

struct ColumnPlace {  // of a thread: V columns from `column` on, rows from `first` on below `end`, `parts` apart
  std::int64_t column, base, line;  // elements before row 0; lines before the first column
  std::uint32_t chunk, part, parts, first, end;
  bool there;
};
template <int V> __device__ ColumnPlace place_of(const ColumnPlan& c) {
  const std::uint32_t chunk = blockIdx.x % c.chunks, task = blockIdx.x / c.chunks, begin = chunk * c.chunk;
  const std::uint32_t part = threadIdx.x / c.lanes, end = c.n - begin < c.chunk ? c.n : begin + c.chunk;
  const std::int64_t column = (std::int64_t(task % c.tiles) * c.lanes + threadIdx.x % c.lanes) * V;
  const bool there = column < c.inner;
  const std::int64_t outer = task / c.tiles;
  return {column,
          outer * c.n * c.inner + column,
          outer * c.inner + column,
          chunk,
          part,
          kThreads / c.lanes,
          begin + part,
          there ? end : 0,
          there};
}

// What this thread has read of its columns.
template <class Op, class M, int V, int K>
__device__ void read_columns(const Op& op, const ColumnPlan& c, const ColumnPlace& p,
                             HeldColumns<M, V, K, Op::inputs>& held, const typename Op::Stat* partial,
                             typename Op::Stat (&s)[V]) {
#pragma unroll
  for (int j = 0; j < V; ++j) s[j] = op.none();
  if (c.stage == RowPlan::write) {
    for (std::uint32_t i = p.part; p.there && i < c.chunks; i += p.parts)
#pragma unroll
      for (int j = 0; j < V; ++j) s[j] = op.combine(s[j], partial[j * c.chunks + i]);
  } else if (c.stage != RowPlan::given) {
    for (std::uint32_t i = p.first; i < p.end; i += K * p.parts) {
      const std::uint32_t rows = (p.end - i + p.parts - 1) / p.parts;
      held.load(c.in, p.base + i * c.inner, p.parts * c.inner, rows, op.fill());
#pragma unroll
      for (int j = 0; j < V; ++j)
        s[j] = op.combine(s[j], op.part(held.column[j], Place{p.column + j, 0, rows, c.n, 1, 0}));
    }
  }
}
template <class Op, class M, int V, int K>
__device__ void write_columns(const Op& op, const ColumnPlan& c, const ColumnPlace& p,
                              HeldColumns<M, V, K, Op::inputs>& held, const typename Op::Final (&f)[V]) {
  for (std::uint32_t i = p.first; i < p.end; i += K * p.parts) {
    const std::uint32_t rows = (p.end - i + p.parts - 1) / p.parts;
    const std::int64_t at = p.base + i * c.inner, step = p.parts * c.inner;
    held.load(c.in, at, step, rows, op.fill());
#pragma unroll
    for (int k = 0; k < K; ++k) {
      typename Op::E y[V];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        auto& in = held.column[j];
        op.template map<false>(f[j], p.column + j, 0, in[0].v[k], in[Op::inputs - 1].v[k]);
        y[j] = in[0].v[k][0];
      }
      if (k < rows) store_as<M, V>(y, c.out + (at + k * step) * std::int64_t(sizeof(M)), 0);
    }
  }
}

template <class Op, class M, int V> __global__ void __launch_bounds__(kThreads)
    columns(const __grid_constant__ Op op, const __grid_constant__ ColumnPlan c) {
  using Stat = typename Op::Stat;
  const ColumnPlace p = place_of<V>(c);
  HeldColumns<M, V, 16 / V, Op::inputs> held;
  Stat* partial = reinterpret_cast<Stat*>(c.partial) + p.line * c.chunks;
  Stat s[V], mine[V];
  read_columns(op, c, p, held, partial, s);
#pragma unroll
  for (int j = 0; j < V; ++j) mine[j] = s[j];
  join_columns(op, s, c.lanes);
  if (!p.there) return;
  if (c.stage == RowPlan::read) {
    if (p.part == 0)
#pragma unroll
      for (int j = 0; j < V; ++j) partial[j * c.chunks + p.chunk] = s[j];
    return;
  }
  typename Op::Final f[V];
#pragma unroll
  for (int j = 0; j < V; ++j) {
    f[j] = op.finish(s[j], mine[j], Place{p.column + j, 0, 0, c.n, 1, 0});
    if (p.part == 0 && p.chunk == 0) op.deliver(p.column + j, f[j]);
  }
  if (c.out) write_columns(op, c, p, held, f);
}

template <class Op, class M, int V>
Failed launch_columns(const Op& op, ColumnPlan c, std::int64_t outer, int index, cudaStream_t stream) {
  const std::int64_t packs = (c.inner + V - 1) / V;
  c.lanes = packs < 32 ? power_from(std::uint32_t(packs)) : 32;
  if (outer * packs >> 31) return fail(DeviceFailure::absent, "expected fewer than 2^31 lines on cuda, got more");
  c.tiles = ceiling(packs, c.lanes);
  const auto tasks = std::uint32_t(outer * c.tiles);
  c.chunks = 1;
  if (tasks < kEnough) c.chunks = std::max(1u, std::min(ceiling(kEnough, tasks), c.n / (kThreads / c.lanes * 32)));
  c.chunk = ceiling(c.n, c.chunks), c.chunks = ceiling(c.n, c.chunk);
  Scratch scratch(index, stream);
  c.stage = op.given() ? RowPlan::given : RowPlan::both;
  if (c.chunks > 1 && !op.given()) {
    const auto stats = std::size_t(outer * c.inner * c.chunks);
    if (Failed f = scratch.take(stats * sizeof(typename Op::Stat), &c.partial)) return f;
    c.stage = RowPlan::read;
    columns<Op, M, V><<<tasks * c.chunks, kThreads, 0, stream>>>(op, c);
    c.stage = RowPlan::write;
  }
  columns<Op, M, V><<<tasks * c.chunks, kThreads, 0, stream>>>(op, c);
  return launched(index);
}

template <class Op, class M>
Failed run_columns(const Op& op, ColumnPlan c, const ColumnSizes& s, int index, cudaStream_t stream) {
  if (s.n >> 31) return fail(DeviceFailure::absent, "expected lines of fewer than 2^31 elements on cuda, got more");
  c.inner = s.inner, c.n = std::uint32_t(s.n);
  if constexpr (constexpr int V = 16 / sizeof(M); V > 2) {
    bool packs = s.inner % V == 0 && reinterpret_cast<std::uintptr_t>(c.out) % 16 == 0;
    for (int o = 0; o < Op::inputs; ++o) packs = packs && reinterpret_cast<std::uintptr_t>(c.in[o]) % 16 == 0;
    if (packs) return launch_columns<Op, M, V>(op, c, s.outer, index, stream);
  }
  return launch_columns<Op, M, 1>(op, c, s.outer, index, stream);
}

}  // namespace neura::cuda
