// What the numbers need from outside: the only file here that knows compilers. Every other header of this folder has no
// guard and includes nothing: a target opens its namespace and includes it there (numbers.h), so that no inline
// function is shared between instruction sets and complex<Batch> can exist.
#pragma once
#ifdef __CUDACC_RTC__
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
#else
#include <cmath>
#include <cstdint>
#endif
#ifdef __CUDACC__
#define NEURA_HD __host__ __device__
#define NEURA_CALLED __noinline__  // long functions: inlined into every kernel they would be most of the compile time
#else
#define NEURA_HD
#define NEURA_CALLED
#endif
// Elements of one line are independent even if out and in are the same memory (in place): without this GCC's run-time
// overlap check sends every in-place call to the scalar loop.
#ifdef __clang__
#define NEURA_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define NEURA_INDEPENDENT _Pragma("GCC ivdep")
#endif
