// The pointwise kernel where all operands are dense, in the dtype of the computation or as a half: whole packs, no
// calls, few registers, so that enough of them are in flight to fill the memory's bandwidth.
#pragma once
#include "neura/backend/cuda/runtime/memory.cuh"
#include "neura/backend/cuda/pointwise/pointwise.h"

namespace neura::cuda {

template <int...> struct Indices {};
template <int n, int... I> struct UpTo : UpTo<n - 1, n - 1, I...> {};
template <int... I> struct UpTo<0, I...> { using type = Indices<I...>; };

template <class Op, int I> using memory_in = memory_of<typename Op::template In<I>>;
template <class Op> constexpr bool kTwice = is_same<memory_in<Op, Op::inputs - 1>, float>;
template <int N, int W> __device__ void load_words(std::uint32_t (&w)[W], const char* p) {  // the first N of w
  const auto pack = *reinterpret_cast<const PackOf<std::uint32_t, N>*>(p);
#pragma unroll
  for (int k = 0; k < N; ++k) w[k] = pack.v[k];
}
template <int N, int W> __device__ void store_words(const std::uint32_t (&w)[W], char* p) {  // the last N
  PackOf<std::uint32_t, N> pack;
#pragma unroll
  for (int k = 0; k < N; ++k) pack.v[k] = w[W - N + k];
  *reinterpret_cast<PackOf<std::uint32_t, N>*>(p) = pack;
}

// A thread's elements of one operand as they are stored. V of them at a time become numbers, or are made of numbers.
template <class E, int V, bool = V == 4 && (is_same<E, float> || is_same<E, Bool>)> struct Elements {
  PackOf<E, V> pack;
  __device__ void fill(E value) {
#pragma unroll
    for (int k = 0; k < V; ++k) pack.v[k] = value;
  }
  __device__ void load(const char* p, DType, std::uint32_t i, bool) { load_as<E, V>(pack.v, p, i); }
  __device__ void next(E (&v)[V]) {
#pragma unroll
    for (int k = 0; k < V; ++k) v[k] = pack.v[k];
  }
  __device__ void put(const E (&v)[V], DType) {
#pragma unroll
    for (int k = 0; k < V; ++k) pack.v[k] = v[k];
  }
  __device__ void store(char* p, DType, std::uint32_t i, std::uint32_t left, bool) const {
    if (left >= V) return store_as<E, V>(pack.v, p, i);
#pragma unroll
    for (int k = 0; k < V; ++k)
      if (std::uint32_t(k) < left) reinterpret_cast<E*>(p)[i + k] = pack.v[k];
  }
};
// Floats fill all words; V halves or bools fill half of them, and all where they are taken twice.
template <class E, int V> struct Elements<E, V, true> {
  static constexpr bool real = is_same<E, float>;
  static constexpr int words = sizeof(E) == 4 ? 4 : 2, half = words / 2, small = real ? 2 : 1;
  using Small = std::conditional_t<real, std::uint16_t, std::uint8_t>;
  std::uint32_t w[words] = {};
  DType dtype = DType::float32;
  __device__ static bool own(DType d) { return real && d == DType::float32; }
  __device__ static std::size_t offset(DType d, std::uint32_t i) { return std::size_t(i) * (own(d) ? 4 : small); }
  __device__ void shift() {
#pragma unroll
    for (int k = 0; k < half; ++k) w[k] = w[k + half];
  }
  __device__ void fill(E value) {
#pragma unroll
    for (int k = 0; k < words; ++k)
      if constexpr (real) w[k] = __float_as_uint(value);
      else w[k] = value.v * 0x01010101u;
  }
  __device__ void load(const char* p, DType d, std::uint32_t i, bool twice) {
    dtype = d, p += offset(d, i);
    if (twice || own(d)) load_words<words>(w, p);
    else load_words<half>(w, p);
  }
  __device__ void next(E (&v)[V]) {
    if constexpr (!real) {
      const auto pack = __builtin_bit_cast(PackOf<E, V>, w[0]);
#pragma unroll
      for (int k = 0; k < V; ++k) v[k] = pack.v[k];
    } else {
      if (dtype == DType::float32) {
#pragma unroll
        for (int k = 0; k < V; ++k) v[k] = __uint_as_float(w[k]);
        return;
      }
      if (dtype == DType::bfloat16) widen_pair<BFloat16>(w[0], v[0], v[1]), widen_pair<BFloat16>(w[1], v[2], v[3]);
      else widen_pair<Half>(w[0], v[0], v[1]), widen_pair<Half>(w[1], v[2], v[3]);
    }
    shift();
  }
  __device__ void put(const E (&v)[V], DType d) {
    shift();
    if constexpr (!real) {
      PackOf<E, V> pack;
#pragma unroll
      for (int k = 0; k < V; ++k) pack.v[k] = v[k];
      w[half] = __builtin_bit_cast(std::uint32_t, pack);
    } else if (d == DType::float32) {
#pragma unroll
      for (int k = 0; k < V; ++k) w[k] = __float_as_uint(v[k]);
    } else if (d == DType::bfloat16) {
      w[2] = narrow_pair<BFloat16>(v[0], v[1]), w[3] = narrow_pair<BFloat16>(v[2], v[3]);
    } else {
      w[2] = narrow_pair<Half>(v[0], v[1]), w[3] = narrow_pair<Half>(v[2], v[3]);
    }
  }
  __device__ void store(char* p, DType d, std::uint32_t i, std::uint32_t left, bool twice) const {
    p += offset(d, i);
    if (left >= (twice ? 2 * V : V)) return twice || own(d) ? store_words<words>(w, p) : store_words<half>(w, p);
    constexpr std::uint32_t per = 4 / small;
#pragma unroll 1
    for (std::uint32_t k = 0; k < left; ++k) {
      const std::uint32_t at = twice ? k : k + V;
      if (own(d)) reinterpret_cast<std::uint32_t*>(p)[k] = word(k);
      else reinterpret_cast<Small*>(p)[k] = Small(word(at / per) >> at % per * (8 * small));
    }
  }
  __device__ std::uint32_t word(std::uint32_t i) const {  // chosen, since registers have no addresses
    std::uint32_t chosen = w[0];
#pragma unroll
    for (int k = 1; k < words; ++k) chosen = i == std::uint32_t(k) ? w[k] : chosen;
    return chosen;
  }
};

template <class Op, int I, int V> struct Column {
  using N = typename Op::template In<I>;
  using E = memory_of<N>;
  static constexpr bool read = Op::reads >> I & 1;
  Elements<E, V> elements;
  E v[V];
  __device__ void load(const FlatOperands& o, std::uint32_t i) {
    if constexpr (read) {
      constexpr int k = I + 1;
      if ((o.single | o.column) >> k & 1) {
        const std::uint32_t at = o.single >> k & 1 ? 0 : quotient(i, o.inner);
        elements.fill(load_simple<E>(o.immediate >> k & 1 ? o.value[k] : o.data[k], o.dtype[k], at));
      } else {
        if (o.row >> k & 1) i -= quotient(i, o.inner) * o.inner.divisor;
        elements.load(o.data[k], o.dtype[k], i, kTwice<Op> && o.twice);
      }
    }
  }
  __device__ void next() {
    if constexpr (read) elements.next(v);
  }
  __device__ N operator[](int k) const {
    if constexpr (read) return number_from<N>(v[k]);
    else return N(0_c);
  }
};
template <class Op, int V, class... C>
__device__ void flat_part(const FlatOperands& o, const Op& op, std::uint32_t i, C... columns) {
  if (i >= o.numel) return;
  (columns.load(o, i), ...);  // reads up to a pack beyond the end, which is inside the allocator's block
  using R = memory_of<typename Op::R>;
  Elements<R, V> result;
  const bool twice = kTwice<Op> && o.twice;
#pragma unroll 1
  for (int round = 0; round <= int(twice); ++round) {
    (columns.next(), ...);
    R v[V];
#pragma unroll
    for (int k = 0; k < V; ++k) v[k] = memory_from(op(columns[k]...));
    result.put(v, o.dtype[0]);
  }
  result.store(o.data[0], o.dtype[0], i, o.numel - i, twice);
}
template <class Op, int V, int... I>
__device__ void flat_pack(const FlatOperands& o, const Op& op, std::uint32_t i, Indices<I...>) {
  flat_part<Op, V>(o, op, i, Column<Op, I, V>()...);
}
template <class Op> constexpr int kFlatPack = kPack<memory_in<Op, Op::inputs - 1>>;
template <class Op> __global__ void __launch_bounds__(kThreads) flat(const __grid_constant__ FlatOperands o) {
  constexpr int V = kFlatPack<Op>;
  const std::uint32_t pack = blockIdx.x * kThreads + threadIdx.x, of = kTwice<Op> && o.twice ? 2 * V : V;
  flat_pack<Op, V>(o, Op(o.attributes), pack * of, typename UpTo<Op::inputs>::type());
}

}  // namespace neura::cuda
