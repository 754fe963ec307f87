// clang-format off: macros
// float and double: the C library under one name for both, and the primitives.
#define INSTRUCTION1(name, libm)                               \
  NEURA_HD inline float name(float x) { return ::libm##f(x); } \
  NEURA_HD inline double name(double x) { return ::libm(x); }
#define FUNCTION1(name, libm)                                  \
  NEURA_HD inline float name(float x) { return ::libm##f(x); } \
  NEURA_HD NEURA_CALLED inline double name(double x) { return ::libm(x); }
#define INSTRUCTION2(name, libm)                                           \
  NEURA_HD inline float name(float a, float b) { return ::libm##f(a, b); } \
  NEURA_HD inline double name(double a, double b) { return ::libm(a, b); }
#define FUNCTION2(name, libm)                                                           \
  NEURA_HD NEURA_CALLED inline float name(float a, float b) { return ::libm##f(a, b); } \
  NEURA_HD NEURA_CALLED inline double name(double a, double b) { return ::libm(a, b); }
#define PRIMITIVE1(name)
#define PRIMITIVE2(name)
#include "neura/backend/number/functions.def"
#include "neura/backend/number/end_functions.h"

#define REAL_FUNCTIONS(R)                                                                                    \
  NEURA_HD constexpr R where(bool c, R a, R b) { return c ? a : b; }                                         \
  NEURA_HD constexpr R max(R a, R b) { return a > b || a != a ? a : b; } /* NaN goes through, as in torch */ \
  NEURA_HD constexpr R min(R a, R b) { return a < b || a != a ? a : b; }                                     \
  NEURA_HD constexpr R sgn(R x) { return R(x > 0) - R(x < 0); }                                              \
  NEURA_HD constexpr R real(R x) { return x; }                                                               \
  NEURA_HD constexpr R imag(R) { return R(0); }                                                              \
  NEURA_HD constexpr R conj(R x) { return x; }                                                               \
  NEURA_HD inline bool finite(R x) { return x - x == R(0); }                                                 \
  NEURA_HD inline bool infinite(R x) { return x == x && x - x != R(0); }                                     \
  NEURA_HD inline bool signbit(R x) { return copysign(R(1), x) < R(0); }                                     \
  NEURA_HD inline R angle(R x) { return x != x ? x : x < R(0) ? R(3.141592653589793) : R(0); }               \
  NEURA_HD inline R remainder(R a, R b) {                                                                    \
    const R r = fmod(a, b);                                                                                  \
    return r != R(0) && (r < R(0)) != (b < R(0)) ? r + b : r;                                                \
  }                                                                                                          \
  NEURA_HD inline R floor_divide(R a, R b) { /* exact where a / b rounds up to a whole number */             \
    if (b == R(0)) return a / b;                                                                             \
    const R r = fmod(a, b), q = (a - r) / b - R(r != R(0) && (r < R(0)) != (b < R(0)));                      \
    if (q == R(0)) return copysign(R(0), a / b);                                                             \
    const R whole = floor(q);                                                                                \
    return q - whole > R(0.5) ? whole + R(1) : whole;                                                        \
  }
REAL_FUNCTIONS(float)
REAL_FUNCTIONS(double)
#undef REAL_FUNCTIONS

// The inverse of erf: Giles' polynomial (Approximating the erfinv function, 2012) and steps of Halley's method; the
// polynomial is made for floats, and the last doubles before 1 are far from what it gives.
template <BuiltIn T> NEURA_HD NEURA_CALLED inline T erfinv(T y) {
  const double x = double(y), a = x < 0 ? -x : x;
  if (!(a < 1)) return a == 1 ? T(x * double(infinity)) : T(double(infinity) - double(infinity));
  double w = -::log((1 - x) * (1 + x)), p;
  if (w < 5) {
    w -= 2.5;
    constexpr double c[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                            -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
    p = c[0];
    for (int i = 1; i < 9; ++i) p = p * w + c[i];
  } else {
    w = ::sqrt(w) - 3;
    constexpr double c[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                            -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
    p = c[0];
    for (int i = 1; i < 9; ++i) p = p * w + c[i];
  }
  double r = p * x;
  r = r < 0 ? -r : r;
  for (int i = 0, steps = 1 - a < 1e-11 ? 8 : 2; i < steps; ++i) {
    const double error = a > 0.5 ? (1 - a) - ::erfc(r) : ::erf(r) - a;  // near 1 only erfc has the digits
    const double step = error / (1.1283791670955126 * ::exp(-r * r));
    r -= step / (1 + r * step);
  }
  return T(x < 0 ? -r : x > 0 ? r : x);
}
