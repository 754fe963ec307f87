// Element types: one table (tables/dtypes.def), sets of them, promotion. Plain constants, read by device code as well.
#pragma once

namespace neura {

enum class DType : unsigned char {
#define DTYPE(id, ...) id,
#include "neura/tables/dtypes.def"
#undef DTYPE
};
// In order of promotion. `storage`: 8-bit floats and unsigned integers of 16 bits and more, which convert and take part
// in no arithmetic.
enum class Category : unsigned char { boolean, integer, floating, complex, storage };

#define DTYPE(id, ...) inline constexpr DType id = DType::id;
#include "neura/tables/dtypes.def"
#undef DTYPE

struct DTypeInfo {
  const char* name;
  unsigned char size;  // bytes of one element
  Category category;
  const char* file_name;  // in safetensors
};
inline constexpr DTypeInfo kDTypeInfo[] = {
#define DTYPE(id, name, size, category, file) {name, size, Category::category, file},
#include "neura/tables/dtypes.def"
#undef DTYPE
};
inline constexpr int kDTypes = int(sizeof(kDTypeInfo) / sizeof(kDTypeInfo[0]));

constexpr const DTypeInfo& info(DType d) { return kDTypeInfo[int(d)]; }  // its row of the table
constexpr const char* name(DType d) { return info(d).name; }
constexpr int size_of(DType d) { return info(d).size; }                            // bytes of one element
constexpr Category category(DType d) { return info(d).category; }                  // bool, integer, floating or complex
constexpr bool is_floating(DType d) { return category(d) == Category::floating; }  // not complex
constexpr bool is_complex(DType d) { return category(d) == Category::complex; }
constexpr bool is_integral(DType d) { return category(d) <= Category::integer; }  // with bool, as in torch
// uint16, uint32, uint64, which hold numbers and convert.
constexpr bool is_unsigned_storage(DType d) { return d == DType::uint16 || d == DType::uint32 || d == DType::uint64; }
// float8_e4m3fn, float8_e5m2.
constexpr bool is_float8(DType d) { return category(d) == Category::storage && !is_unsigned_storage(d); }
// The dtype with arithmetic that holds every number of one without; of uint64 and others the dtype itself.
constexpr DType comparable(DType d) {
  if (is_float8(d)) return DType::float32;
  return d == DType::uint16 ? DType::int32 : d == DType::uint32 ? DType::int64 : d;
}
constexpr bool differentiable(DType d) { return is_floating(d) || is_complex(d); }

using DTypeSet = unsigned;
constexpr DTypeSet bit(DType d) { return 1u << int(d); }  // the set of this dtype alone
namespace dtypes {
constexpr DTypeSet of(Category c) {  // all dtypes of a category
  DTypeSet s = 0;
  for (int i = 0; i < kDTypes; ++i)
    if (kDTypeInfo[i].category == c) s |= 1u << i;
  return s;
}
inline constexpr DTypeSet booleans = of(Category::boolean), integers = of(Category::integer);
inline constexpr DTypeSet floating = of(Category::floating), complexes = of(Category::complex);
inline constexpr DTypeSet halves = bit(DType::float16) | bit(DType::bfloat16);
inline constexpr DTypeSet ordered = floating | integers | booleans, numbers = floating | integers | complexes;
inline constexpr DTypeSet all = numbers | booleans;
// The dtypes that the library has kernels for: all of them, unless it is to be small (CMake's NEURA_INFERENCE and
// NEURA_WANTED); such a library refuses programs with other dtypes (graph/parse.cpp).
#ifdef NEURA_WANTED
inline constexpr DTypeSet compiled = 0
#define WANTED_DTYPE(id) | bit(DType::id)
#include NEURA_WANTED
    ;
#elif defined(NEURA_INFERENCE_SMALL)
inline constexpr DTypeSet compiled =
    bit(DType::boolean) | bit(DType::uint8) | bit(DType::int32) | bit(DType::int64) | bit(DType::float32);
#else
inline constexpr DTypeSet compiled = ~DTypeSet{0};
#endif
}  // namespace dtypes

// The dtype of an operand, which is one of those compiled for: so the compiler leaves out what is for others.
template <int i = 0> [[gnu::always_inline]] constexpr DType compiled_dtype(DType d) {
  if constexpr (i == kDTypes) __builtin_unreachable();
  else if constexpr (dtypes::compiled >> i & 1) return d == DType(i) ? DType(i) : compiled_dtype<i + 1>(d);
  else return compiled_dtype<i + 1>(d);
}

// The dtype of the real and the imaginary part; a real dtype itself.
constexpr DType to_real(DType d) {
  return d == DType::complex64 ? DType::float32 : d == DType::complex128 ? DType::float64 : d;
}
// complex128 for float64, else complex64.
constexpr DType to_complex(DType d) { return size_of(d) == 8 && is_floating(d) ? DType::complex128 : DType::complex64; }
// The dtype in which kernels compute and sum: float32 for halves, else d.
constexpr DType accumulation(DType d) { return bit(d) & dtypes::halves ? DType::float32 : d; }

// The dtype in which two operands meet, torch's table: the higher category, then the wider; uint8 with a signed
// integer needs the next signed one; the two halves meet in float32.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  const Category ca = category(a), cb = category(b);
  if (ca != cb) {
    if (ca == Category::complex || cb == Category::complex) {
      const DType c = ca == Category::complex ? a : b, other = ca == Category::complex ? b : a;
      return other == DType::float64 ? DType::complex128 : c;
    }
    return ca > cb ? a : b;
  }
  if (size_of(a) == size_of(b)) return ca == Category::integer ? DType::int16 : DType::float32;
  const DType wide = size_of(a) > size_of(b) ? a : b;
  return wide;
}

}  // namespace neura
