// clang-format off: macros
// A register of floats as a number: Highway's vectors with operators, and the functions of functions.def.
// Polynomials: Cephes (Moshier); erf: the rational fit that Eigen and XLA use.
// Arguments beyond the ranges of Highway's functions are handled here.
template <class T> using Tag = hn::ScalableTag<T>;

template <class T> struct Mask { hn::Mask<Tag<T>> raw; };
template <class T> HWY_INLINE Mask<T> operator&&(Mask<T> a, Mask<T> b) { return {hn::And(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator||(Mask<T> a, Mask<T> b) { return {hn::Or(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator!=(Mask<T> a, Mask<T> b) { return {hn::Xor(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator!(Mask<T> a) { return {hn::Not(a.raw)}; }

template <class T> struct Batch {
  static constexpr int lanes = int(hn::MaxLanes(Tag<T>()));
  hn::Vec<Tag<T>> raw;
  Batch() = default;
  Batch(hn::Vec<Tag<T>> v) : raw(v) {}
  Batch(Constant c) : raw(hn::Set(Tag<T>(), T(c.value))) {}
};
template <class T> struct Traits<Batch<T>> {
  using mask = Mask<T>;
  using real = Batch<T>;
};
template <class T> inline constexpr bool meets_literals<Batch<T>> = true;

template <class T> HWY_INLINE Batch<T> operator+(Batch<T> a, Batch<T> b) { return hn::Add(a.raw, b.raw); }
template <class T> HWY_INLINE Batch<T> operator-(Batch<T> a, Batch<T> b) { return hn::Sub(a.raw, b.raw); }
template <class T> HWY_INLINE Batch<T> operator*(Batch<T> a, Batch<T> b) { return hn::Mul(a.raw, b.raw); }
template <class T> HWY_INLINE Batch<T> operator/(Batch<T> a, Batch<T> b) { return hn::Div(a.raw, b.raw); }
template <class T> HWY_INLINE Batch<T> operator-(Batch<T> a) { return hn::Neg(a.raw); }
template <class T> HWY_INLINE Mask<T> operator<(Batch<T> a, Batch<T> b) { return {hn::Lt(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator>(Batch<T> a, Batch<T> b) { return {hn::Gt(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator<=(Batch<T> a, Batch<T> b) { return {hn::Le(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator>=(Batch<T> a, Batch<T> b) { return {hn::Ge(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator==(Batch<T> a, Batch<T> b) { return {hn::Eq(a.raw, b.raw)}; }
template <class T> HWY_INLINE Mask<T> operator!=(Batch<T> a, Batch<T> b) {  // hn::Ne is false for NaN
  return {hn::Not(hn::Eq(a.raw, b.raw))};
}
template <class T> HWY_INLINE Batch<T> where(Mask<T> c, Batch<T> a, Batch<T> b) {
  return hn::IfThenElse(c.raw, a.raw, b.raw);
}
// The second one if either is NaN: one instruction of x86, while ARM's prefers the number.
template <class T> HWY_INLINE Batch<T> above(Batch<T> a, Batch<T> b) {
#if defined(__x86_64__)
  return hn::Max(a.raw, b.raw);
#else
  return where(a > b, a, b);
#endif
}
template <class T> HWY_INLINE Batch<T> below(Batch<T> a, Batch<T> b) {
#if defined(__x86_64__)
  return hn::Min(a.raw, b.raw);
#else
  return where(a < b, a, b);
#endif
}
template <class T> HWY_INLINE Batch<T> max(Batch<T> a, Batch<T> b) { return where(a == a, above(a, b), a); }
template <class T> HWY_INLINE Batch<T> min(Batch<T> a, Batch<T> b) { return where(a == a, below(a, b), a); }
template <class T> HWY_INLINE Batch<T> fma(Batch<T> a, Batch<T> b, Batch<T> c) {
  return hn::MulAdd(a.raw, b.raw, c.raw);
}
template <class T> HWY_INLINE Batch<T> abs(Batch<T> x) { return hn::Abs(x.raw); }
template <class T> HWY_INLINE Batch<T> ceil(Batch<T> x) { return hn::Ceil(x.raw); }
template <class T> HWY_INLINE Batch<T> floor(Batch<T> x) { return hn::Floor(x.raw); }
template <class T> HWY_INLINE Batch<T> round(Batch<T> x) { return hn::Round(x.raw); }
template <class T> HWY_INLINE Batch<T> sqrt(Batch<T> x) { return hn::Sqrt(x.raw); }
template <class T> HWY_INLINE Batch<T> trunc(Batch<T> x) { return hn::Trunc(x.raw); }
template <class T> HWY_INLINE Batch<T> copysign(Batch<T> a, Batch<T> b) { return hn::CopySign(a.raw, b.raw); }
template <class T> HWY_INLINE Batch<T> real(Batch<T> x) { return x; }
template <class T> HWY_INLINE Batch<T> imag(Batch<T>) { return 0_c; }
template <class T> HWY_INLINE Mask<T> finite(Batch<T> x) { return x - x == 0_c; }
template <class T> HWY_INLINE Mask<T> infinite(Batch<T> x) { return abs(x) == Batch<T>(infinity); }
template <class T> HWY_INLINE Mask<T> signbit(Batch<T> x) { return copysign(Batch<T>(1_c), x) < Batch<T>(0_c); }
template <class T> HWY_INLINE Batch<T> angle(Batch<T> x) {
  return where(x != x, x, where(x < 0_c, Batch<T>(3.141592653589793_c), Batch<T>(0_c)));
}
// scaled, so that no square overflows or vanishes
template <class T> HWY_INLINE Batch<T> hypot(Batch<T> a, Batch<T> b) {
  const Batch<T> x = abs(a), y = abs(b), big = max(x, y), ratio = min(x, y) / big;
  const Batch<T> r = where(big == 0_c, big, big * sqrt(1_c + ratio * ratio));
  return where(infinite(a) || infinite(b), Batch<T>(infinity), r);
}
template <class T> HWY_INLINE Batch<T> conj(Batch<T> x) { return x; }
template <class T> HWY_INLINE Batch<T> sgn(Batch<T> x) {
  return where(x > 0_c, 1_c, where(x < 0_c, Batch<T>(-1_c), 0_c));
}

// a + x (b + x (c + …)), coefficients from the lowest power up
template <class T> HWY_INLINE Batch<T> horner(Batch<T>, Constant a) { return a; }
template <class T, class... Rest> HWY_INLINE Batch<T> horner(Batch<T> x, Constant a, Rest... rest) {
  return fma(horner(x, rest...), x, Batch<T>(a));
}

template <class T> HWY_INLINE Batch<T> power_of_two(Batch<T> n) {  // n whole, in the range of normal exponents
  const hn::RebindToUnsigned<Tag<T>> bits;                         // adding 1.5 * 2^mantissa leaves n in the low bits
  using U = hn::TFromD<decltype(bits)>;
  constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;
  const auto low = hn::BitCast(bits, (n + (sizeof(T) == 4 ? 12582912_c : 6755399441055744_c)).raw);
  return hn::BitCast(Tag<T>(), hn::ShiftLeft<mantissa>(hn::Add(low, hn::Set(bits, U(sizeof(T) == 4 ? 127 : 1023)))));
}
// y 2^n for whole n and y near 1.
template <class T> HWY_INLINE Batch<T> times_power_of_two(Batch<T> y, Batch<T> n) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  using V = hn::Vec<Tag<T>>;
  if constexpr (sizeof(T) == 4) return V{_mm512_scalef_ps(y.raw.raw, n.raw.raw)};
  else return V{_mm512_scalef_pd(y.raw.raw, n.raw.raw)};
#else
  const Batch<T> edge = sizeof(T) == 4 ? 126_c : 1022_c;
  if (HWY_LIKELY(hn::AllTrue(Tag<T>(), (abs(n) <= edge).raw))) return y * power_of_two(n);
  const Batch<T> half = floor(n * 0.5_c);  // in two steps: n itself may be outside of the normal exponents
  return y * power_of_two(half) * power_of_two(n - half);
#endif
}
// exp(r) 2^n for |r| <= ln(2) / 2 and whole n.
template <class T> HWY_INLINE Batch<T> exp_near(Batch<T> r, Batch<T> n) {
  constexpr bool single = sizeof(T) == 4;
  Batch<T> p;
  if constexpr (single)
    p = horner(r, 5.0000001201e-1_c, 1.6666665459e-1_c, 4.1665795894e-2_c, 8.3334519073e-3_c, 1.3981999507e-3_c,
               1.9875691500e-4_c);
  else
    p = horner(r, 1_c / 2_c, 1_c / 6_c, 1_c / 24_c, 1_c / 120_c, 1_c / 720_c, 1_c / 5040_c, 1_c / 40320_c,
               1_c / 362880_c, 1_c / 3628800_c, 1_c / 39916800_c, 1_c / 479001600_c, 1_c / 6227020800_c);
  return times_power_of_two(fma(p, r * r, r + 1_c), n);
}
template <class T> HWY_INLINE Batch<T> within_bounds(Batch<T> x, Constant low, Constant high) {  // NaN goes through
  return below(Batch<T>(high), above(Batch<T>(low), x));
}
template <class T> HWY_INLINE Batch<T> exp(Batch<T> x) {
  constexpr bool single = sizeof(T) == 4;
  x = within_bounds(x, single ? -104_c : -746_c, single ? 89_c : 710_c);
  const Batch<T> n = round(x * 1.4426950408889634_c);
  const Batch<T> ln2_high = single ? -0.693359375_c : -0.693145751953125_c;
  const Batch<T> ln2_low = single ? 2.12194440e-4_c : -1.42860682030941723212e-6_c;
  return exp_near(fma(n, ln2_low, fma(n, ln2_high, x)), n);
}
template <class T> HWY_INLINE Batch<T> exp2(Batch<T> x) {
  x = within_bounds(x, sizeof(T) == 4 ? -151_c : -1076_c, sizeof(T) == 4 ? 128_c : 1024_c);
  const Batch<T> n = round(x);
  return exp_near((x - n) * 0.6931471805599453_c, n);
}
template <class T> HWY_INLINE Batch<T> tanh(Batch<T> x) {
  const Batch<T> a = abs(x), z = x * x;
  Batch<T> small;
  if constexpr (sizeof(T) == 4)
    small = horner(z, -3.33332819422e-1_c, 1.33314422036e-1_c, -5.37397155531e-2_c, 2.06390887954e-2_c,
                   -5.70498872745e-3_c);
  else
    small = horner(z, -1.61468768441708447952e3_c, -9.92877231001918586564e1_c, -9.64399179425052238628e-1_c) /
            horner(z, 4.84406305325125486048e3_c, 2.23548839060100448583e3_c, 1.12811678491632931402e2_c, 1_c);
  const Batch<T> y = where(a < 0.625_c, fma(small * z, x, x), 1_c - 2_c / (exp(a + a) + 1_c));
  return Batch<T>(hn::CopySign(y.raw, x.raw));  // of -0, too
}

#include "neura/backend/number/batch_math.h"
