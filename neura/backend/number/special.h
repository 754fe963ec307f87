// clang-format off: macros
// Primitives of the rare functions, computed in double for both floats. Every loop ends for every input: padding lanes
// hold anything. Formulas: Abramowitz & Stegun (A&S), the NIST handbook (DLMF).
// Lists of macros change with every pass of the formatter.
// clang-format off
inline constexpr double kNaN = __builtin_bit_cast(double, 0x7ff8000000000000ull), kInfinity = infinity.value;
inline constexpr double kPi = 3.141592653589793, kEuler = 0.5772156649015329;
NEURA_HD inline bool whole(double x) { return x == ::floor(x); }

NEURA_HD NEURA_CALLED inline double lgamma_core(double x) {
#if defined(__GLIBC__) && !defined(__CUDA_ARCH__)
  int sign;
  return ::lgamma_r(x, &sign);  // lgamma itself writes a global
#else
  return ::lgamma(x);
#endif
}
// Recurrence up to x >= 10, then the asymptotic series (A&S 6.3.18); reflection below 0.
NEURA_HD NEURA_CALLED inline double digamma_core(double x) {
  if (x == 0) return ::copysign(kInfinity, -x);
  double shift = 0;
  if (x < 0) {
    if (whole(x)) return kNaN;
    shift = -kPi / ::tan(kPi * (x - ::trunc(x))), x = 1 - x;
  }
  for (; x < 10; x += 1) shift -= 1 / x;
  const double r = 1 / (x * x);
  return shift + ::log(x) - 0.5 / x - r * (1. / 12 - r * (1. / 120 - r * (1. / 252 - r * (1. / 240 - r * (1. / 132 - r * 691. / 32760)))));
}
// Hurwitz's zeta for q > 0, s > 1: ten terms, then Euler and Maclaurin (DLMF 25.11.7); the numbers are B(2k) / (2k)!.
NEURA_HD NEURA_CALLED inline double hurwitz(double s, double q) {
  constexpr double b[] = {1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000.,
                          1. / 74724249600., -3617. / 10670622842880000.};
  double sum = 0, a = q;
  for (int k = 0; k < 10; ++k, a += 1) sum += ::pow(a, -s);
  double power = ::pow(a, -s), term = s * power / a;
  if (power == 0) return sum;  // of an infinite s or q the rest is infinity times 0
  sum += a * power / (s - 1) + 0.5 * power;
  for (int k = 0; k < 8; ++k) sum += b[k] * term, term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
  return sum;
}
// For q < 0 and whole s the terms before and after the pole are two such sums.
NEURA_HD NEURA_CALLED inline double zeta_core(double s, double q) {
  if (s != s || q != q) return kNaN;
  if (s == 1) return kInfinity;
  if (s < 1) return kNaN;
  if (q > 0) return hurwitz(s, q);
  if (whole(q)) return kInfinity;
  if (!whole(s)) return kNaN;
  const double last = -q - ::floor(-q), before = hurwitz(s, last) - hurwitz(s, 1 - q);
  return hurwitz(s, 1 - last) + (::fmod(s, 2.0) != 0 ? -before : before);
}
NEURA_HD NEURA_CALLED inline double polygamma_core(double n, double x) {
  if (n == 0) return digamma_core(x);
  if (n == 1 && x < 0.5) {  // reflection, A&S 6.4.7
    if (x <= 0 && whole(x)) return kInfinity;
    const double s = ::sin(kPi * (x - ::floor(x)));
    return kPi * kPi / (s * s) - hurwitz(2, 1 - x);
  }
  return (::fmod(n, 2.0) != 0 ? 1 : -1) * ::tgamma(n + 1) * zeta_core(n + 1, x);
}
// exp(x^2) erfc(x): from 6 on the asymptotic series (A&S 7.1.23) has all digits.
NEURA_HD NEURA_CALLED inline double erfcx_core(double x) {
  if (x < 0) return x < -27 ? kInfinity : 2 * ::exp(x * x) - erfcx_core(-x);
  if (x < 6) return ::exp(x * x) * ::erfc(x);
  const double r = 0.5 / (x * x);
  double sum = 1, term = 1;
  for (int k = 1; k < 20; ++k) term *= -(2 * k - 1) * r, sum += term;
  return sum / (x * 1.772453850905516);
}
NEURA_HD NEURA_CALLED inline double log_ndtr_core(double x) {
  const double t = x * 0.7071067811865476;
  return x < -1 ? ::log(0.5 * erfcx_core(-t)) - t * t : ::log1p(-0.5 * ::erfc(t));
}
// Newton's method on log(erfc(t) / 2) = log(p), t = -x / sqrt(2) > 0, whose curve is almost a parabola.
NEURA_HD NEURA_CALLED inline double ndtri_core(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -kInfinity : p == 1 ? kInfinity : kNaN;
  const bool upper = p > 0.5;
  const double goal = ::log(upper ? 1 - p : p), tail = -goal - 0.6931471805599453;
  double t = tail < 0.5 ? tail * 0.8862269254527580 : ::sqrt(tail);
  for (int k = 0; k < 12; ++k) {
    const double scaled = erfcx_core(t), error = ::log(0.5 * scaled) - t * t - goal;
    t += error * 0.8862269254527580 * scaled;
  }
  return (upper ? t : -t) * 1.4142135623730951;
}

// The regularised incomplete gamma functions P and Q. Below a + 1 the series (A&S 6.5.29), above the continued fraction
// (6.5.31) give one of the two, and the other is its complement; a huge `a` takes Temme's expansion (DLMF 8.12.3).
NEURA_HD NEURA_CALLED inline double gamma_part(double a, double x, bool upper) {
  if (!(a >= 0 && x >= 0)) return kNaN;
  if (a == 0) return x > 0 ? !upper : kNaN;
  if (x == 0) return upper;
  if (a == kInfinity) return x == kInfinity ? kNaN : upper;
  if (x == kInfinity) return !upper;
  if (a > 1e6 && ::fabs(x - a) < 0.3 * a) {
    const double mu = (x - a) / a, phi = mu - ::log1p(mu), eta = (mu < 0 ? -1 : 1) * ::sqrt(2 * phi);
    const double rest = ::exp(-a * phi) / ::sqrt(2 * kPi * a) * (::fabs(mu) < 1e-4 ? -1. / 3 + mu / 12 : 1 / mu - 1 / eta);
    const double q = 0.5 * ::erfc(eta * ::sqrt(a / 2)) + rest;
    return upper ? q : 1 - q;
  }
  const double front = ::exp(a * ::log(x) - x - lgamma_core(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int k = 1; k < 20000 && term > sum * 1e-17; ++k) term *= x / (a + k), sum += term;
    const double p = front * sum;
    return upper ? 1 - p : p;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;  // Lentz
  for (int k = 1; k < 20000; ++k) {
    const double an = -k * (k - a);
    b += 2;
    d = an * d + b, c = b + an / c;
    d = 1 / (d == 0 ? 1e-300 : d);
    const double step = d * c;
    h *= step;
    if (::fabs(step - 1) < 1e-16) break;
  }
  const double q = front * h;
  return upper ? q : 1 - q;
}
NEURA_HD inline double igamma_core(double a, double x) { return gamma_part(a, x, false); }
NEURA_HD inline double igammac_core(double a, double x) { return gamma_part(a, x, true); }

// The bfloat16 next to a in the direction of b: one in the upper half of the bits of a float.
NEURA_HD inline double nextafter_bfloat16_core(double a, double b) {
  if (a != a || b != b) return kNaN;
  if (a == b) return b;
  if (a == 0) return b > 0 ? 0x1p-133 : -0x1p-133;
  const uint32_t u = BFloat16::bits_of(float(a));
  return BFloat16::float_of((a < b) == (a > 0) ? u + 0x10000u : u - 0x10000u);
}
#include "neura/backend/number/bessel.h"
#include "neura/backend/number/polynomial.h"

#define OF_BOTH1(name, core) \
  template <BuiltIn T> NEURA_HD inline T name(T x) { return T(core(double(x))); }
#define OF_BOTH2(name, core) \
  template <BuiltIn T> NEURA_HD inline T name(T a, T b) { return T(core(double(a), double(b))); }
#define PRIMITIVE1(name) OF_BOTH1(name, name##_core)
#define PRIMITIVE2(name)
#include "neura/backend/number/special.def"
#undef PRIMITIVE1
#undef PRIMITIVE2
OF_BOTH2(_zeta, zeta_core) OF_BOTH2(_igamma, igamma_core) OF_BOTH2(_igammac, igammac_core) OF_BOTH2(polygamma_of, polygamma_core)
OF_BOTH2(_nextafter_bfloat16, nextafter_bfloat16_core)
#define POLYNOMIAL(name) OF_BOTH2(name, name##_core)
POLYNOMIAL(chebyshev_polynomial_t) POLYNOMIAL(chebyshev_polynomial_u) POLYNOMIAL(chebyshev_polynomial_v)
POLYNOMIAL(chebyshev_polynomial_w) POLYNOMIAL(hermite_polynomial_h) POLYNOMIAL(hermite_polynomial_he)
POLYNOMIAL(laguerre_polynomial_l) POLYNOMIAL(legendre_polynomial_p)
#undef POLYNOMIAL
template <BuiltIn T> NEURA_HD inline T polygamma(T n, T x) {
  if constexpr (is_same<T, float>)  // torch takes the sine in float, which near a pole is a matter of digits
    if (n == 1 && x < 0.5f && !whole(x)) {
      const float s = ::sinf(3.14159265f * x);
      return 9.8696044f / (s * s) - float(hurwitz(2, 1 - x));
    }
  return polygamma_of(n, x);
}
#undef OF_BOTH1
#undef OF_BOTH2
