// Orthogonal polynomials of degree n (a float, cut to a whole number; of -1 and less the polynomial is 0), in double.

// p(k + 1) = (a x + b) p(k) - c p(k - 1) upwards; it stops at NaN, and degrees above a million, which no caller means
// but padding may hold, are NaN.
template <class Step> NEURA_HD inline double recurrence(double n, double p0, double p1, Step step) {
  n = ::trunc(n);
  if (!(n >= 0)) return n < 0 ? 0 : kNaN;
  if (n == 0) return p0;
  if (n > 1e6) return kNaN;
  for (int k = 1; k < int(n) && p1 == p1; ++k) {
    const double next = step(double(k), p1, p0);
    p0 = p1, p1 = next;
  }
  return p1;
}
NEURA_HD inline double even_or(double n, double even, double odd) { return ::fmod(::trunc(n), 2.0) == 0 ? even : odd; }

// Chebyshev's four kinds, by the angle where there is one.
NEURA_HD NEURA_CALLED inline double chebyshev_polynomial_t_core(double x, double n) {
  if (n <= -1) return 0;
  if (::fabs(x) == 1) return x > 0 ? 1 : even_or(n, 1, -1);
  if (n > 6 && ::fabs(x) < 1) return ::cos(::trunc(n) * ::acos(x));
  return recurrence(n, 1, x, [x](double, double p, double q) { return 2 * x * p - q; });
}
NEURA_HD NEURA_CALLED inline double chebyshev_polynomial_u_core(double x, double n) {
  if (n <= -1) return 0;
  const double m = ::trunc(n) + 1;
  if (::fabs(x) == 1) return x > 0 ? m : even_or(n, m, -m);
  if (n > 8 && ::fabs(x) < 1) {
    const double t = ::acos(x), s = ::sin(t);
    return s != 0 ? ::sin(m * t) / s : m * ::cos(m * t) / x;
  }
  return recurrence(n, 1, 2 * x, [x](double, double p, double q) { return 2 * x * p - q; });
}
NEURA_HD NEURA_CALLED inline double chebyshev_polynomial_v_core(double x, double n) {
  if (n <= -1) return 0;
  const double m = ::trunc(n) + 0.5;
  if (::fabs(x) == 1) return x > 0 ? 1 : even_or(n, 2 * m, -2 * m);
  if (n > 8 && ::fabs(x) < 1) {
    const double t = ::acos(x);
    return ::cos(m * t) / ::cos(0.5 * t);
  }
  return recurrence(n, 1, 2 * x - 1, [x](double, double p, double q) { return 2 * x * p - q; });
}
NEURA_HD NEURA_CALLED inline double chebyshev_polynomial_w_core(double x, double n) {
  if (n <= -1) return 0;
  const double m = ::trunc(n) + 0.5;
  if (::fabs(x) == 1) return x > 0 ? 2 * m : even_or(n, 1, -1);
  if (n > 8 && ::fabs(x) < 1) {
    const double t = ::acos(x);
    return ::sin(m * t) / ::sin(0.5 * t);
  }
  return recurrence(n, 1, 2 * x + 1, [x](double, double p, double q) { return 2 * x * p - q; });
}
NEURA_HD NEURA_CALLED inline double hermite_polynomial_h_core(double x, double n) {
  return recurrence(n, 1, 2 * x, [x](double k, double p, double q) { return 2 * x * p - 2 * k * q; });
}
NEURA_HD NEURA_CALLED inline double hermite_polynomial_he_core(double x, double n) {
  return recurrence(n, 1, x, [x](double k, double p, double q) { return x * p - k * q; });
}
NEURA_HD NEURA_CALLED inline double laguerre_polynomial_l_core(double x, double n) {
  return recurrence(n, 1, 1 - x, [x](double k, double p, double q) { return ((2 * k + 1 - x) * p - k * q) / (k + 1); });
}
NEURA_HD NEURA_CALLED inline double legendre_polynomial_p_core(double x, double n) {
  if (n > -1 && ::fabs(x) == 1) return x > 0 ? 1 : even_or(n, 1, -1);
  return recurrence(n, 1, x, [x](double k, double p, double q) { return ((2 * k + 1) * x * p - k * q) / (k + 1); });
}
