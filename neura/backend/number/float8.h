// The 8-bit floats as memory: bits that convert. Overflow saturates to NaN (e4m3fn has no infinity) or infinity (e5m2),
// as PyTorch's conversions do.
template <int Exponent, int Mantissa, bool HasInfinity> struct Float8 {
  uint8_t bits;
  static constexpr int bias = (1 << (Exponent - 1)) - 1, top = (1 << Exponent) - 1;
  Float8() = default;
  NEURA_HD explicit Float8(float x) {
    const uint32_t u = BFloat16::bits_of(x);
    const uint8_t sign = uint8_t(u >> 31 << 7);
    uint32_t a = u & 0x7fffffffu, r;
    constexpr int shift = 23 - Mantissa;
    if (a > 0x7f800000u) {
      r = 0x7f;
    } else if (a < uint32_t(128 - bias) << 23) {  // subnormal: the adder rounds to nearest, ties to even
      const float magic = BFloat16::float_of(uint32_t(127 - bias + 1 + shift) << 23);
      r = BFloat16::bits_of(BFloat16::float_of(a) + magic) - BFloat16::bits_of(magic);
    } else {
      a += (uint32_t(1) << (shift - 1)) - 1 + (a >> shift & 1);
      r = (a - (uint32_t(127 - bias) << 23)) >> shift;
      const uint32_t limit = HasInfinity ? uint32_t(top) << Mantissa : 0x7f;
      r = r > limit ? limit : r;
    }
    bits = uint8_t(sign | r);
  }
  NEURA_HD explicit operator float() const {
    const int e = bits >> Mantissa & top, m = bits & ((1 << Mantissa) - 1);
    float v;
    if (HasInfinity ? e == top : (bits & 0x7f) == 0x7f)
      v = BFloat16::float_of(HasInfinity && !m ? 0x7f800000u : 0x7fc00000u);
    else if (e == 0) v = float(m) * BFloat16::float_of(uint32_t(127 + 1 - bias - Mantissa) << 23);
    else v = BFloat16::float_of(uint32_t(e - bias + 127) << 23 | uint32_t(m) << (23 - Mantissa));
    return bits & 0x80 ? -v : v;
  }
};
using Float8E4M3 = Float8<4, 3, false>;
using Float8E5M2 = Float8<5, 2, true>;
template <class T> inline constexpr bool is_float8 = is_same<T, Float8E4M3> || is_same<T, Float8E5M2>;
NEURA_HD inline float wide(Float8E4M3 x) { return float(x); }
NEURA_HD inline float wide(Float8E5M2 x) { return float(x); }
