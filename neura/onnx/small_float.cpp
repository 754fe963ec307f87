#include "neura/onnx/small_float.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace neura::onnx {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

struct Format {
  int exponent, mantissa, bias;
  enum Special { finite, one_nan, infinities, unsigned_nan } special;  // which bits are no finite numbers
};

constexpr Format format_of(Type t) {
  switch (t) {
    case Type::float8e4m3fn:
      return {4, 3, 7, Format::one_nan};
    case Type::float8e5m2:
      return {5, 2, 15, Format::infinities};
    case Type::float8e4m3fnuz:
      return {4, 3, 8, Format::unsigned_nan};
    case Type::float8e5m2fnuz:
      return {5, 2, 16, Format::unsigned_nan};
    default:
      return {2, 1, 1, Format::finite};  // float4e2m1
  }
}

float decode(const Format& f, unsigned bits) {
  const unsigned m = bits & ((1u << f.mantissa) - 1), e = bits >> f.mantissa & ((1u << f.exponent) - 1);
  const unsigned all = (1u << f.exponent) - 1;
  const bool negative = bits >> (f.mantissa + f.exponent) & 1;
  if (f.special == Format::unsigned_nan && negative && !m && !e) return kNan;
  if (f.special == Format::one_nan && e == all && m == (1u << f.mantissa) - 1) return kNan;
  if (f.special == Format::infinities && e == all) return m ? kNan : negative ? -kInfinity : kInfinity;
  const float fraction = std::ldexp(float(m), -f.mantissa);
  const float x = e ? std::ldexp(1 + fraction, int(e) - f.bias) : std::ldexp(fraction, 1 - f.bias);
  return negative ? -x : x;
}

float largest(const Format& f) {
  float best = 0;
  for (unsigned bits = 0; bits < 1u << (f.exponent + f.mantissa); ++bits) {
    const float x = decode(f, bits);
    if (std::isfinite(x) && x > best) best = x;
  }
  return best;
}

float round_scale(float x, bool saturate) {  // float8e8m0: powers of two alone, up to the next
  if (std::isnan(x)) return kNan;
  if (x <= 0) return x == 0 ? std::ldexp(1.0F, -127) : kNan;
  if (std::isinf(x)) return saturate ? std::ldexp(1.0F, 127) : kNan;
  int e;
  const float m = std::frexp(x, &e);  // x = m 2^e, m in [1/2, 1)
  const int power = m == 0.5F ? e - 1 : e;
  if (power > 127) return saturate ? std::ldexp(1.0F, 127) : kNan;
  return std::ldexp(1.0F, power < -127 ? -127 : power);
}

}  // namespace

float round_to(Type type, float x, bool saturate) {
  if (type == Type::float8e8m0) return round_scale(x, saturate);
  const Format f = format_of(type);
  static const std::array<float, 5> most = {
      largest(format_of(Type::float8e4m3fn)), largest(format_of(Type::float8e4m3fnuz)),
      largest(format_of(Type::float8e5m2)), largest(format_of(Type::float8e5m2fnuz)),
      largest(format_of(Type::float4e2m1))};
  const float top = most[type == Type::float4e2m1 ? 4 : std::size_t(type) - std::size_t(Type::float8e4m3fn)];
  const bool finite_only = f.special == Format::finite;
  if (std::isnan(x)) return finite_only ? -0.0F : kNan;  // there is no NaN: what ml_dtypes makes of it
  const auto beyond = [&](bool clip) {
    if (clip || finite_only) return std::copysign(top, x);
    return f.special == Format::infinities ? std::copysign(kInfinity, x) : kNan;
  };
  if (std::isinf(x)) return beyond(saturate);
  if (x == 0) return f.special == Format::unsigned_nan ? 0.0F : x;
  int e;
  std::frexp(x, &e);
  const int step = std::max(e - 1, 1 - f.bias) - f.mantissa;  // the weight of the last bit
  const float y = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  if (std::abs(y) > top) return beyond(saturate);
  return y == 0 && f.special == Format::unsigned_nan ? 0.0F : y;
}

float number_of_bits(Type type, std::uint8_t bits) {
  if (type == Type::float8e8m0) return bits == 255 ? kNan : std::ldexp(1.0F, int(bits) - 127);
  return decode(format_of(type), bits);
}

std::uint8_t bits_of_number(Type type, float x) {
  const unsigned all = type == Type::float4e2m1 ? 16 : 256;
  for (unsigned bits = 0; bits < all; ++bits) {
    const float y = number_of_bits(type, std::uint8_t(bits));
    if (std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y)) return std::uint8_t(bits);
  }
  return 0;
}

}  // namespace neura::onnx
