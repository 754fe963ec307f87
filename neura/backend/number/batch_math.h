// clang-format off: macros
// The rest of batch.h: what goes lane by lane, logarithms, trigonometry, powers, complex numbers.
// Lists of macros change with every pass of the formatter.
// clang-format off
#include "neura/tables/coefficients.h"

// One lane at a time: primitives, and what has no polynomial here.
template <class T, class F> Batch<T> per_lane(F f, Batch<T> x) {
  HWY_ALIGN T v[Batch<T>::lanes];
  hn::Store(x.raw, Tag<T>(), v);
  for (T& lane : v) lane = f(lane);
  return hn::Load(Tag<T>(), v);
}
template <class T, class F> Batch<T> per_lane(F f, Batch<T> a, Batch<T> b) {
  HWY_ALIGN T v[Batch<T>::lanes], w[Batch<T>::lanes];
  hn::Store(a.raw, Tag<T>(), v);
  hn::Store(b.raw, Tag<T>(), w);
  for (int i = 0; i < Batch<T>::lanes; ++i) v[i] = f(v[i], w[i]);
  return hn::Load(Tag<T>(), v);
}
#define PER_LANE1(name) \
  template <class T> Batch<T> name(Batch<T> x) { return per_lane(static_cast<T (*)(T)>(&name), x); }
#define PER_LANE2(name) \
  template <class T> Batch<T> name(Batch<T> a, Batch<T> b) { return per_lane(static_cast<T (*)(T, T)>(&name), a, b); }
PER_LANE1(acosh)
PER_LANE1(asinh) PER_LANE1(atanh) PER_LANE1(erfinv) PER_LANE2(atan2) PER_LANE2(nextafter)
    PER_LANE2(floor_divide)
#undef PER_LANE1
#undef PER_LANE2

        template <class T>
        HWY_INLINE Batch<T> erf(Batch<T> x) {
  if constexpr (sizeof(T) == 8) return per_lane(static_cast<T (*)(T)>(&erf), x);
  const Batch<T> c = within_bounds(x, -4_c, 4_c), z = c * c;
  const Batch<T> y =
      c *
      horner(z, -1.60960333262415e-02_c, -2.95459980854025e-03_c, -7.34990630326855e-04_c, -5.69250639462346e-05_c,
             -2.10102402082508e-06_c, 2.77068142495902e-08_c, -2.72614225801306e-10_c) /
      horner(z, -1.42647390514189e-02_c, -7.37332916720468e-03_c, -1.68282697438203e-03_c, -2.13374055278905e-04_c,
             -1.45660718464996e-05_c);
  return within_bounds(y, -1_c, 1_c);
}
// By coefficients.h's polynomial; what rounding the square took is put right.
template <class T> HWY_INLINE Batch<T> erfc(Batch<T> x) {
  if constexpr (sizeof(T) == 8) return per_lane(static_cast<T (*)(T)>(&erfc), x);
  const Batch<T> a = within_bounds(abs(x), 0_c, 12_c), square = a * a, rest = fma(a, a, -square);
  const Batch<T> t = 1_c / (1_c + 0.3_c * a), p = horner(t, NEURA_ERFC_COEFFICIENTS(_c));
  const Batch<T> y = t * p * (1_c - rest) * exp(-square);
  return where(x < 0_c, 2_c - y, y);
}
template <class T> HWY_INLINE Batch<T> log(Batch<T> x) {  // Highway's takes finite x > 0 only
  const Batch<T> inside = hn::Log(Tag<T>(), x.raw);
  return where(x > 0_c && x < infinity, inside, where(x == 0_c, -infinity, where(x < 0_c, infinity - infinity, x)));
}
// x = 2^e m with m in [sqrt(1/2), sqrt(2)): powers of the base come out exact.
template <class T> HWY_INLINE Batch<T> log_to_base(Batch<T> x, Constant of_two, Constant of_e) {
  const hn::RebindToUnsigned<Tag<T>> bits;
  using U = hn::TFromD<decltype(bits)>;
  constexpr int mantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr U bias = sizeof(T) == 4 ? 127 : 1023;
  const auto tiny = x < (sizeof(T) == 4 ? 1.17549435e-38_c : 2.2250738585072014e-308_c);
  const Batch<T> normal = where(tiny, x * (sizeof(T) == 4 ? 16777216_c : 18014398509481984_c), x);
  // a root of one half is added to the bits so that the exponent steps there
  constexpr U root = sizeof(T) == 4 ? U(0x3f3504f3) : U(0x3fe6a09e667f3bcdull), one = bias << mantissa;
  const auto u = hn::Add(hn::BitCast(bits, normal.raw), hn::Set(bits, U(one - root)));
  const hn::RebindToSigned<Tag<T>> whole;
  using S = hn::TFromD<decltype(whole)>;
  const auto exponent = hn::Sub(hn::BitCast(whole, hn::ShiftRight<mantissa>(u)), hn::Set(whole, S(bias)));
  const Batch<T> raised = where(tiny, Batch<T>(sizeof(T) == 4 ? 24_c : 54_c), Batch<T>(0_c));
  const Batch<T> e = Batch<T>(hn::ConvertTo(Tag<T>(), exponent)) - raised;
  const auto m = hn::Add(hn::And(u, hn::Set(bits, U((U(1) << mantissa) - 1))), hn::Set(bits, root));
  const Batch<T> part = log(Batch<T>(hn::BitCast(Tag<T>(), m)));
  const Batch<T> y = fma(e, Batch<T>(of_two), part * of_e);
  return where(x > 0_c && x < infinity, y, log(x));
}
template <class T> HWY_INLINE Batch<T> log2(Batch<T> x) { return log_to_base(x, 1_c, 1.4426950408889634_c); }
template <class T> HWY_INLINE Batch<T> log10(Batch<T> x) {
  return log_to_base(x, 0.3010299956639812_c, 0.4342944819032518_c);
}
template <class T> HWY_INLINE Batch<T> log1p(Batch<T> x) {
  const Batch<T> inside = hn::Log1p(Tag<T>(), x.raw);
  return where(x > -1_c && x < infinity, inside, where(x == -1_c, -infinity, where(x < -1_c, infinity - infinity, x)));
}
template <class T> HWY_INLINE Batch<T> expm1(Batch<T> x) {
  const Batch<T> y = where(x == 0_c, x, Batch<T>(hn::Expm1(Tag<T>(), min(x, sizeof(T) == 4 ? 104_c : 706_c).raw)));
  return sizeof(T) == 4 || hn::AllTrue(Tag<T>(), (x <= 706_c).raw) ? y : where(x > 706_c, exp(x), y);  // Highway's end
}
template <class T> bool within(Batch<T> x, T bound) { return hn::AllTrue(Tag<T>(), (abs(x) <= Constant{double(bound)}).raw); }
// Highway's sine is right up to 39000; beyond, the C library's. Lane by lane: what an element gives must not depend on
// its neighbours, nor on the padding after the last one. -0 stays -0.
template <class T> HWY_INLINE Batch<T> sine(Batch<T> x) { return where(x == 0_c, x, Batch<T>(hn::Sin(Tag<T>(), x.raw))); }
template <class T, class F> HWY_INLINE Batch<T> near_or_far(Batch<T> x, Batch<T> near, F far) {
  const auto inside = abs(x) <= 39000_c;
  return hn::AllTrue(Tag<T>(), inside.raw) ? near : where(inside, near, per_lane(far, x));
}
template <class T> HWY_INLINE Batch<T> sin(Batch<T> x) {
  return near_or_far<T>(x, sine(x), static_cast<T (*)(T)>(&sin));
}
template <class T> HWY_INLINE Batch<T> cos(Batch<T> x) {
  return near_or_far<T>(x, hn::Cos(Tag<T>(), x.raw), static_cast<T (*)(T)>(&cos));
}
template <class T> HWY_INLINE Batch<T> tan(Batch<T> x) {
  return near_or_far<T>(x, sine(x) / Batch<T>(hn::Cos(Tag<T>(), x.raw)), static_cast<T (*)(T)>(&tan));
}
template <class T> HWY_INLINE Batch<T> asin(Batch<T> x) { return hn::Asin(Tag<T>(), x.raw); }
template <class T> HWY_INLINE Batch<T> acos(Batch<T> x) { return hn::Acos(Tag<T>(), x.raw); }
template <class T> HWY_INLINE Batch<T> atan(Batch<T> x) { return hn::Atan(Tag<T>(), x.raw); }
template <class T> HWY_INLINE Batch<T> sinh(Batch<T> x) {
  const Batch<T> a = abs(x), m = expm1(min(a, 20_c)), h = exp(0.5_c * a);
  return copysign(where(a > 20_c, 0.5_c * h * h, 0.5_c * (m + m / (m + 1_c))), x);
}
template <class T> HWY_INLINE Batch<T> cosh(Batch<T> x) {
  const Batch<T> a = abs(x), e = exp(min(a, 20_c)), h = exp(0.5_c * a);
  return where(a > 20_c, 0.5_c * h * h, 0.5_c * (e + 1_c / e));
}

// a - b trunc(a / b) is exact while the quotient is a whole number of the mantissa: one step mends a quotient rounded
// up.
template <class T> HWY_INLINE Batch<T> fmod(Batch<T> a, Batch<T> b) {
  const Batch<T> q = a / b;
  if (!within<T>(q, sizeof(T) == 4 ? 4e6f : T(2e15)) || !within<T>(b, sizeof(T) == 4 ? 1e30f : T(1e300)))
    return per_lane(static_cast<T (*)(T, T)>(&fmod), a, b);
  const Batch<T> r = fma(-trunc(q), b, a);
  const auto beyond = r != 0_c && signbit(r) != signbit(a);
  return copysign(where(beyond, r + copysign(abs(b), a), r), a);
}
template <class T> HWY_INLINE Batch<T> remainder(Batch<T> a, Batch<T> b) {
  const Batch<T> r = fmod(a, b);
  return where(r != 0_c && (r < 0_c) != (b < 0_c), r + b, r);
}

// pow of floats in double: log and exp lose nothing there that a float shows.
#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
HWY_INLINE Batch<double> pow_wide(Batch<double> a, Batch<double> b) {
  const Batch<double> y = exp(b * log(abs(a)));
  const auto whole = b == trunc(b), odd = whole && abs(b) < 16777216_c && b - 2_c * trunc(b * 0.5_c) != 0_c;
  const Batch<double> signed_y = where(odd && signbit(a), -y, y);
  const auto undefined = a < 0_c && !whole && abs(b) < infinity && abs(a) < infinity;
  const auto one = b == 0_c || a == 1_c || (a == -1_c && abs(b) == Batch<double>(infinity));
  return where(one, Batch<double>(1_c), where(undefined, Batch<double>(infinity) - Batch<double>(infinity), signed_y));
}
#endif
template <class T> HWY_INLINE Batch<T> any_pow(Batch<T> a, Batch<T> b) {
#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4) {
    const hn::ScalableTag<double> wide;
    const hn::Rebind<float, decltype(wide)> half;
    const auto part = [&](auto x, auto y) HWY_ATTR {
      const Batch<double> v = hn::PromoteTo(wide, x), w = hn::PromoteTo(wide, y);
      return hn::DemoteTo(half, pow_wide(v, w).raw);
    };
    const auto low = part(hn::LowerHalf(half, a.raw), hn::LowerHalf(half, b.raw));
    return hn::Combine(Tag<T>(), part(hn::UpperHalf(half, a.raw), hn::UpperHalf(half, b.raw)), low);
  }
#endif
  return per_lane(static_cast<T (*)(T, T)>(&pow), a, b);
}
// The exponents that are written most, lane by lane: an element's answer must not depend on its neighbours.
template <class T> HWY_INLINE Batch<T> pow(Batch<T> a, Batch<T> b) {
  const auto two = b == 2_c, three = b == 3_c, root = b == 0.5_c && a >= 0_c;
  const Batch<T> square = a * a, easy = where(two, square, where(three, square * a, sqrt(a)));
  const auto known = two || three || root;
  return hn::AllTrue(Tag<T>(), known.raw) ? easy : where(known, easy, any_pow(a, b));
}

// Complex numbers: one at a time, with the C library's functions.
template <class T> using ComplexFn = complex<T>(complex<T>);
template <class T> complex<Batch<T>> per_lane(ComplexFn<T>* f, complex<Batch<T>> z) {
  HWY_ALIGN T re[Batch<T>::lanes], im[Batch<T>::lanes];
  hn::Store(z.re.raw, Tag<T>(), re);
  hn::Store(z.im.raw, Tag<T>(), im);
  for (int i = 0; i < Batch<T>::lanes; ++i) {
    const complex<T> r = f(complex<T>(re[i], im[i]));
    re[i] = r.re, im[i] = r.im;
  }
  return {Batch<T>(hn::Load(Tag<T>(), re)), Batch<T>(hn::Load(Tag<T>(), im))};
}
#define PER_COMPLEX(name)                                          \
  template <class T> complex<Batch<T>> name(complex<Batch<T>> z) { \
    return per_lane<T>(static_cast<ComplexFn<T>*>(&name), z);      \
  }
PER_COMPLEX(exp)
PER_COMPLEX(log) PER_COMPLEX(sqrt) PER_COMPLEX(sin) PER_COMPLEX(cos) PER_COMPLEX(tan) PER_COMPLEX(asin)
    PER_COMPLEX(acos) PER_COMPLEX(atan) PER_COMPLEX(sinh) PER_COMPLEX(cosh) PER_COMPLEX(tanh) PER_COMPLEX(asinh)
        PER_COMPLEX(acosh) PER_COMPLEX(atanh) PER_COMPLEX(log2) PER_COMPLEX(log10) PER_COMPLEX(exp2) PER_COMPLEX(expm1)
            PER_COMPLEX(log1p)
#undef PER_COMPLEX
                template <class T>
                complex<Batch<T>> pow(complex<Batch<T>> a, complex<Batch<T>> b) {
  HWY_ALIGN T v[4][Batch<T>::lanes];
  hn::Store(a.re.raw, Tag<T>(), v[0]);
  hn::Store(a.im.raw, Tag<T>(), v[1]);
  hn::Store(b.re.raw, Tag<T>(), v[2]);
  hn::Store(b.im.raw, Tag<T>(), v[3]);
  for (int i = 0; i < Batch<T>::lanes; ++i) {
    const complex<T> r = pow(complex<T>(v[0][i], v[1][i]), complex<T>(v[2][i], v[3][i]));
    v[0][i] = r.re, v[1][i] = r.im;
  }
  return {Batch<T>(hn::Load(Tag<T>(), v[0])), Batch<T>(hn::Load(Tag<T>(), v[1]))};
}
