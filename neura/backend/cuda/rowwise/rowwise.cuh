// Operations on rows: what the elements of a row have in common is found first, then each is written from it. A row is
// held in registers by lanes of a warp or by a block; a longer one is read twice, by one block or by several.
//
// An operation is a struct that its kernel gets by value, with
//   E, inputs, Stat, Final   the number it computes in; one or two operands; what is combined; what it comes to
//   part(in, place)          Stat of the elements that this thread holds; it may change them, for `map` with `held`
//   combine(Stat, Stat)      in a tree that depends on sizes alone
//   finish(all, mine, place) Final of the row's Stat and of this thread's own
//   deliver(row, Final)      by one thread of the row
//   map<held>(Final, row, i, a, b)  a, elements of the first operand from i on, become those of the result
//   given()                  Final needs no Stat: a long row is read once
//   segmented                rows are made of pieces that are not contiguous
//   lead, join, follow, settle  where a row is held, for operations that have them: what all must know before the rest
//                            is taken, Final of that and of a sum. Two short trees instead of one of long steps
#pragma once
#include "neura/backend/cuda/pointwise/floating.cuh"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/rowwise/rowwise.h"

namespace neura::cuda {

template <class E> constexpr int kHeld = sizeof(E) == 8 ? 16 : 32;  // elements of a thread, at most
constexpr std::uint32_t kTeam = 512;                                // threads of a row, at most

template <class T> __device__ T from_lane(T a, int step) {  // of the lane whose number differs in that bit
  constexpr int words = int(sizeof(T) / 4);
  union Bits {
    T value;
    unsigned word[words];
    __device__ Bits() {}
  } mine, other;
  mine.value = a;
#pragma unroll
  for (int w = 0; w < words; ++w) other.word[w] = __shfl_xor_sync(~0u, mine.word[w], step);
  return other.value;
}

// The threads that share a row: 2^k lanes of a warp, or a whole block.
struct Team {
  std::uint32_t width, lane, round = 0;
  __device__ explicit Team(std::uint32_t w) : width(w), lane(threadIdx.x % w) {}
  // What all have, combined. Every thread of the block calls it.
  template <class T, class F> __device__ T all(T a, const F& combine) {
    if (width < 32) {
      for (int step = int(width) / 2; step; step /= 2) a = combine(a, from_lane(a, step));
      return a;
    }
#pragma unroll
    for (int step = 16; step; step /= 2) a = combine(a, from_lane(a, step));
    if (width == 32) return a;
    __shared__ alignas(16) char room[2][kTeam / 32 * sizeof(T)];  // in turn: one barrier a call is enough
    T* shared = reinterpret_cast<T*>(room[round++ % 2]);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = a;
    __syncthreads();
    a = shared[0];
    for (std::uint32_t w = 1; w < width / 32; ++w) a = combine(a, shared[w]);
    return a;
  }
};

struct Place {  // of the elements that a team holds: pack k of a lane begins at base + (k * width + lane) * V
  std::int64_t row;
  std::uint32_t base, end, n, width, lane;  // those at `end` and beyond are not there; n: of the whole row
  template <int V> __device__ std::uint32_t at(int k) const { return base + (std::uint32_t(k) * width + lane) * V; }
};

// Bytes from the beginning of a row to its element i.
template <class Op, class M> __device__ std::int64_t offset_of(const RowPlan& r, std::uint32_t i) {
  if constexpr (Op::segmented) {
    const std::uint32_t q = quotient(i, r.segment);
    return q * r.segment_pitch + std::int64_t(i - q * r.segment.divisor) * std::int64_t(sizeof(M));
  } else {
    return std::int64_t(i) * std::int64_t(sizeof(M));
  }
}

template <class M, int V, int K> struct Held {
  using E = number_of<M>;
  static constexpr int packs = K, pack = V;
  E v[K][V];
  template <class Op> __device__ void load(const RowPlan& r, const char* row, const Place& p, E fill) {
    PackOf<M, V> raw[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (const std::uint32_t i = p.at<V>(k); i < p.end)
        raw[k] = *reinterpret_cast<const PackOf<M, V>*>(row + offset_of<Op, M>(r, i));
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int j = 0; j < V; ++j) v[k][j] = p.at<V>(k) < p.end ? cast<E>(raw[k].v[j]) : fill;
  }
};

template <bool held, class Op, class M, int V, int K>
__device__ void write_row(const Op& op, Held<M, V, K> (&in)[Op::inputs], const typename Op::Final& f, const Place& p,
                          const RowPlan& r) {
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (const std::uint32_t i = p.at<V>(k); i < p.end) {
      op.template map<held>(f, p.row, i, in[0].v[k], in[Op::inputs - 1].v[k]);
      store_as<M, V>(in[0].v[k], r.out + p.row * r.out_pitch + offset_of<Op, M>(r, i), 0);
    }
}
template <class Op, class M, int V, int K>
__device__ void read_row(const Op& op, Held<M, V, K> (&in)[Op::inputs], const RowPlan& r, const Place& p) {
#pragma unroll
  for (int o = 0; o < Op::inputs; ++o) in[o].template load<Op>(r, r.in[o] + p.row * r.pitch[o], p, op.fill());
}

template <class Op> constexpr bool kTwoRounds = requires { &Op::settle; };
template <class Op, class H>
__device__ typename Op::Final final_of(const Op& op, H (&in)[Op::inputs], Team& team, const Place& p) {
  if constexpr (kTwoRounds<Op>) {
    const auto first = team.all(op.lead(in), [&](auto a, auto b) { return op.join(a, b); });
    return op.settle(first, team.all(op.follow(in, p, first), [](auto a, auto b) { return a + b; }), p);
  } else {
    const auto mine = op.part(in, p);
    return op.finish(team.all(mine, [&](auto a, auto b) { return op.combine(a, b); }), mine, p);
  }
}
// As many rows at once as hide the memory's latency; rows of single elements need their registers.
template <class Op, int V, int K> constexpr int kRegisters = V == 1 ? 128 : !kTwoRounds<Op> ? 80 : V * K > 16 ? 64 : 48;
template <class Op, class M, int V, int K> __global__ void __maxnreg__((kRegisters<Op, V, K>))
    held_rows(const __grid_constant__ Op op, const __grid_constant__ RowPlan r) {
  Team team(r.width);
  const std::int64_t row = std::int64_t(blockIdx.x) * (blockDim.x / r.width) + threadIdx.x / r.width;
  const bool there = row < r.rows;
  const Place p{there ? row : 0, 0, there ? r.n : 0, r.n, r.width, team.lane};
  Held<M, V, K> in[Op::inputs];
  read_row(op, in, r, p);
  const auto f = final_of(op, in, team, p);
  if (!there) return;
  if (team.lane == 0) op.deliver(row, f);
  if (r.out) write_row<true>(op, in, f, p, r);
}

// What the block of a long row, or of a chunk of it, has in common.
template <class Op, class M, int V, int K>
__device__ typename Op::Stat read_chunk(const Op& op, Held<M, V, K> (&in)[Op::inputs], const RowPlan& r, Place p) {
  typename Op::Stat s = op.none();
  for (; p.base < p.end; p.base += kTeam * V * K) {
    read_row(op, in, r, p);
    s = op.combine(s, op.part(in, p));
  }
  return s;
}
template <class Op, class M, int V, int K> __global__ void __launch_bounds__(kTeam)
    long_rows(const __grid_constant__ Op op, const __grid_constant__ RowPlan r) {
  using Stat = typename Op::Stat;
  const auto combine = [&](Stat a, Stat b) { return op.combine(a, b); };
  Team team(kTeam);
  // What was read last may still be in the cache: it is written first.
  const std::uint32_t task = r.stage == RowPlan::write ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const std::int64_t row = task / r.chunks;
  const std::uint32_t chunk = task % r.chunks, begin = chunk * r.chunk;
  const std::uint32_t end = r.n - begin < r.chunk ? r.n : begin + r.chunk;
  Place p{row, begin, end, r.n, kTeam, team.lane};
  Held<M, V, K> in[Op::inputs];
  Stat mine = op.none();
  Stat* partial = reinterpret_cast<Stat*>(r.partial) + row * r.chunks;
  if (r.stage == RowPlan::both || r.stage == RowPlan::read) mine = read_chunk(op, in, r, p);
  else if (r.stage == RowPlan::write)
    for (std::uint32_t c = team.lane; c < r.chunks; c += kTeam) mine = combine(mine, partial[c]);
  const Stat all = team.all(mine, combine);
  if (r.stage == RowPlan::read) {
    if (team.lane == 0) partial[chunk] = all;
    return;
  }
  const auto f = op.finish(all, mine, p);
  if (team.lane == 0 && chunk == 0) op.deliver(row, f);
  if (!r.out) return;
  constexpr std::uint32_t tile = kTeam * V * K;
  for (std::uint32_t t = (end - begin + tile - 1) / tile; t-- > 0;) {
    p.base = begin + t * tile;
    read_row(op, in, r, p);
    write_row<false>(op, in, f, p, r);
  }
}

}  // namespace neura::cuda
