// clang-format off
// Butterflies of complex numbers that stay side by side in vectors; included once per instruction set, inside its
// namespace. i has -1 and 1 by turns, so that i times the exchanged parts of a is "i a"; for exponents of +i it has
// the opposite signs.

#if HWY_TARGET != HWY_SCALAR
template <class T> HWY_INLINE V<T> exchanged(V<T> a) { return hn::Reverse2(Tag<T>(), a); }
template <class T> HWY_INLINE V<T> plus_i(V<T> a, V<T> b, V<T> i) { return hn::MulAdd(exchanged<T>(b), i, a); }
template <class T> HWY_INLINE V<T> minus_i(V<T> a, V<T> b, V<T> i) { return hn::NegMulAdd(exchanged<T>(b), i, a); }
// a (c - i s)
template <class T> HWY_INLINE V<T> turned(V<T> a, V<T> c, V<T> i_s) {
  return hn::NegMulAdd(exchanged<T>(a), i_s, hn::Mul(a, c));
}
template <class T> HWY_INLINE void both_i(V<T> a, V<T> b, V<T> i, V<T>& minus, V<T>& plus) {
  const V<T> e = exchanged<T>(b);
  minus = hn::NegMulAdd(e, i, a), plus = hn::MulAdd(e, i, a);
}
// y[0] to y[3] from s = a0 + a2, t = a0 - a2, u = a1 + a3, v = a1 - a3.
template <class T> HWY_INLINE void cross(V<T> s, V<T> t, V<T> u, V<T> v, V<T> i, V<T>* y, int step) {
  y[0] = hn::Add(s, u), y[2 * step] = hn::Sub(s, u);
  both_i<T>(t, v, i, y[step], y[3 * step]);
}

struct Radix2 {
  static constexpr int radix = 2;
  template <class T> static HWY_INLINE void turn(V<T>* a, V<T>) {
    const V<T> b = hn::Sub(a[0], a[1]);
    a[0] = hn::Add(a[0], a[1]), a[1] = b;
  }
};
struct Radix3 {
  static constexpr int radix = 3;
  template <class T> static HWY_INLINE void turn(V<T>* a, V<T> i) {
    const Tag<T> d;
    const V<T> sum = hn::Add(a[1], a[2]), side = hn::Sub(a[1], a[2]);
    const V<T> middle = hn::NegMulAdd(sum, hn::Set(d, T(0.5)), a[0]);
    a[0] = hn::Add(a[0], sum);
    both_i<T>(middle, side, hn::Mul(i, hn::Set(d, T(0.866025403784438646763723170752936183))), a[1], a[2]);
  }
};
struct Radix4 {
  static constexpr int radix = 4;
  template <class T> static HWY_INLINE void turn(V<T>* a, V<T> i, int step = 1) {
    const V<T> a0 = a[0], a1 = a[step], a2 = a[2 * step], a3 = a[3 * step];
    cross<T>(hn::Add(a0, a2), hn::Sub(a0, a2), hn::Add(a1, a3), hn::Sub(a1, a3), i, a, step);
  }
};
struct Radix5 {
  static constexpr int radix = 5;
  template <class T> static HWY_INLINE void turn(V<T>* a, V<T> i) {
    const Tag<T> d;
    const V<T> c1 = hn::Set(d, T(0.309016994374947424102293417182819059)),
               c2 = hn::Set(d, T(-0.809016994374947424102293417182819059)),
               s1 = hn::Set(d, T(0.951056516295153572116439333379382143)),
               s2 = hn::Set(d, T(0.587785252292473129168705954639072769));
    const V<T> t1 = hn::Add(a[1], a[4]), t2 = hn::Add(a[2], a[3]), u1 = hn::Sub(a[1], a[4]), u2 = hn::Sub(a[2], a[3]);
    const V<T> m1 = hn::MulAdd(t2, c2, hn::MulAdd(t1, c1, a[0])), m2 = hn::MulAdd(t2, c1, hn::MulAdd(t1, c2, a[0]));
    const V<T> v1 = hn::MulAdd(u2, s2, hn::Mul(u1, s1)), v2 = hn::NegMulAdd(u2, s1, hn::Mul(u1, s2));
    a[0] = hn::Add(hn::Add(a[0], t1), t2);
    both_i<T>(m1, v1, i, a[1], a[4]), both_i<T>(m2, v2, i, a[2], a[3]);
  }
};
struct Radix8 {
  static constexpr int radix = 8;
  template <class T> static HWY_INLINE void turn(V<T>* a, V<T> i) {
    const V<T> c = hn::Set(Tag<T>(), T(0.707106781186547524400844362104849039));
    Radix4::turn<T>(a, i, 2), Radix4::turn<T>(a + 1, i, 2);
    const V<T> e0 = a[0], e1 = a[2], e2 = a[4], e3 = a[6], o0 = a[1], o2 = a[5];
    const V<T> t1 = minus_i<T>(a[3], a[3], i), t3 = plus_i<T>(a[7], a[7], i);
    a[0] = hn::Add(e0, o0), a[4] = hn::Sub(e0, o0);
    a[1] = hn::MulAdd(t1, c, e1), a[5] = hn::NegMulAdd(t1, c, e1);
    both_i<T>(e2, o2, i, a[2], a[6]);
    a[3] = hn::NegMulAdd(t3, c, e3), a[7] = hn::MulAdd(t3, c, e3);
  }
};
struct Radix16 {  // as 4 x 4: b[4 k + j] is result k of the legs j, j + 4, j + 8, j + 12
  static constexpr int radix = 16;
  template <class T> static HWY_INLINE void turn(V<T>* b, V<T> i) {
    const Tag<T> d;
    const V<T> c = hn::Set(d, T(0.707106781186547524400844362104849039)),
               c1 = hn::Set(d, T(0.923879532511286756128183189396788287)),
               s1 = hn::Set(d, T(0.382683432365089771728459984030398866));
    const V<T> ic = hn::Mul(i, c), ic1 = hn::Mul(i, c1), is1 = hn::Mul(i, s1);
    Radix4::turn<T>(b, i, 4), Radix4::turn<T>(b + 1, i, 4), Radix4::turn<T>(b + 2, i, 4), Radix4::turn<T>(b + 3, i, 4);
    V<T> y[16];
    cross<T>(hn::Add(b[0], b[2]), hn::Sub(b[0], b[2]), hn::Add(b[1], b[3]), hn::Sub(b[1], b[3]), i, y, 4);
    {
      const V<T> t = minus_i<T>(b[6], b[6], i), p = turned<T>(b[5], c1, is1), q = turned<T>(b[7], s1, ic1);
      cross<T>(hn::MulAdd(t, c, b[4]), hn::NegMulAdd(t, c, b[4]), hn::Add(p, q), hn::Sub(p, q), i, y + 1, 4);
    }
    {
      const V<T> p = minus_i<T>(b[9], b[9], i), q = plus_i<T>(b[11], b[11], i), u = hn::Sub(p, q), v = hn::Add(p, q);
      V<T> s, t;
      both_i<T>(b[8], b[10], i, s, t);
      y[2] = hn::MulAdd(u, c, s), y[10] = hn::NegMulAdd(u, c, s);
      both_i<T>(t, v, ic, y[6], y[14]);
    }
    {
      const V<T> t = plus_i<T>(b[14], b[14], i), p = turned<T>(b[13], s1, ic1), q = turned<T>(b[15], c1, is1);
      cross<T>(hn::NegMulAdd(t, c, b[12]), hn::MulAdd(t, c, b[12]), hn::Sub(p, q), hn::Add(p, q), i, y + 3, 4);
    }
    HWY_UNROLL(16)
    for (int k = 0; k < 16; ++k) b[k] = y[k];
  }
};
#endif
