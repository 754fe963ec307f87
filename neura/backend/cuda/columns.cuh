// Operations of rows.cuh along a dimension that is not the last, of contiguous tensors [outer, n, inner]: neighbouring
// threads own neighbouring columns, and several share one. A column's number in `inner` is its row.
#pragma once
#include "neura/backend/cuda/row_launch.cuh"

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

template <class Op, class M, int V> __global__ void __launch_bounds__(kThreads)
    columns(const __grid_constant__ Op op, const __grid_constant__ ColumnPlan c) {
  using E = typename Op::E;
  using Stat = typename Op::Stat;
  constexpr int K = 16 / V;
  const std::uint32_t chunk = blockIdx.x % c.chunks, task = blockIdx.x / c.chunks;
  const std::uint32_t lane = threadIdx.x % c.lanes, part = threadIdx.x / c.lanes, parts = kThreads / c.lanes;
  const std::int64_t outer = task / c.tiles, column = (std::int64_t(task % c.tiles) * c.lanes + lane) * V;
  const bool there = column < c.inner;
  const std::uint32_t begin = chunk * c.chunk, end = !there ? 0 : c.n - begin < c.chunk ? c.n : begin + c.chunk;
  const std::int64_t base = outer * c.n * c.inner + column, step = parts * c.inner;
  HeldColumns<M, V, K, Op::inputs> held;
  Stat s[V], mine[V];
#pragma unroll
  for (int j = 0; j < V; ++j) s[j] = op.none();
  Stat* partial = reinterpret_cast<Stat*>(c.partial) + (outer * c.inner + column) * c.chunks;
  if (c.stage == RowPlan::write) {
    for (std::uint32_t i = part; there && i < c.chunks; i += parts)
#pragma unroll
      for (int j = 0; j < V; ++j) s[j] = op.combine(s[j], partial[j * c.chunks + i]);
  } else if (c.stage != RowPlan::given) {
    for (std::uint32_t i = begin + part; i < end; i += K * parts) {
      const std::uint32_t rows = (end - i + parts - 1) / parts;
      held.load(c.in, base + i * c.inner, step, rows, op.fill());
#pragma unroll
      for (int j = 0; j < V; ++j)
        s[j] = op.combine(s[j], op.part(held.column[j], Place{column + j, 0, rows, c.n, 1, 0}));
    }
  }
#pragma unroll
  for (int j = 0; j < V; ++j) mine[j] = s[j];
  join_columns(op, s, c.lanes);
  if (c.stage == RowPlan::read) {
    if (there && part == 0)
#pragma unroll
      for (int j = 0; j < V; ++j) partial[j * c.chunks + chunk] = s[j];
    return;
  }
  if (!there) return;
  typename Op::Final f[V];
#pragma unroll
  for (int j = 0; j < V; ++j) {
    f[j] = op.finish(s[j], mine[j], Place{column + j, 0, 0, c.n, 1, 0});
    if (part == 0 && chunk == 0) op.deliver(column + j, f[j]);
  }
  if (!c.out) return;
  for (std::uint32_t i = begin + part; i < end; i += K * parts) {
    const std::uint32_t rows = (end - i + parts - 1) / parts;
    held.load(c.in, base + i * c.inner, step, rows, op.fill());
#pragma unroll
    for (int k = 0; k < K; ++k) {
      E y[V];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        auto& in = held.column[j];
        op.template map<false>(f[j], column + j, 0, in[0].v[k], in[Op::inputs - 1].v[k]);
        y[j] = in[0].v[k][0];
      }
      if (k < rows) store_as<M, V>(y, c.out + (base + i * c.inner + k * step) * std::int64_t(sizeof(M)), 0);
    }
  }
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
