// LAPACK of a library that is found and loaded when the first matrix asks for it. Nothing here is linked.
#pragma once
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>

namespace neura::lapack {

// X(name of real numbers, name of complex numbers), without the letter of the dtype. For what of_real() names, complex
// numbers have no routine, and for what of_complex() names, real ones have none.
#define NEURA_LAPACK_ROUTINES(X) \
  X(getrf, getrf)                \
  X(getrs, getrs)                \
  X(getri, getri)                \
  X(potrf, potrf)                \
  X(trsm, trsm)                  \
  X(geqrf, geqrf)                \
  X(orgqr, ungqr)                \
  X(sterf, sterf)                \
  X(stedc, stedc)                \
  X(laed4, laed4)                \
  X(bdsdc, bdsdc)                \
  X(gebal, gebal)                \
  X(gehrd, gehrd)                \
  X(orghr, orghr)                \
  X(lahqr, lahqr)                \
  X(laqr3, laqr3)                \
  X(laqr5, laqr5)                \
  X(trevc, trevc)                \
  X(gebak, gebak)                \
  X(syevd, heevd)                \
  X(gesdd, gesdd)                \
  X(geev, geev)                  \
  X(sytrf, sytrf)                \
  X(hetrf, hetrf)                \
  X(sytrs, sytrs)                \
  X(hetrs, hetrs)
enum Routine : unsigned char {
#define NEURA_ROUTINE(real, complex) real,
  NEURA_LAPACK_ROUTINES(NEURA_ROUTINE)
#undef NEURA_ROUTINE
      kRoutines
};

constexpr bool of_real(int r) { return r >= sterf && r <= gebak; }
constexpr bool of_complex(int r) { return r == hetrf || r == hetrs; }

struct Library {
  void* routine[4][kRoutines];  // float32, float64, complex64, complex128
  bool wide;                    // its integers have 64 bits
  const char* core;             // whose kernels an OpenBLAS runs; or ""
  bool alone;                   // it serves one thread at a time: an OpenBLAS without threads shares its buffers
};
const Library* library();  // null where none was found
std::mutex& lock_of_library();

// Integers go by address. 64 bits whose upper half is 0 serve libraries of 32 bits as well (little-endian).
using Int = std::int64_t;
inline int read(Int i) { return int(std::int32_t(i)); }  // what a library of either width wrote over a 0
inline std::int64_t read(const Int* list, std::int64_t i, bool wide) {
  return wide ? list[i] : reinterpret_cast<const std::int32_t*>(list)[i];
}
inline void write(Int* list, std::int64_t i, bool wide, std::int32_t value) {
  if (wide) list[i] = value;
  else reinterpret_cast<std::int32_t*>(list)[i] = value;
}

template <class T> struct Real { using type = T; };
template <class R> struct Real<std::complex<R>> { using type = R; };
template <class T> using real_t = typename Real<T>::type;
template <class T> inline constexpr bool is_complex_v = !std::is_same_v<T, real_t<T>>;

}  // namespace neura::lapack
