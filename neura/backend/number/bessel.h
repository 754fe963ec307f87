// Bessel's and Airy's functions, in double (see special.h). Power series where they lose few digits, quadrature or
// recurrence between, asymptotic series far out.

// Sum of (±x²/4)^k / (k! (k + order)!), order 0 or 1.
NEURA_HD NEURA_CALLED inline double bessel_series(double quarter, int order) {
  double term = 1, sum = 1;
  for (int k = 1; k < 120; ++k) {
    term *= quarter / (double(k) * (k + order)), sum += term;
    if (::fabs(term) < 1e-18 * ::fabs(sum)) break;
  }
  return sum;
}
// Hankel's asymptotic series in 1 / x (A&S 9.2.9, 9.7.1): terms of its coefficients until they grow.
NEURA_HD NEURA_CALLED inline double bessel_far(double order, double x) {  // of exp(-x) I(x) sqrt(2 pi x)
  const double mu = 4 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double next = -term * (mu - (2 * k - 1.) * (2 * k - 1.)) / (k * 8. * x);
    if (!(::fabs(next) < ::fabs(term))) break;
    term = next, sum += term;
  }
  return sum;
}
NEURA_HD inline double i0e_core(double x) {
  x = ::fabs(x);
  if (x <= 20) return ::exp(-x) * bessel_series(x * x / 4, 0);
  return x == kInfinity ? 0 : bessel_far(0, x) / (2.5066282746310002 * ::sqrt(x));
}
NEURA_HD inline double i1e_core(double x) {
  const double a = ::fabs(x);
  const double y = a <= 20          ? ::exp(-a) * (a / 2) * bessel_series(a * a / 4, 1)
                   : a == kInfinity ? 0
                                    : bessel_far(1, a) / (2.5066282746310002 * ::sqrt(a));
  return x < 0 ? -y : y;
}
NEURA_HD inline double i0_core(double x) {
  const double a = ::fabs(x);
  if (a <= 20) return bessel_series(x * x / 4, 0);
  if (a > 720) return kInfinity;
  return ::exp(a / 2) * i0e_core(a) * ::exp(a / 2);  // in two steps: exp(a) alone overflows earlier
}
NEURA_HD inline double i1_core(double x) {
  const double a = ::fabs(x);
  if (a <= 20) return x / 2 * bessel_series(x * x / 4, 1);
  if (a > 720) return x < 0 ? -kInfinity : kInfinity;
  return ::exp(a / 2) * i1e_core(x) * ::exp(a / 2);
}

// exp(x) K(x) of any order from 0 to 1, x > 1: the integral of exp(x - x cosh t) cosh(order t) (A&S 9.6.24) by the
// trapezoidal rule, which converges geometrically.
NEURA_HD NEURA_CALLED inline double k_integral(double order, double x) {
  const double h = 0.125 / (x > 16 ? ::sqrt(x / 16) : 1);
  double sum = 0.5;
  for (int k = 1; k < 400; ++k) {
    const double s = ::sinh(0.5 * k * h), drop = 2 * x * s * s;  // x (cosh t - 1)
    if (!(drop < 45)) break;
    sum += ::exp(-drop) * ::cosh(order * k * h);
  }
  return sum * h;
}
NEURA_HD NEURA_CALLED inline double k_near(double x, int order) {  // A&S 9.6.13, 9.6.11
  const double q = x * x / 4, logarithm = ::log(x / 2) + kEuler;
  double term = 1, harmonic = 0, sum = 0;
  if (order == 0) {
    for (int k = 1; k < 40; ++k) term *= q / (double(k) * k), harmonic += 1. / k, sum += term * harmonic;
    return sum - logarithm * bessel_series(q, 0);
  }
  for (int k = 0; k < 40; ++k) {
    sum += term * (2 * harmonic + 1. / (k + 1));
    term *= q / ((k + 1.) * (k + 2.)), harmonic += 1. / (k + 1);
  }
  return 1 / x + logarithm * (x / 2) * bessel_series(q, 1) - x / 4 * sum;
}
NEURA_HD NEURA_CALLED inline double scaled_k(double x, int order) {
  if (!(x > 0)) return x == 0 ? kInfinity : kNaN;
  if (x <= 2) return ::exp(x) * k_near(x, order);
  if (x == kInfinity) return 0;
  return k_integral(order, x);
}
NEURA_HD NEURA_CALLED inline double unscaled_k(double x, int order) {
  return x > 0 && x <= 2 ? k_near(x, order) : x > 2 ? ::exp(-x) * scaled_k(x, order) : scaled_k(x, order);
}
NEURA_HD inline double scaled_modified_bessel_k0_core(double x) { return scaled_k(x, 0); }
NEURA_HD inline double scaled_modified_bessel_k1_core(double x) { return scaled_k(x, 1); }
NEURA_HD inline double modified_bessel_k0_core(double x) { return unscaled_k(x, 0); }
NEURA_HD inline double modified_bessel_k1_core(double x) { return unscaled_k(x, 1); }

struct Oscillating {
  double j0, j1, y0, y1;
};
// x > 0. Up to 25, Miller's recurrence downwards from where J vanishes, and Neumann's series for Y0 and its derivative
// (A&S 9.1.88); beyond, Hankel's expansion (9.2.5).
NEURA_HD NEURA_CALLED inline Oscillating oscillating(double x) {
  if (x > 25) {
    Oscillating r{};
    for (int order = 0; order < 2; ++order) {
      const double mu = 4 * order;
      double term = 1, p = 1, q = 0;
      for (int k = 1; k < 60; ++k) {
        const double next = term * (mu - (2 * k - 1.) * (2 * k - 1.)) / (k * 8. * x);
        if (!(::fabs(next) < ::fabs(term))) break;
        term = next;
        (k & 1 ? q : p) += k & 2 ? -term : term;
      }
      const double phase = kPi / 4 + order * kPi / 2, c = ::cos(x) * ::cos(phase) + ::sin(x) * ::sin(phase);
      const double s = ::sin(x) * ::cos(phase) - ::cos(x) * ::sin(phase), scale = ::sqrt(2 / (kPi * x));
      (order ? r.j1 : r.j0) = scale * (p * c - q * s);
      (order ? r.y1 : r.y0) = scale * (p * s + q * c);
    }
    return r;
  }
  constexpr int top = 80;
  double upper = 0, here = 1e-300, norm = 0, sum = 0, slope = 0, j1 = 0, j0 = 0;
  for (int n = top; n >= 0; --n) {  // here: J(n), upper: J(n + 1), up to a common factor
    if (::fabs(here) > 1e200) here *= 1e-200, upper *= 1e-200, norm *= 1e-200, sum *= 1e-200, slope *= 1e-200;
    const double lower = 2 * n / x * here - upper;  // J(n - 1)
    if (n % 2 == 0) norm += n ? 2 * here : here;
    if (n % 2 == 0 && n) {
      const double sign = n / 2 % 2 ? -1 : 1;
      sum += sign * here / (n / 2), slope += sign * 0.5 * (lower - upper) / (n / 2);
    }
    if (n == 1) j1 = here;
    if (n == 0) j0 = here;
    upper = here, here = lower;
  }
  j0 /= norm, j1 /= norm, sum /= norm, slope /= norm;
  const double logarithm = ::log(x / 2) + kEuler;
  return {j0, j1, 2 / kPi * (logarithm * j0 - 2 * sum), -2 / kPi * (j0 / x - logarithm * j1 - 2 * slope)};
}
NEURA_HD NEURA_CALLED inline double bessel_j0_core(double x) {
  x = ::fabs(x);
  if (x < 1) return bessel_series(-x * x / 4, 0);
  return x == kInfinity ? 0 : x != x ? x : oscillating(x).j0;
}
NEURA_HD NEURA_CALLED inline double bessel_j1_core(double x) {
  const double a = ::fabs(x);
  if (a < 1) return x / 2 * bessel_series(-x * x / 4, 1);
  const double y = a == kInfinity ? 0 : a != a ? a : oscillating(a).j1;
  return x < 0 ? -y : y;
}
NEURA_HD NEURA_CALLED inline double bessel_y0_core(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x < 1e-5) return 2 / kPi * (::log(x / 2) + kEuler);
  return x == kInfinity ? 0 : oscillating(x).y0;
}
NEURA_HD NEURA_CALLED inline double bessel_y1_core(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x < 1e-5) return -2 / (kPi * x);
  return x == kInfinity ? 0 : oscillating(x).y1;
}
NEURA_HD inline double spherical_bessel_j0_core(double x) {
  if (x - x != 0) return x != x ? x : 0;
  return ::fabs(x) < 1e-4 ? 1 - x * x / 6 : ::sin(x) / x;
}
NEURA_HD NEURA_CALLED inline double airy_ai_core(double x) {
  if (x - x != 0) return kNaN;
  if (x > 104) return 0;
  const double a = ::fabs(x), z = 2. / 3 * a * ::sqrt(a);
  if (x > 2.5) return ::exp(-z) * ::sqrt(a / 3) / kPi * k_integral(1. / 3, z);  // A&S 10.4.14
  if (x < -7) {                                                                 // 10.4.60
    double term = 1, even = 1, odd = 0;
    for (int k = 1; k < 40; ++k) {
      const double next = term * (6 * k - 5.) * (6 * k - 1.) / (72. * k * z);
      if (!(next < term)) break;
      term = next;
      (k & 1 ? odd : even) += k & 2 ? -term : term;
    }
    return (::sin(z + kPi / 4) * even - ::cos(z + kPi / 4) * odd) / ::sqrt(kPi * ::sqrt(a));
  }
  const double cube = x * x * x;  // 10.4.2
  double f = 1, g = x, tf = 1, tg = x;
  for (int k = 1; k < 60; ++k) {
    tf *= cube / ((3. * k - 1) * (3. * k)), tg *= cube / ((3. * k) * (3. * k + 1));
    f += tf, g += tg;
  }
  return 0.355028053887817239 * f - 0.258819403792806798 * g;
}
