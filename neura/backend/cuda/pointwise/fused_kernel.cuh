// What the text of a fused kernel (graph/fused_text.cpp) includes. Read by the run-time compiler alone; the library
// carries this file and those that it includes (cmake/NeuraKernelHeaders.cmake). Fused kernels compute real numbers.
#include "neura/backend/number/prelude.h"

namespace neura {
enum class DType : unsigned char {
#define DTYPE(id, ...) id,
#include "neura/tables/dtypes.def"
#undef DTYPE
};
namespace fused {
#include "neura/backend/number/literal.h"
#include "neura/backend/number/scalar.h"
#include "neura/backend/number/integer.h"
#include "neura/backend/number/half.h"
#include "neura/backend/number/float8.h"

// Named by what follows, and never used.
template <class R> struct complex;
template <class N> inline constexpr bool is_complex = false;
struct Probe {};
NEURA_HD constexpr Probe operator-(Probe) { return {}; }
NEURA_HD constexpr Probe operator*(Probe, Probe) { return {}; }
NEURA_HD constexpr Probe operator/(Probe, Probe) { return {}; }

#ifdef NEURA_SPECIAL
#include "neura/backend/number/special.h"
#endif
#include "neura/backend/number/cast.h"
#include "neura/tables/slopes.h"
#ifdef NEURA_SPECIAL
#include "neura/tables/special_slopes.h"
#endif

constexpr unsigned kThreads = 256;
using Address = unsigned long long;

// A formula's value in its number; as row.h has it.
template <class R, class T> __device__ R exact(T v) { return R(v); }

// An element of memory, converted to the number that a formula takes, and back.
template <class N, class M> __device__ N number_from(M v) {
  if constexpr (is_same<N, bool>) return cast<Bool>(v).v != 0;
  else if constexpr (BuiltIn<N> || is_same<N, Bool>) return cast<N>(v);
  else return N(cast<decltype(N::v)>(v));
}
__device__ inline Bool memory_from(bool n) { return Bool(n); }
template <class N> __device__ N memory_from(N n) { return n; }
template <class T> __device__ T memory_from(Int<T> n) { return n.v; }

// Hides how a value came about, as memory does between two kernels: else the assembler contracts a product and the sum
// of another call, whatever it has between them that is no instruction. zero is 0, which only the host knows.
template <class M> __device__ M hidden(M v, unsigned) { return v; }
__device__ inline float hidden(float v, unsigned zero) { return __uint_as_float(__float_as_uint(v) ^ zero); }
__device__ inline double hidden(double v, unsigned zero) {
  return __hiloint2double(__double2hiint(v), __double2loint(v) ^ int(zero));
}
template <class M, class E> __device__ M rounded(E v) {
  if constexpr (is_same<M, BFloat16>) {
    BFloat16 b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(float(v)));
    return b;
  } else {
    return cast<M>(v);
  }
}

// A number of the launch: its bytes are the first of a word.
template <class M> __device__ M number_of(Address word) {
  if constexpr (sizeof(M) == 1) return __builtin_bit_cast(M, uint8_t(word));
  else if constexpr (sizeof(M) == 2) return __builtin_bit_cast(M, uint16_t(word));
  else if constexpr (sizeof(M) == 4) return __builtin_bit_cast(M, uint32_t(word));
  else return __builtin_bit_cast(M, word);
}

template <class M, int V> struct alignas(sizeof(M) * V < 16 ? sizeof(M) * V : 16) Pack { M v[V]; };
template <class M, int V, class I> __device__ void load(M (&to)[V], Address from, I at, I left, bool aligned) {
  const M* const p = reinterpret_cast<const M*>(from) + at;
  if (left >= V && aligned) {
    const auto pack = *reinterpret_cast<const Pack<M, V>*>(p);
#pragma unroll
    for (int k = 0; k < V; ++k) to[k] = pack.v[k];
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k)
      if (I(k) < left) to[k] = p[k];
      else to[k] = M{};
  }
}
template <class M, int V> __device__ void load_same(M (&to)[V], Address from) {
  const M one = *reinterpret_cast<const M*>(from);
#pragma unroll
  for (int k = 0; k < V; ++k) to[k] = one;
}
template <class M, int V> __device__ void load_apart(M (&to)[V], Address from, long long step) {
#pragma unroll
  for (int k = 0; k < V; ++k) to[k] = reinterpret_cast<const M*>(from)[k * step];
}
template <class M, int V, class I> __device__ void store(const M (&from)[V], Address to, I at, I left, bool aligned) {
  M* const p = reinterpret_cast<M*>(to) + at;
  if (left >= V && aligned) {
    Pack<M, V> pack;
#pragma unroll
    for (int k = 0; k < V; ++k) pack.v[k] = from[k];
    *reinterpret_cast<Pack<M, V>*>(p) = pack;
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k)
      if (I(k) < left) p[k] = from[k];
  }
}

}  // namespace fused
}  // namespace neura
