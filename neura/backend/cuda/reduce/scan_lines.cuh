// The kernels of scans, and how lines are shared among them.
#pragma once
#include <algorithm>

#include "neura/backend/cuda/reduce/scan.cuh"
#include "neura/backend/cuda/runtime/scratch.h"

namespace neura::cuda {

template <class Op, int W, bool parts_only> __global__ void __launch_bounds__(kThreads)
    rows_kernel(const __grid_constant__ Lines l, typename Op::State* parts) {
  using T = typename Op::T;
  constexpr int K = kItems<Op>;
  const std::int64_t item = std::int64_t(blockIdx.x) * (kThreads / W) + threadIdx.x / W;
  if (item >= l.outer * l.segments) return;
  const std::int64_t line = item / l.segments, segment = item - line * l.segments, begin = segment * l.segment;
  const std::int64_t end = ::min(l.n, begin + l.segment);
  const auto place = [&](std::int64_t k) { return line * l.n + (l.reverse ? l.n - 1 - k : k); };
  typename Op::State carry;
  const bool has = !parts_only && segment > 0;
  if (has) carry = parts[item - 1];
  const auto load = [&](std::int64_t first, int count, typename Op::State(&v)[K]) {
    if constexpr (requires { Op::of(l, T(), first); })
      if (l.packs && count == K) {
        const auto pack = *reinterpret_cast<const PackOf<T, K>*>(l.a + place(l.reverse ? first + K - 1 : first) *
                                                                           std::int64_t(sizeof(T)));
#pragma unroll
        for (int k = 0; k < K; ++k) v[k] = Op::of(l, l.reverse ? pack.v[K - 1 - k] : pack.v[k], first + k);
        return;
      }
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (k < count) v[k] = Op::load(l, place(first + k), first + k);
  };
  const auto store = [&](std::int64_t first, int count, const typename Op::State(&v)[K]) {
    if constexpr (!parts_only) {
      if constexpr (requires { Op::result(v[0]); })
        if (l.packs && count == K) {
          PackOf<T, K> pack;
#pragma unroll
          for (int k = 0; k < K; ++k) pack.v[k] = Op::result(l.reverse ? v[K - 1 - k] : v[k]);
          *reinterpret_cast<PackOf<T, K>*>(l.y + place(l.reverse ? first + K - 1 : first) * std::int64_t(sizeof(T))) =
              pack;
          return;
        }
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (k < count) Op::store(l, place(first + k), v[k]);
    }
  };
  scan_group<Op, W>(l, begin, end, carry, has, load, store);
  if (parts_only && threadIdx.x % W == 0) parts[item] = carry;
}
// Each line of parts [outer, segments, inner] becomes its running combination.
template <class Op, int W> __global__ void __launch_bounds__(kThreads)
    parts_kernel(const __grid_constant__ Lines l, typename Op::State* parts) {
  using S = typename Op::State;
  constexpr int K = kItems<Op>;
  const std::int64_t line = std::int64_t(blockIdx.x) * (kThreads / W) + threadIdx.x / W;
  if (line >= l.outer * l.inner) return;
  S* const base = parts + line / l.inner * l.segments * l.inner + line % l.inner;
  const auto load = [&](std::int64_t first, int count, S(&v)[K]) {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (k < count) v[k] = base[(first + k) * l.inner];
  };
  const auto store = [&](std::int64_t first, int count, const S(&v)[K]) {
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (k < count) base[(first + k) * l.inner] = v[k];
  };
  S carry;
  scan_group<Op, W>(l, 0, l.segments, carry, false, load, store);
}

// A thread for each line, or segment of one; neighbours side by side, or so short that a cache line has them whole.
template <class Op, bool parts_only> __global__ void __launch_bounds__(kThreads)
    columns_kernel(const __grid_constant__ Lines l, typename Op::State* parts) {
  using S = typename Op::State;
  constexpr int K = kItems<Op>;
  const std::int64_t i = std::int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= l.outer * l.segments * l.inner) return;
  const std::int64_t row = i / l.inner, column = i - row * l.inner, line = row / l.segments,
                     segment = row - line * l.segments;
  const std::int64_t begin = segment * l.segment, end = ::min(l.n, begin + l.segment);
  const auto place = [&](std::int64_t k) { return (line * l.n + (l.reverse ? l.n - 1 - k : k)) * l.inner + column; };
  S carry;
  bool has = !parts_only && segment > 0;
  if (has) carry = parts[i - l.inner];
  for (std::int64_t first = begin; first < end; first += K) {
    S v[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (first + k < end) v[k] = Op::load(l, place(first + k), first + k);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (first + k >= end) break;
      carry = has ? Op::combine(l, carry, v[k]) : v[k], has = true;
      if (!parts_only) Op::store(l, place(first + k), carry);
    }
  }
  if (parts_only) parts[i] = carry;
}

// Few long lines are cut until there are enough groups, or threads, for the device.
template <class Op> void cut(Lines& l) {
  constexpr std::int64_t tile = kThreads * kItems<Op>;
  const std::int64_t lines = l.outer * l.inner, wanted = l.inner == 1 ? 2048 : 1 << 17;
  const std::int64_t least = l.inner == 1 ? 2 * tile : 32;
  std::int64_t segments = std::min(wanted / lines, l.n / least);
  if (segments < 2) return;
  l.segment = (l.n - 1) / segments + 1;
  if (l.inner == 1) l.segment = (l.segment + tile - 1) / tile * tile;
  l.segments = (l.n - 1) / l.segment + 1;
}
template <class Op, bool parts_only> void pass(const Lines& l, typename Op::State* parts, cudaStream_t stream) {
  const std::int64_t groups = l.outer * l.segments;
  if (l.inner > 1 || l.n <= 16)
    columns_kernel<Op, parts_only><<<blocks_for(groups * l.inner, kThreads), kThreads, 0, stream>>>(l, parts);
  else if (l.segment <= 1024 || groups >= 4096)
    rows_kernel<Op, 32, parts_only><<<blocks_for(groups, kThreads / 32), kThreads, 0, stream>>>(l, parts);
  else rows_kernel<Op, kThreads, parts_only><<<unsigned(groups), kThreads, 0, stream>>>(l, parts);
}
template <class Op> void scan_lines(Context& c, Lines& l) {
  if (l.outer * l.n * l.inner == 0) return;
  const OnDevice on(c.device.index);
  const cudaStream_t stream = current_stream(c.device.index);
  Scratch scratch(c.device.index, stream);
  using S = typename Op::State;
  S* parts = nullptr;
  cut<Op>(l);
  const auto addresses = reinterpret_cast<std::uintptr_t>(l.a) | reinterpret_cast<std::uintptr_t>(l.y);
  l.packs = l.n % kItems<Op> == 0 && addresses % 16 == 0;
  if (l.segments > 1) {
    const std::int64_t lines = l.outer * l.inner;
    if (Failed f = scratch.take(std::size_t(lines * l.segments) * sizeof(S), &parts)) return c.fail(f);
    pass<Op, true>(l, parts, stream);
    if (l.segments <= 256 || lines >= 4096)
      parts_kernel<Op, 32><<<blocks_for(lines, kThreads / 32), kThreads, 0, stream>>>(l, parts);
    else parts_kernel<Op, kThreads><<<unsigned(lines), kThreads, 0, stream>>>(l, parts);
  }
  pass<Op, false>(l, parts, stream);
  c.fail(launched(c.device.index));
}

void recurrence(Context&, int dim, bool reverse, View a, View b, View y);  // kernels/scan.h
void logcumsumexp(Context&, int dim, View x, View y);

}  // namespace neura::cuda
