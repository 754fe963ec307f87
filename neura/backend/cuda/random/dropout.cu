// Dropout. Backward draws the same numbers again, from seed and offset: no mask is kept.
#include "neura/backend/kernels/dropout.h"

#include <cmath>

#include "neura/backend/cuda/random/philox.cuh"
#include "neura/backend/cuda/rowwise/rowwise_launch.cuh"

namespace neura::cuda {
namespace {

struct DropoutArguments {
  const char* x;
  char* y;
  std::int64_t numel, group;
  PhiloxDraw draw;
  double scale;
  std::uint32_t limit;  // words >> 8 below it are dropped
  bool packs;
};

// The numbers of V neighbouring elements, which are whole blocks where each element has its own. Number i is word i % 4
// of block i / 4.
template <int V> __device__ void numbers(const DropoutArguments& a, std::int64_t first, std::uint32_t (&to)[V]) {
  PhiloxDraw draw = a.draw;
  draw.begin();
  if (a.group == 1) {
#pragma unroll
    for (int k = 0; k < V; k += 4) {
      const uint4 w = draw.block(std::uint64_t(first + k) / 4);
      to[k] = w.x, to[k + 1] = w.y, to[k + 2] = w.z, to[k + 3] = w.w;
    }
    return;
  }
  std::int64_t i = first / a.group, within = first - i * a.group, block = -1;
  uint4 w{};
#pragma unroll
  for (int k = 0; k < V; ++k) {
    if (i / 4 != block) block = i / 4, w = draw.block(std::uint64_t(block));
    to[k] = i % 4 < 2 ? i % 4 ? w.y : w.x : i % 4 == 2 ? w.z : w.w;
    if (++within == a.group) within = 0, ++i;
  }
}

template <class M> __global__ void __launch_bounds__(kThreads) drop(const __grid_constant__ DropoutArguments a) {
  using E = number_of<M>;
  constexpr int V = sizeof(M) == 2 ? 8 : 4;
  const std::int64_t first = (std::int64_t(blockIdx.x) * kThreads + threadIdx.x) * V;
  if (first >= a.numel) return;
  const bool whole = a.packs && a.numel - first >= V;
  const char* x = a.x + first * std::int64_t(sizeof(M));
  char* y = a.y + first * std::int64_t(sizeof(M));
  E v[V];
  if (whole) {
    load_as<M, V>(v, x, 0);
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k) v[k] = first + k < a.numel ? cast<E>(reinterpret_cast<const M*>(x)[k]) : E(0);
  }
  std::uint32_t words[V];
  numbers(a, first, words);
#pragma unroll
  for (int k = 0; k < V; ++k) v[k] = words[k] >> 8 >= a.limit ? v[k] * E(a.scale) : E(0);
  if (whole) return store_as<M, V>(v, y, 0);
#pragma unroll
  for (int k = 0; k < V; ++k)
    if (first + k < a.numel) reinterpret_cast<M*>(y)[k] = cast<M>(v[k]);
}

void drop_out(Context& c, View x, const DropoutDraw& d, std::int64_t group, View y) {
  if (!x.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  DropoutArguments a{x.data, y.data, x.numel(), group, {d.seed, d.offset, replay_offset(index)}, 0, 0, false};
  a.scale = d.p < 1 ? 1 / (1 - d.p) : 0;
  a.limit = std::uint32_t(std::ceil(d.p * 0x1p24));
  a.packs = (reinterpret_cast<std::uintptr_t>(x.data) | reinterpret_cast<std::uintptr_t>(y.data)) % 16 == 0;
  c.fail(with_floating(x.dtype(), [&]<class M>() {
    constexpr int V = sizeof(M) == 2 ? 8 : 4;
    drop<M><<<ceiling(a.numel, kThreads * V), kThreads, 0, current_stream(index)>>>(a);
    return launched(index);
  }));
}

}  // namespace

const dropout_kernels* dropout() {
  static constexpr dropout_kernels table{.dropout = drop_out};
  return &table;
}

}  // namespace neura::cuda
