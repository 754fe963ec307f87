// The largest or smallest element along a dimension, and its index: a block for each result.
#include "neura/backend/backend.h"
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/reduce/reduce.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {
namespace {

constexpr DTypeSet ordered = bit(DType::float32) | bit(DType::float64) | dtypes::integers | dtypes::booleans;

// A result's largest or smallest element and the index of the first of them; NaN is beyond all.
template <class N> struct Found {
  N value;
  std::uint32_t at;
};
template <bool largest, class N> __device__ Found<N> better(Found<N> a, Found<N> b) {
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return a_nan ? a : b;
  const bool equal = a_nan || a.value == b.value;
  if (equal) return a.at <= b.at ? a : b;
  return (largest ? a.value > b.value : a.value < b.value) ? a : b;
}
template <class T, int n> struct alignas(16) Room { char bytes[n * sizeof(T)]; };  // for what has a constructor
// The best of a block's threads is its result.
template <bool largest, class N, int n> __device__ void finish_search(Found<N> best, Room<Found<N>, n>& room,
                                                                      char* values, DType values_dtype,
                                                                      std::int64_t* indices, int bytes) {
  best = across_warp(best, [](Found<N> a, Found<N> b) { return better<largest>(a, b); });
  auto* shared = reinterpret_cast<Found<N>*>(room.bytes);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = best;
  __syncthreads();
  if (threadIdx.x) return;
  for (int w = 1; w < n; ++w) best = better<largest>(best, shared[w]);
  if (values) store_one(values + std::size_t(blockIdx.x) * bytes, values_dtype, memory_from(best.value));
  if (indices) indices[blockIdx.x] = best.at;
}
template <bool largest, class N> __global__ void __launch_bounds__(kThreads)
    find(const char* x, DType dtype, std::uint32_t outputs, std::uint32_t count, std::uint32_t inner, char* values,
         DType values_dtype, std::int64_t* indices, int bytes) {
  __shared__ Room<Found<N>, kThreads / 32> room;
  const std::uint32_t o = blockIdx.x, outer = o / inner, column = o % inner;
  const auto load = [&](std::uint32_t i) {
    return number_from<N>(
        load_one<memory_of<N>>(x + ((std::size_t(outer) * count + i) * inner + column) * bytes, dtype));
  };
  Found<N> best{load(threadIdx.x < count ? threadIdx.x : 0), threadIdx.x < count ? threadIdx.x : 0};
  for (std::uint32_t i = threadIdx.x + kThreads; i < count; i += kThreads)
    best = better<largest>(best, Found<N>{load(i), i});
  finish_search<largest>(best, room, values, values_dtype, indices, bytes);
}
// The same of contiguous lines, aligned to 16 bytes: packs, several of them in flight.
template <bool largest, class N> __global__ void __launch_bounds__(kThreads)
    find_in_rows(const char* x, DType dtype, std::uint32_t, std::uint32_t count, std::uint32_t, char* values,
                 DType values_dtype, std::int64_t* indices, int bytes) {
  using E = memory_of<N>;
  constexpr std::uint32_t V = kPack<E>, K = 4;
  __shared__ Room<Found<N>, kThreads / 32> room;
  const char* line = x + std::size_t(blockIdx.x) * count * bytes;
  Found<N> best{number_from<N>(load_simple<E>(line, dtype, 0)), 0};
  std::uint32_t i = threadIdx.x * V;
  for (; i + (K - 1) * kThreads * V + V <= count; i += K * kThreads * V) {
    E e[K][V];
#pragma unroll
    for (std::uint32_t k = 0; k < K; ++k) load_pack(e[k], line, dtype, i + k * kThreads * V);
#pragma unroll
    for (std::uint32_t k = 0; k < K * V; ++k)
      best = better<largest>(best, Found<N>{number_from<N>(e[k / V][k % V]), i + k / V * kThreads * V + k % V});
  }
  for (; i < count; i += kThreads * V)
    for (std::uint32_t j = i; j < i + V && j < count; ++j)
      best = better<largest>(best, Found<N>{number_from<N>(load_simple<E>(line, dtype, j)), j});
  finish_search<largest>(best, room, values, values_dtype, indices, bytes);
}
template <int D = 0>
void find_in(DType computed, bool largest, bool rows, std::uint32_t outputs, cudaStream_t stream, auto... a) {
  if constexpr (D < kDTypes) {
    if constexpr (ordered >> D & 1)
      if (computed == DType(D)) {
        using N = typename NumberOf<DType(D)>::type;
        const auto kernel = rows ? (largest ? find_in_rows<true, N> : find_in_rows<false, N>)
                                 : (largest ? find<true, N> : find<false, N>);
        return kernel<<<outputs, kThreads, 0, stream>>>(a...);
      }
    find_in<D + 1>(computed, largest, rows, outputs, stream, a...);
  }
}
}  // namespace

void extreme(Context& c, bool largest, int dim, View x, View values, View indices) {
  const std::int64_t count = x.rank() ? x.size(dim) : 1;
  std::int64_t inner = 1;
  for (int d = dim + 1; d < x.rank(); ++d) inner *= x.size(d);
  const std::int64_t outputs = count ? x.numel() / count : 0;
  if (!outputs) return;
  if (outputs >> 31 || count >> 31)
    return c.fail(fail(DeviceFailure::absent, "expected fewer than 2^31 results of fewer than 2^31 elements on cuda"));
  const OnDevice on(c.device.index);
  const DType computed = accumulation(x.dtype());
  const auto places = reinterpret_cast<std::uintptr_t>(x.data) | std::uintptr_t(count * size_of(x.dtype()));
  find_in(computed, largest, is_read(x.dtype(), computed) && inner == 1 && places % 16 == 0, std::uint32_t(outputs),
          current_stream(c.device.index), x.data, x.dtype(), std::uint32_t(outputs), std::uint32_t(count),
          std::uint32_t(inner), values.data, values ? values.dtype() : x.dtype(),
          indices ? indices.as<std::int64_t>() : nullptr, size_of(x.dtype()));
  c.fail(launched(c.device.index));
}

}  // namespace neura::cuda
