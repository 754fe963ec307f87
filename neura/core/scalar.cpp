#include "neura/core/scalar.h"

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "neura/core/error.h"

namespace neura {
namespace {

// The small floats, one element at a time and exactly: what the fast conversions of the back ends are tested against.
struct Format {
  int mantissa, bias, max_exponent;  // the largest exponent of a finite number
  std::uint32_t infinity, nan, largest;
};
constexpr Format kHalf{10, 15, 15, 0x7c00, 0x7e00, 0x7bff}, kBFloat{7, 127, 127, 0x7f80, 0x7fc0, 0x7f7f};
constexpr Format kE4M3{3, 7, 8, 0x7f, 0x7f, 0x7e}, kE5M2{2, 15, 15, 0x7c, 0x7f, 0x7b};  // e4m3 has no infinity

std::uint32_t encode(float x, const Format& f) {
  const std::uint32_t sign = std::signbit(x) ? 1u : 0u;
  const float a = std::abs(x);
  std::uint32_t bits;
  if (std::isnan(x)) {
    bits = f.nan;
  } else if (a == 0) {
    bits = 0;
  } else {
    int e = std::isinf(a) ? f.max_exponent + 1 : std::ilogb(a);
    e = std::max(e, 1 - f.bias);
    if (e > f.max_exponent) {
      bits = f.infinity;
    } else {
      const double steps = std::nearbyint(std::ldexp(double(a), f.mantissa - e));  // ties to even
      bits = std::uint32_t(steps) + (std::uint32_t(e + f.bias - 1) << f.mantissa);
      if (bits > f.largest) bits = f.infinity;
    }
  }
  int width = f.mantissa;
  for (std::uint32_t top = f.nan >> f.mantissa; top; top >>= 1) ++width;
  return bits | sign << width;
}
float decode(std::uint32_t bits, const Format& f) {
  int width = f.mantissa;
  for (std::uint32_t top = f.nan >> f.mantissa; top; top >>= 1) ++width;
  const float sign = bits >> width & 1 ? -1.0f : 1.0f;
  bits &= (1u << width) - 1;
  if (bits > f.largest)
    return bits == f.infinity && f.infinity != f.nan ? sign * std::numeric_limits<float>::infinity()
                                                     : std::numeric_limits<float>::quiet_NaN();
  const int e = int(bits >> f.mantissa), m = int(bits & ((1u << f.mantissa) - 1));
  const float value = e ? std::ldexp(float((1 << f.mantissa) + m), e - f.bias - f.mantissa)
                        : std::ldexp(float(m), 1 - f.bias - f.mantissa);
  return sign * value;
}

template <class T> void put(void* to, T v) { std::memcpy(to, &v, sizeof v); }
template <class T> T get(const void* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
// A whole number wraps, as a cast does; a fraction that does not fit becomes the nearest integer, and NaN 0.
template <class T> T to_integer(const Scalar& s) {
  if (s.category() <= Category::integer) return T(s.integer());
  const double x = s.real(), end = double(std::numeric_limits<T>::max() / 2 + 1) * 2;
  if (x != x) return 0;
  if (x >= end) return std::numeric_limits<T>::max();
  if (x < double(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return x >= 0x1p63 ? T(std::uint64_t(x)) : T(std::int64_t(x));
}
std::atomic<DType> default_float{DType::float32};

}  // namespace

DType default_dtype() { return default_float.load(std::memory_order_relaxed); }
void set_default_dtype(DType d) {
  check<DTypeError>(is_floating(d),
                    [&] { return std::string("set_default_dtype: expected a floating dtype, got ") + name(d); });
  default_float.store(d, std::memory_order_relaxed);
}

DType Scalar::dtype() const {
  switch (category_) {
    case Category::boolean:
      return DType::boolean;
    case Category::integer:
      return DType::int64;
    case Category::complex:
      return to_complex(default_dtype());
    default:
      return default_dtype();
  }
}

void Scalar::store(DType d, void* to) const {
  switch (d) {
    case DType::boolean:
      return put(to, std::uint8_t(real() != 0 || imag() != 0));
    case DType::uint8:
      return put(to, to_integer<std::uint8_t>(*this));
    case DType::int8:
      return put(to, to_integer<std::int8_t>(*this));
    case DType::int16:
      return put(to, to_integer<std::int16_t>(*this));
    case DType::int32:
      return put(to, to_integer<std::int32_t>(*this));
    case DType::int64:
      return put(to, to_integer<std::int64_t>(*this));
    case DType::float16:
      return put(to, std::uint16_t(encode(float(real()), kHalf)));
    case DType::bfloat16:
      return put(to, std::uint16_t(encode(float(real()), kBFloat)));
    case DType::float32:
      return put(to, float(real()));
    case DType::float64:
      return put(to, real());
    case DType::complex64:
      return put(to, std::complex<float>(float(real()), float(imag())));
    case DType::complex128:
      return put(to, std::complex<double>(real(), imag()));
    case DType::float8_e4m3:
      return put(to, std::uint8_t(encode(float(real()), kE4M3)));
    case DType::float8_e5m2:
      return put(to, std::uint8_t(encode(float(real()), kE5M2)));
    case DType::uint16:
      return put(to, to_integer<std::uint16_t>(*this));
    case DType::uint32:
      return put(to, to_integer<std::uint32_t>(*this));
    case DType::uint64:
      return put(to, to_integer<std::uint64_t>(*this));
  }
}

Scalar Scalar::load(DType d, const void* from) {
  switch (d) {
    case DType::boolean:
      return get<std::uint8_t>(from) != 0;
    case DType::uint8:
      return get<std::uint8_t>(from);
    case DType::int8:
      return get<std::int8_t>(from);
    case DType::int16:
      return get<std::int16_t>(from);
    case DType::int32:
      return get<std::int32_t>(from);
    case DType::int64:
      return get<std::int64_t>(from);
    case DType::float16:
      return decode(get<std::uint16_t>(from), kHalf);
    case DType::bfloat16:
      return decode(get<std::uint16_t>(from), kBFloat);
    case DType::float32:
      return get<float>(from);
    case DType::float64:
      return get<double>(from);
    case DType::complex64:
      return std::complex<double>(get<std::complex<float>>(from));
    case DType::complex128:
      return get<std::complex<double>>(from);
    case DType::float8_e4m3:
      return decode(get<std::uint8_t>(from), kE4M3);
    case DType::float8_e5m2:
      return decode(get<std::uint8_t>(from), kE5M2);
    case DType::uint16:
      return get<std::uint16_t>(from);
    case DType::uint32:
      return get<std::uint32_t>(from);
    case DType::uint64:
      return of_uint64(get<std::uint64_t>(from));
  }
  return {};
}

std::string Scalar::str() const {
  char text[80];
  switch (category_) {
    case Category::boolean:
      return integer_ ? "true" : "false";
    case Category::integer:
      return beyond_ ? std::to_string(std::uint64_t(integer_)) : std::to_string(integer_);
    case Category::complex:
      std::snprintf(text, sizeof text, "(%g%+gj)", real_, imag_);
      return text;
    default:
      std::snprintf(text, sizeof text, "%g", real_);
      return text;
  }
}

}  // namespace neura
