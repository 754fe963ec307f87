// clang-format off: macros
// Our complex number over any real number: float, double or a SIMD batch; laid out like std::complex<R>. No branches:
// R's comparisons give R's masks.
// Lists of macros change with every pass of the formatter.
// clang-format off
template <class R> struct complex {
  R re, im;
  complex() = default;
  NEURA_HD constexpr complex(R r, R i) : re(r), im(i) {}
  NEURA_HD constexpr explicit complex(R r) : re(r), im(R(0_c)) {}
  NEURA_HD constexpr complex(Constant c) : re(R(c)), im(R(0_c)) {}

};
template <class R> struct Traits<complex<R>> {
  using mask = mask_of<R>;
  using real = R;
};
template <class N> inline constexpr bool is_complex = false;
template <class R> inline constexpr bool is_complex<complex<R>> = true;
template <class R> inline constexpr bool meets_literals<complex<R>> = true;

template <class R> NEURA_HD constexpr complex<R> operator+(complex<R> a, complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <class R> NEURA_HD constexpr complex<R> operator-(complex<R> a, complex<R> b) { return {a.re - b.re, a.im - b.im}; }
template <class R> NEURA_HD constexpr complex<R> operator-(complex<R> a) { return {-a.re, -a.im}; }
template <class R> NEURA_HD constexpr complex<R> operator*(complex<R> a, complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R> NEURA_HD constexpr complex<R> operator*(R s, complex<R> z) { return {s * z.re, s * z.im}; }
template <class R> NEURA_HD complex<R> operator/(complex<R> z, R s) { return {z.re / s, z.im / s}; }
// scaled, so that |b|² neither overflows nor vanishes; as C has it, what is finite over an infinity is 0; over 0, as
// NumPy has it, each part is divided
template <class R> NEURA_HD NEURA_CALLED complex<R> operator/(complex<R> a, complex<R> b) {
  const R scale = max(abs(b.re), abs(b.im)), re = b.re / scale, im = b.im / scale, d = b.re * re + b.im * im;
  const auto vanishes = (infinite(b.re) || infinite(b.im)) && finite(a.re) && finite(a.im);
  const auto over_zero = scale == 0_c;
  const R x = where(over_zero, a.re, a.re * re + a.im * im), y = where(over_zero, a.im, a.im * re - a.re * im);
  const R by = where(over_zero, scale, d);
  return {where(vanishes, R(0_c), x / by), where(vanishes, R(0_c), y / by)};
}
template <class R> NEURA_HD constexpr auto operator==(complex<R> a, complex<R> b) { return a.re == b.re && a.im == b.im; }
template <class R> NEURA_HD constexpr auto operator!=(complex<R> a, complex<R> b) { return a.re != b.re || a.im != b.im; }

template <class R> NEURA_HD constexpr complex<R> where(mask_of<R> c, complex<R> a, complex<R> b) {
  return {where(c, a.re, b.re), where(c, a.im, b.im)};
}
template <class R> NEURA_HD constexpr complex<R> conj(complex<R> z) { return {z.re, -z.im}; }
template <class R> NEURA_HD constexpr R real(complex<R> z) { return z.re; }
template <class R> NEURA_HD R abs(complex<R> z) {
  const R x = abs(z.re), y = abs(z.im), big = max(x, y), ratio = min(x, y) / big;
  const R size = where(big == 0_c, big, big * sqrt(1_c + ratio * ratio));
  return where(infinite(z.re) || infinite(z.im), R(infinity), size);  // also where the other part is NaN, as in C
}
template <class R> NEURA_HD complex<R> sgn(complex<R> z) {
  const R r = abs(z);
  return where(r == 0_c, complex<R>(0_c), z / r);
}
template <class R> NEURA_HD constexpr R imag(complex<R> z) { return z.im; }
template <class R> NEURA_HD R angle(complex<R> z) { return atan2(z.im, z.re); }
template <class R> NEURA_HD auto finite(complex<R> z) { return finite(z.re) && finite(z.im); }
template <class R> NEURA_HD auto infinite(complex<R> z) { return infinite(z.re) || infinite(z.im); }

// Transcendental functions: the C library's, one number at a time.
#ifdef __CUDACC__  // libcu++ has them for both sides
#define COMPLEX_FUNCTION(name)                                                                \
  template <BuiltIn R> NEURA_HD NEURA_CALLED inline complex<R> name(complex<R> z) {           \
    const ::cuda::std::complex<R> c = ::cuda::std::name(::cuda::std::complex<R>(z.re, z.im)); \
    return {c.real(), c.imag()};                                                              \
  }
#else
#define COMPLEX_FUNCTION(name)                                    \
  template <BuiltIn R> inline complex<R> name(complex<R> z) {     \
    if constexpr (is_same<R, float>) {                            \
      _Complex float c;                                           \
      __real__ c = z.re, __imag__ c = z.im, c = __builtin_c##name##f(c); \
      return {__real__ c, __imag__ c};                            \
    } else {                                                      \
      _Complex double c;                                          \
      __real__ c = z.re, __imag__ c = z.im, c = __builtin_c##name(c);    \
      return {__real__ c, __imag__ c};                            \
    }                                                             \
  }
#endif
COMPLEX_FUNCTION(exp) COMPLEX_FUNCTION(log) COMPLEX_FUNCTION(sqrt) COMPLEX_FUNCTION(sin) COMPLEX_FUNCTION(cos)
COMPLEX_FUNCTION(tan) COMPLEX_FUNCTION(asin) COMPLEX_FUNCTION(acos) COMPLEX_FUNCTION(atan) COMPLEX_FUNCTION(sinh)
COMPLEX_FUNCTION(cosh) COMPLEX_FUNCTION(tanh) COMPLEX_FUNCTION(asinh) COMPLEX_FUNCTION(acosh) COMPLEX_FUNCTION(atanh)
#undef COMPLEX_FUNCTION
template <BuiltIn R> NEURA_HD NEURA_CALLED inline complex<R> log2(complex<R> z) { return R(1.4426950408889634_c) * log(z); }
template <BuiltIn R> NEURA_HD NEURA_CALLED inline complex<R> log10(complex<R> z) { return R(0.4342944819032518_c) * log(z); }
template <BuiltIn R> NEURA_HD NEURA_CALLED inline complex<R> exp2(complex<R> z) { return exp(R(0.6931471805599453_c) * z); }
template <BuiltIn R> NEURA_HD NEURA_CALLED inline complex<R> expm1(complex<R> z) {
  const R half = sin(R(0.5) * z.im);
  return {expm1(z.re) * cos(z.im) - 2_c * half * half, exp(z.re) * sin(z.im)};
}
template <BuiltIn R> NEURA_HD NEURA_CALLED inline complex<R> log1p(complex<R> z) {
  const R x = z.re, y = z.im, far = 1_c + x;
  const bool small = x * x + y * y < R(0.25);  // else 1 + z loses nothing
  return {small ? R(0.5) * log1p(x * (2_c + x) + y * y) : log(hypot(far, y)), atan2(y, far)};
}
template <BuiltIn R> NEURA_HD NEURA_CALLED inline complex<R> pow(complex<R> a, complex<R> b) {
  if (a.re == R(0) && a.im == R(0)) {
    if (b.re > R(0)) return complex<R>(0_c);
    if (b.re == R(0) && b.im == R(0)) return complex<R>(1_c);
    const R unknown = R(infinity) - R(infinity);
    return {b.re < R(0) ? R(infinity) : unknown, unknown};  // a pole, whose angle is not known
  }
  if (b.im == R(0) && (b.re == R(2) || b.re == R(1))) return b.re == R(2) ? a * a : a;
  return exp(b * log(a));
}
