// Elements of any dtype in a device's memory, one by one and in packs, and what the threads of a warp share.
#pragma once
#include "neura/backend/cuda/pointwise/numbers.cuh"
#include "neura/backend/cuda/operands.h"

namespace neura::cuda {

constexpr int kThreads = 256;
__device__ inline std::uint32_t quotient(std::uint32_t n, Division by) {
  return (__umulhi(n, by.factor) + n) >> by.shift;
}
template <class E> constexpr int kPack = sizeof(E) <= 2 ? 8 : sizeof(E) == 4 ? 4 : 2;

template <class M, int V> struct alignas(sizeof(M) * V < 16 ? sizeof(M) * V : 16) PackOf { M v[V]; };

// Halves are rounded by one instruction, two adjacent ones together by one.
template <class M> constexpr bool is_half = is_same<M, Half> || is_same<M, BFloat16>;
template <class M, class E> __device__ M narrow(E v) {
  if constexpr (is_same<M, BFloat16>) {
    BFloat16 b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(float(v)));
    return b;
  } else {
    return cast<M>(v);
  }
}
template <class M> __device__ std::uint32_t narrow_pair(float first, float second) {
  std::uint32_t word;
  if constexpr (is_same<M, BFloat16>) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}
template <class M, class E> __device__ void widen_pair(std::uint32_t word, E& first, E& second) {
  if constexpr (is_same<M, BFloat16>) {
    first = __uint_as_float(word << 16), second = __uint_as_float(word & 0xffff0000u);
  } else {
    const auto pair = __builtin_bit_cast(PackOf<Half, 2>, word);
    first = float(pair.v[0]), second = float(pair.v[1]);
  }
}

template <class E, int D = 0> __device__ E load_switch(const char* p, DType d) {
  if constexpr (D == kDTypes) return E{};
  else {
    using M = typename Element<DType(D)>::type;
    return d == DType(D) ? cast<E>(*reinterpret_cast<const M*>(p)) : load_switch<E, D + 1>(p, d);
  }
}
template <class E, int D = 0> __device__ void store_switch(char* p, DType d, E v) {
  if constexpr (D < kDTypes) {
    using M = typename Element<DType(D)>::type;
    if (d == DType(D)) *reinterpret_cast<M*>(p) = cast<M>(v);
    else store_switch<E, D + 1>(p, d, v);
  }
}
template <class E> __device__ __noinline__ E load_other(const char* p, DType d) { return load_switch<E>(p, d); }
template <class E> __device__ __noinline__ void store_other(char* p, DType d, E v) { store_switch<E>(p, d, v); }

template <class E> struct DTypeOf;
#define OWN(d) \
  template <> struct DTypeOf<typename Element<DType::d>::type> { static constexpr DType value = DType::d; };
// clang-format off
OWN(boolean) OWN(uint8) OWN(int8) OWN(int16) OWN(int32) OWN(int64) OWN(float32) OWN(float64) OWN(complex64)
OWN(complex128) OWN(float16) OWN(bfloat16)
// clang-format on
#undef OWN

        template <class E>
        __device__ E load_one(const char* p, DType d) {
  if (d == DTypeOf<E>::value) return *reinterpret_cast<const E*>(p);
  if constexpr (is_same<E, float>) {
    if (d == DType::bfloat16) return float(*reinterpret_cast<const BFloat16*>(p));
    if (d == DType::float16) return float(*reinterpret_cast<const Half*>(p));
  }
  return load_other<E>(p, d);
}
template <class E> __device__ void store_one(char* p, DType d, E v) {
  if (d == DTypeOf<E>::value) {
    *reinterpret_cast<E*>(p) = v;
    return;
  }
  if constexpr (is_same<E, float>) {
    if (d == DType::bfloat16) return void(*reinterpret_cast<BFloat16*>(p) = narrow<BFloat16>(v));
    if (d == DType::float16) return void(*reinterpret_cast<Half*>(p) = narrow<Half>(v));
  }
  store_other<E>(p, d, v);
}

template <class M, int V, class E> __device__ void load_as(E (&to)[V], const char* p, std::uint32_t i) {
  p += std::size_t(i) * sizeof(M);
  if constexpr (is_half<M> && V % 2 == 0) {
    const auto pack = *reinterpret_cast<const PackOf<std::uint32_t, V / 2>*>(p);
#pragma unroll
    for (int k = 0; k < V; k += 2) widen_pair<M>(pack.v[k / 2], to[k], to[k + 1]);
  } else {
    const auto pack = *reinterpret_cast<const PackOf<M, V>*>(p);
#pragma unroll
    for (int k = 0; k < V; ++k) to[k] = cast<E>(pack.v[k]);
  }
}
template <class M, int V, class E> __device__ void store_as(const E (&from)[V], char* p, std::uint32_t i) {
  p += std::size_t(i) * sizeof(M);
  if constexpr (is_half<M> && V % 2 == 0) {
    PackOf<std::uint32_t, V / 2> pack;
#pragma unroll
    for (int k = 0; k < V; k += 2) pack.v[k / 2] = narrow_pair<M>(from[k], from[k + 1]);
    *reinterpret_cast<PackOf<std::uint32_t, V / 2>*>(p) = pack;
  } else {
    PackOf<M, V> pack;
#pragma unroll
    for (int k = 0; k < V; ++k) pack.v[k] = narrow<M>(from[k]);
    *reinterpret_cast<PackOf<M, V>*>(p) = pack;
  }
}
// Packs and elements of the computing dtype itself, or of a half of float.
template <class E, int V> __device__ void load_pack(E (&to)[V], const char* p, DType d, std::uint32_t i) {
  if constexpr (is_same<E, float>) {
    if (d == DType::bfloat16) return load_as<BFloat16, V>(to, p, i);
    if (d == DType::float16) return load_as<Half, V>(to, p, i);
  }
  load_as<E, V>(to, p, i);
}
template <class E, int V> __device__ void store_pack(const E (&from)[V], char* p, DType d, std::uint32_t i) {
  if constexpr (is_same<E, float>) {
    if (d == DType::bfloat16) return store_as<BFloat16, V>(from, p, i);
    if (d == DType::float16) return store_as<Half, V>(from, p, i);
  }
  store_as<E, V>(from, p, i);
}
template <class E> __device__ E load_simple(const char* p, DType d, std::uint32_t i) {
  E e[1];
  return load_pack<E, 1>(e, p, d, i), e[0];
}
template <class E> __device__ void store_simple(char* p, DType d, std::uint32_t i, E v) {
  const E e[1] = {v};
  store_pack<E, 1>(e, p, d, i);
}

// The sum of p[i * pitch], i = begin, begin + by, ... below end, of which eight are under way together: a loop that
// asks after each whether it was the last waits for each.
template <class E>
__device__ E sum_apart(const E* p, std::uint32_t pitch, std::uint32_t begin, std::uint32_t end, std::uint32_t by) {
  constexpr std::uint32_t K = 8;
  E sum = 0;
#pragma unroll 1
  for (std::uint32_t i = begin; i < end; i += K * by) {
    E v[K];
#pragma unroll
    for (std::uint32_t k = 0; k < K; ++k) v[k] = i + k * by < end ? p[std::size_t(i + k * by) * pitch] : E(0);
#pragma unroll
    for (std::uint32_t k = 0; k < K; ++k) sum += v[k];
  }
  return sum;
}
// Every lane's a, combined in a fixed tree; lane 0 has it.
template <class T, class F> __device__ T across_warp(T a, F&& combine) {
  constexpr int words = int((sizeof(T) + 3) / 4);
  union Bits {
    T value;
    unsigned word[words];
    __device__ Bits() {}
  };
#pragma unroll
  for (int step = 16; step; step /= 2) {
    Bits mine, other;
    mine.value = a;
#pragma unroll
    for (int w = 0; w < words; ++w) other.word[w] = __shfl_down_sync(~0u, mine.word[w], step);
    a = combine(a, other.value);
  }
  return a;
}
template <class N> __device__ N number_of_double(double v) {
  if constexpr (is_complex<N>) return N(real_of<N>(v));
  else return number_from<N>(cast<memory_of<N>>(v));
}

}  // namespace neura::cuda
