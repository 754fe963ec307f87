#include "neura/core/scalar_range.h"

#include <limits>

#include "neura/core/error.h"

namespace neura {
namespace {

struct Ends {
  std::int64_t low, high;
};
template <class T> constexpr Ends kEnds{std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};

Ends ends_of(DType d) {
  switch (d) {
    case DType::uint8:
      return kEnds<std::uint8_t>;
    case DType::int8:
      return kEnds<std::int8_t>;
    case DType::int16:
      return kEnds<std::int16_t>;
    case DType::int32:
      return kEnds<std::int32_t>;
    case DType::uint16:
      return kEnds<std::uint16_t>;
    case DType::uint32:
      return kEnds<std::uint32_t>;
    case DType::uint64:  // from 2^63 on: Scalar::beyond_int64()
      return {0, kEnds<std::int64_t>.high};
    default:
      return kEnds<std::int64_t>;
  }
}

}  // namespace

bool holds(DType integers, std::int64_t value) {
  const Ends e = ends_of(integers);
  return value >= e.low && value <= e.high;
}

Scalar saturated(const Scalar& value, DType dtype) {
  if (in_range(value, dtype)) return value;
  const Ends e = ends_of(dtype);
  return value.integer() < e.low ? e.low : e.high;
}

bool storable(const Scalar& value, DType dtype) {
  if (dtype == DType::boolean || is_complex(dtype)) return true;
  if (value.imag() != 0 || value.imag() != value.imag()) return false;
  if (category(dtype) != Category::integer && !is_unsigned_storage(dtype)) return true;
  if (value.beyond_int64()) return dtype == DType::uint64;
  Ends e = ends_of(dtype);
  if (e.low == 0) e.low = -e.high;
  if (value.category() <= Category::integer) return value.integer() >= e.low && value.integer() <= e.high;
  // The greatest int64 is no double: the one above it is the first that does not fit.
  const double v = value.real();
  if (dtype == DType::uint64) return v >= double(e.low) && v < 0x1p64;
  return v >= double(e.low) && (dtype == DType::int64 ? v < double(e.high) : v <= double(e.high));
}

void check_storable(const char* op, const Scalar& value, DType dtype) {
  check<ValueError>(storable(value, dtype), [&] {
    return std::string(op) + ": expected a number that " + name(dtype) + " holds, got " + value.str();
  });
}

}  // namespace neura
