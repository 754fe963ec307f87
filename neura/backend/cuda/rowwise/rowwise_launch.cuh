// Launches of operations on rows (rowwise.cuh): how many threads a row gets, and of what width their accesses are.
#pragma once
#include <algorithm>

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/pointwise/floating.cuh"
#include "neura/backend/cuda/rowwise/rowwise.cuh"

namespace neura::cuda {

constexpr std::uint32_t kEnough = 132 * 2;  // blocks that keep a large device busy

inline std::uint32_t ceiling(std::int64_t a, std::int64_t b) { return std::uint32_t((a + b - 1) / b); }
inline std::uint32_t power_from(std::uint32_t n) {  // the least power of two that is not below n
  std::uint32_t p = 1;
  while (p < n) p *= 2;
  return p;
}

// A row is cut where there are few, or where the cache would not keep it for the second reading anyway.
inline std::uint32_t chunks_of(const RowPlan& r, int size) {
  constexpr std::int64_t least = 1 << 13, most = 1 << 18, alone = 1 << 20, kept = 1 << 17;
  const bool few = r.rows < kEnough / 2 || (r.rows < 4 * kEnough && std::int64_t(r.n) * size > kept);
  if (!few && r.n <= alone && r.stage != RowPlan::given) return 1;
  return std::max(ceiling(r.n, most), std::min(ceiling(4 * kEnough, r.rows), ceiling(r.n, least)));
}
template <class Op, class M, int V> Failed launch_long(const Op& op, RowPlan r, int index, cudaStream_t stream) {
  constexpr int K = kHeld<typename Op::E> / 2 / V;
  r.stage = op.given() ? RowPlan::given : RowPlan::both;
  r.chunks = chunks_of(r, sizeof(M));
  r.chunk = ceiling(ceiling(r.n, r.chunks), V) * V;
  r.chunks = ceiling(r.n, r.chunk);
  Scratch scratch(index, stream);
  const auto blocks = std::uint32_t(r.rows * r.chunks);
  if (r.chunks > 1 && !op.given()) {
    if (Failed f = scratch.take(blocks * sizeof(typename Op::Stat), &r.partial)) return f;
    r.stage = RowPlan::read;
    long_rows<Op, M, V, K><<<blocks, kTeam, 0, stream>>>(op, r);
    r.stage = RowPlan::write;
  }
  long_rows<Op, M, V, K><<<blocks, kTeam, 0, stream>>>(op, r);
  return launched(index);
}

// Lanes hold few packs where that lets several rows be under way: 4 packs of 16 bytes were fastest up to 1,024 of them
// (an H200; 0.95 to 1.00 of the copy), where what is combined is small.
template <class Op, int V> constexpr int kPacks = std::max(1, kHeld<typename Op::E> / Op::inputs / V);
template <class Op, class M, int V> Failed launch_held(const Op& op, RowPlan r, int index, cudaStream_t stream) {
  constexpr bool quick = kTwoRounds<Op> && V > 1;
  constexpr int large = kPacks<Op, V>, small = quick ? 4 : std::max(1, kHeld<typename Op::E> / Op::inputs / 4 / V);
  const std::uint32_t packs = ceiling(r.n, V);
  const bool few = packs <= (quick ? 256 : 32) * small;
  const std::uint32_t lanes = ceiling(packs, few ? small : large);
  r.width = lanes <= 32 ? power_from(lanes) : ceiling(lanes, 32) * 32;
  std::uint32_t threads = r.width;
  if (threads < 128) threads = r.rows * r.width < 128 * kEnough ? std::max(32u, r.width) : 128;
  if (r.width > 32) threads = r.width;
  const std::uint32_t blocks = ceiling(r.rows, threads / r.width);
  if (few) held_rows<Op, M, V, small><<<blocks, threads, 0, stream>>>(op, r);
  else held_rows<Op, M, V, large><<<blocks, threads, 0, stream>>>(op, r);
  return launched(index);
}
template <class Op, int V> bool is_held(const RowPlan& r) { return ceiling(r.n, V) <= kTeam * kPacks<Op, V>; }
template <class Op, class M, int V> Failed launch_rows(const Op& op, const RowPlan& r, int index, cudaStream_t stream) {
  if (!is_held<Op, V>(r)) return launch_long<Op, M, V>(op, r, index, stream);
  return launch_held<Op, M, V>(op, r, index, stream);
}

// May 16 bytes at a time be read and written?
template <class Op, class M> bool in_packs(const RowPlan& r) {
  bool packs = (Op::segmented ? r.segment.divisor : r.n) % (16 / sizeof(M)) == 0;
  packs = packs && reinterpret_cast<std::uintptr_t>(r.out) % 16 == 0;
  for (int o = 0; o < Op::inputs; ++o)
    packs = packs && reinterpret_cast<std::uintptr_t>(r.in[o]) % 16 == 0 && (r.pitch[o] % 16 == 0 || r.rows == 1);
  return packs;
}
// packs: the same, for all that the operation knows
template <class Op, class M>
Failed run_rows(const Op& op, const RowPlan& r, bool packs, int index, cudaStream_t stream) {
  if constexpr (constexpr int V = 16 / sizeof(M); V > 2)
    if (packs && in_packs<Op, M>(r)) return launch_rows<Op, M, V>(op, r, index, stream);
  return launch_rows<Op, M, 1>(op, r, index, stream);
}

}  // namespace neura::cuda
