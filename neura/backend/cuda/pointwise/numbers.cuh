// The numbers of device code, and in which of them each dtype is computed. A .cu file that computes includes it first.
#pragma once
#include <cuda/std/complex>
#include <type_traits>

#include "neura/backend/number/prelude.h"
#include "neura/backend/type_rule.h"

namespace neura::cuda {
#include "neura/backend/number/numbers.h"
#ifdef NEURA_SPECIAL
#include "neura/backend/number/special.h"
#endif
#include "neura/backend/number/cast.h"
using namespace type_rules;
#include "neura/backend/number/row.h"
#include "neura/tables/slopes.h"
#ifdef NEURA_SPECIAL
#include "neura/tables/special_slopes.h"
#endif

template <DType> struct NumberOf;
#define NUMBER(d, ...) \
  template <> struct NumberOf<DType::d> { using type = __VA_ARGS__; };
// clang-format off
NUMBER(float32, float) NUMBER(float64, double) NUMBER(complex64, complex<float>) NUMBER(complex128, complex<double>)
NUMBER(int8, Int<int8_t>) NUMBER(uint8, Int<uint8_t>) NUMBER(int16, Int<int16_t>) NUMBER(int32, Int<int32_t>)
NUMBER(int64, Int<int64_t>) NUMBER(boolean, Bool)
// clang-format on
#undef NUMBER

    // The memory element that a number is computed from: the same bits.
    template <class N>
    struct MemoryOf {
  using type = N;
};
template <class T> struct MemoryOf<Int<T>> { using type = T; };
template <> struct MemoryOf<bool> { using type = Bool; };
template <class N> using memory_of = typename MemoryOf<N>::type;
template <class N> __device__ N number_from(memory_of<N> e) {
  if constexpr (is_same<N, bool>) return e.v != 0;
  else return N(e);
}
template <class N> __device__ memory_of<N> memory_from(N n) {
  if constexpr (is_same<N, memory_of<N>>) return n;
  else if constexpr (is_same<N, bool>) return Bool(n);
  else return n.v;
}
}  // namespace neura::cuda
