// Formulas and slopes too long for a row. N is any number; a formula branches with where, never with if.
// |x|. As a Variable its derivative at 0 is 1, not 0: what is smooth there is differentiated from above.
template <class N> NEURA_HD constexpr N magnitude(N x) { return abs(x); }
// exp(-|x|) in two factors: where it nears the subnormals, which hold few digits, the first is e^40 times as large, and
// the second, 1 elsewhere, is e^-40. |x| - 40 is exact there.
template <class N> NEURA_HD constexpr N decay(N x) {
  const N a = magnitude(x);
  return exp(where(a > 80_c, 40_c - a, -a));
}
template <class N> NEURA_HD constexpr N decayed(N x, N v) { return where(x < -80_c, v * 4.248354255291589e-18_c, v); }
template <class N> NEURA_HD constexpr N sigmoid_of(N x) {
  const N e = decay(x);
  return where(x < 0_c, decayed(x, e), N(1_c)) / (1_c + e);
}
template <class R> NEURA_HD complex<R> sigmoid_of(complex<R> x) { return 1_c / (1_c + exp(-x)); }
template <class N> struct Normal {  // distribution and density of the standard normal distribution
  N cdf, pdf;
};
template <class N> NEURA_HD constexpr Normal<N> normal_at(N x) {
  return {0.5_c * erfc(-0.7071067811865476_c * x), 0.3989422804014327_c * exp(-0.5_c * x * x)};
}
#ifdef __CUDA_ARCH__
#include "neura/tables/gelu.h"
#endif
template <class N> NEURA_HD constexpr N gelu_of(N x) { return x * normal_at(x).cdf; }
template <class N> NEURA_HD constexpr N gelu_slope(N g, N x) {
  const Normal<N> n = normal_at(x);
  return g * (n.cdf + x * n.pdf);
}
// (1 + tanh(u)) / 2 is sigmoid(2 u), cheaper and exact in the tail; 2 u = sqrt(8 / pi) (x + 0.044715 x^3).
template <class N> NEURA_HD constexpr N gelu_tanh_gate(N x) {
  return sigmoid_of(1.5957691216057308_c * (x + 0.044715_c * x * x * x));
}
template <class N> NEURA_HD constexpr N gelu_tanh_of(N x) { return x * gelu_tanh_gate(x); }
template <class N> NEURA_HD constexpr N gelu_tanh_slope(N g, N x) {
  const N s = gelu_tanh_gate(x);
  return g * (s + x * s * (1_c - s) * (1.5957691216057308_c * (1_c + 0.134145_c * x * x)));
}
template <class N> NEURA_HD constexpr N silu_of(N x) {
  const N e = decay(x);
  return where(x < 0_c, decayed(x, x * e), x) / (1_c + e);
}
template <class R> NEURA_HD complex<R> silu_of(complex<R> x) { return x / (1_c + exp(-x)); }
template <class N> NEURA_HD constexpr N silu_slope(N g, N x) {
  const N e = decay(x), near = 1_c / (1_c + e), far = e * near;  // sigmoid(|x|) and 1 - sigmoid(|x|)
  const N s = where(x < 0_c, far, near), rest = where(x < 0_c, near, far);
  return g * decayed(x, s * (1_c + x * rest));
}
template <class R> NEURA_HD complex<R> silu_slope(complex<R> g, complex<R> x) {
  const complex<R> s = sigmoid_of(x);
  return g * (s * (1_c + x * (1_c - s)));
}
// With e = exp(x): tanh(log(1 + e)) = n / (n + 2), n = e (e + 2); 1 from 20 on. e is e^40 times as large below -80.
template <class N> NEURA_HD constexpr N mish_growth(N x) { return exp(min(where(x < -80_c, x + 40_c, x), 20_c)); }
template <class N> NEURA_HD constexpr N mish_of(N x) {
  const N e = mish_growth(x), n = e * (e + 2_c);
  return decayed(x, x * (n / (n + 2_c)));
}
template <class N> NEURA_HD constexpr N mish_slope(N g, N x) {
  const N e = mish_growth(x), n = e * (e + 2_c), t = n / (n + 2_c), rest = 2_c / (n + 2_c);  // 1 - t
  return where(x > 20_c, g, g * decayed(x, t + x * (e / (e + 1_c)) * (rest * (1_c + t))));   // e grows no more there
}
// log(1 + exp(v)) without an exp that could overflow.
template <class N> NEURA_HD constexpr N softplus_of(N v) { return max(v, 0_c) + log1p(exp(-abs(v))); }
template <class N> NEURA_HD constexpr N selu_of(N x) {  // Klambauer et al., 2017: scale, scale times alpha
  return where(x > 0_c, 1.0507009873554805_c * x, 1.7580993408473766_c * expm1(x));
}
template <class N> NEURA_HD constexpr N selu_slope(N g, N x) {
  return where(x > 0_c, 1.0507009873554805_c * g, 1.7580993408473766_c * exp(x) * g);
}
template <class N> NEURA_HD constexpr N softsign_slope(N g, N x) {
  const N d = 1_c + abs(x);
  return g / (d * d);
}
template <class N> NEURA_HD constexpr N tanhshrink_slope(N g, N x) {
  const N t = tanh(x);
  return g * (t * t);
}
template <class N> NEURA_HD constexpr N clamped(N x, N low, N high) {  // high wins where low is above it, as in torch
  const N raised = where(x < low, low, x);
  return where(raised > high, high, raised);
}

// Both slopes of atan2 share 1 / r². At the origin the formula is 0 / 0; torch gives 0.
template <class N> NEURA_HD constexpr N atan2_slope(N g, N numerator, N a, N b) {
  const N r2 = a * a + b * b;
  return where(r2 == 0_c, N(0_c), g * numerator / r2);
}
template <class N> NEURA_HD constexpr N pow_slope(N g, N a, N b) {
  return where(b == 0_c, N(0_c), g * (b * pow(a, b - 1_c)));
}
template <class N> NEURA_HD constexpr N pow_exponent_slope(N g, N a, N b, N y) {
  return where(a == 0_c && real(b) >= 0_c, N(0_c), g * (y * log(a)));
}
template <class N> NEURA_HD constexpr N greater_slope(N g, N a, N b) {  // of a in max(a, b)
  return where(a == b, g / 2_c, where(a < b, N(0_c), g));
}
template <class N> NEURA_HD constexpr N fmax_of(N a, N b) { return where(a >= b || b != b, a, b); }
template <class N> NEURA_HD constexpr N fmin_of(N a, N b) { return where(a <= b || b != b, a, b); }
template <class N> NEURA_HD constexpr N heaviside_of(N a, N b) {
  return where(a == 0_c, b, where(a > 0_c, N(1_c), N(0_c)));
}
template <class N> NEURA_HD constexpr N lcm_of(N a, N b) {
  const N d = gcd(a, b);
  return where(d == 0_c, N(0_c), abs(a / d * b));
}
template <class N> NEURA_HD constexpr N logaddexp_of(N a, N b) {  // a == b also where both are the same infinity
  return max(a, b) + log1p(exp(where(a == b, N(0_c), -abs(a - b))));
}
template <class R> NEURA_HD complex<R> logaddexp_of(complex<R> a, complex<R> b) {
  const auto first = a.re >= b.re;
  const complex<R> high = where(first, a, b), low = where(first, b, a);
  return high + log1p(exp(low - high));
}
template <class N> NEURA_HD constexpr N logaddexp2_of(N a, N b) {
  return max(a, b) + log1p(exp2(where(a == b, N(0_c), -abs(a - b)))) * 1.4426950408889634_c;
}
template <class N> NEURA_HD constexpr N xlogy_of(N a, N b) {
  return where(b != b, b, where(a == 0_c, N(0_c), a * log(b)));
}
template <class N> NEURA_HD constexpr N xlogy_slope(N g, N a, N b) {
  return where(a == 0_c && b <= 0_c, N(0_c), xlogy_of(g, b));
}
template <class N> NEURA_HD constexpr N xlog1py_of(N a, N b) {
  return where(b != b, b, where(a == 0_c, N(0_c), a * log1p(b)));
}
template <class N> NEURA_HD constexpr N xlog1py_slope(N g, N a, N b) {
  return where(a == 0_c && b <= -1_c, N(0_c), xlog1py_of(g, b));
}
template <class N> NEURA_HD constexpr N sinc_of(N x) {
  const N t = 3.141592653589793_c * x;
  return where(x == 0_c, N(1_c), sin(t) / t);
}
template <class N> NEURA_HD constexpr N sinc_slope(N g, N x) {
  // The difference of both terms has no digits near 0: a series there, good to 1e-17.
  const N t = 3.141592653589793_c * x;
  const auto near = abs(t) < 0.5_c;
  const N s = where(near, t * t, N(0_c));  // no power of it overflows where the series is not taken
  const N tail = 1_c - s / 54_c * (1_c - s / 88_c * (1_c - s / 130_c * (1_c - s / 180_c)));
  const N series = -1.0471975511965976_c * t * (1_c - s / 10_c * (1_c - s / 28_c * tail));
  return g * where(near, series, (t * cos(t) - sin(t)) / where(near, N(1_c), t * x));
}
template <class N> NEURA_HD constexpr N logit_of(N x, N eps) {
  const N z = where(eps < 0_c, x, clamped(x, eps, 1_c - eps));
  return log(z / (1_c - z));
}
template <class N> NEURA_HD constexpr N logit_slope(N g, N x, N eps) {  // outside: 0 where x is held, else NaN
  const N low = where(eps < 0_c, N(0_c), eps), out = where(eps < 0_c, N(infinity) - N(infinity), N(0_c));
  return where(x < low || x > 1_c - low, out, g / (x * (1_c - x)));
}
template <class N> NEURA_HD constexpr N lerp_of(N a, N b, N c) {  // exact at both ends
  return where(abs(c) < 0.5_c, a + c * (b - a), b - (b - a) * (1_c - c));
}

// What complex numbers do part by part.
template <class N> NEURA_HD constexpr N without_nan(N x, N nan, N high, N low) {
  return where(x != x, nan, where(infinite(x), where(x > 0_c, high, low), x));
}
template <class R> NEURA_HD complex<R> without_nan(complex<R> x, complex<R> nan, complex<R> high, complex<R> low) {
  return {without_nan(x.re, nan.re, high.re, low.re), without_nan(x.im, nan.re, high.re, low.re)};
}
template <class N> NEURA_HD constexpr N sgn_slope(N, N, N) { return N(0_c); }
template <class R> NEURA_HD complex<R> sgn_slope(complex<R> g, complex<R> x, complex<R> y) {
  const R r = abs(x);
  return where(r == 0_c, complex<R>(0_c), g / r - real(g / x) * y);
}
NEURA_HD constexpr Probe sgn_slope(Probe g, Probe x, Probe y) { return g / x * y; }  // the most that one of them reads
template <class N> NEURA_HD constexpr N angle_slope(N, N) { return N(0_c); }
template <class R> NEURA_HD complex<R> angle_slope(R g, complex<R> x) {
  const R r2 = x.re * x.re + x.im * x.im;
  return where(r2 == 0_c, complex<R>(0_c), complex<R>(-g * x.im / r2, g * x.re / r2));
}
NEURA_HD constexpr Probe angle_slope(Probe g, Probe x) { return g * x; }
template <class N> NEURA_HD constexpr N real_slope(N g, N) { return g; }
template <class R> NEURA_HD complex<R> real_slope(R g, complex<R>) { return complex<R>(g); }
NEURA_HD constexpr Probe real_slope(Probe g, Probe) { return -g; }
