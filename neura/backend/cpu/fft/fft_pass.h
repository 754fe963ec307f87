// clang-format off
// Stockham's passes over a tile; included once per instruction set, inside its namespace. A pass reads `radix` legs of
// m * s elements each and writes, for each p < m, the radix results next to one another: y[s (radix p + k) + q].

template <class T> struct Pass {
  const T *re, *im;
  T *to_re, *to_im;
  int64_t m, s;  // s: with the lanes
  const T* factors;
};
template <class T> struct C {  // implicit constructors would not be of the instruction set
  V<T> re, im;
  HWY_INLINE C() {}
  HWY_INLINE C(V<T> r, V<T> i) : re(r), im(i) {}
};

template <class T> HWY_INLINE C<T> operator+(C<T> a, C<T> b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
template <class T> HWY_INLINE C<T> operator-(C<T> a, C<T> b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
template <class T> HWY_INLINE C<T> times(C<T> a, C<T> b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}
template <class T> HWY_INLINE C<T> scaled(C<T> a, V<T> f) { return {hn::Mul(a.re, f), hn::Mul(a.im, f)}; }
template <class T> HWY_INLINE C<T> plus(C<T> sum, C<T> a, V<T> f) {
  return {hn::MulAdd(a.re, f, sum.re), hn::MulAdd(a.im, f, sum.im)};
}
template <class T> HWY_INLINE C<T> minus(C<T> sum, C<T> a, V<T> f) {
  return {hn::NegMulAdd(a.re, f, sum.re), hn::NegMulAdd(a.im, f, sum.im)};
}
template <class T> HWY_INLINE C<T> minus_i(C<T> a, C<T> b) { return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)}; }
template <class T> HWY_INLINE C<T> plus_i(C<T> a, C<T> b) { return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)}; }
template <class T> HWY_INLINE C<T> read(const T* re, const T* im, int64_t at) {
  const Tag<T> d;
  return {hn::Load(d, re + at), hn::Load(d, im + at)};
}
template <class T> HWY_INLINE void write(C<T> v, T* re, T* im, int64_t at) {
  const Tag<T> d;
  hn::Store(v.re, d, re + at), hn::Store(v.im, d, im + at);
}
template <class T> HWY_INLINE C<T> all(const T* factor) {
  const Tag<T> d;
  return {hn::Set(d, factor[0]), hn::Set(d, factor[1])};
}

struct Radix2 {
  static constexpr int radix = 2;
  template <class T> static HWY_INLINE void turn(C<T>* a) {
    const C<T> b = a[0] - a[1];
    a[0] = a[0] + a[1], a[1] = b;
  }
};
struct Radix3 {
  static constexpr int radix = 3;
  template <class T> static HWY_INLINE void turn(C<T>* a) {
    const Tag<T> d;
    const C<T> sum = a[1] + a[2], side = scaled(a[1] - a[2], hn::Set(d, T(0.866025403784438646763723170752936183)));
    const C<T> middle = minus(a[0], sum, hn::Set(d, T(0.5)));
    a[0] = a[0] + sum, a[1] = minus_i(middle, side), a[2] = plus_i(middle, side);
  }
};
struct Radix4 {
  static constexpr int radix = 4;
  template <class T> static HWY_INLINE void turn(C<T>* a) {
    const C<T> s = a[0] + a[2], t = a[0] - a[2], u = a[1] + a[3], v = a[1] - a[3];
    a[0] = s + u, a[1] = minus_i(t, v), a[2] = s - u, a[3] = plus_i(t, v);
  }
};
struct Radix5 {
  static constexpr int radix = 5;
  template <class T> static HWY_INLINE void turn(C<T>* a) {
    const Tag<T> d;
    const auto c1 = hn::Set(d, T(0.309016994374947424102293417182819059)),
               c2 = hn::Set(d, T(-0.809016994374947424102293417182819059)),
               s1 = hn::Set(d, T(0.951056516295153572116439333379382143)),
               s2 = hn::Set(d, T(0.587785252292473129168705954639072769));
    const C<T> t1 = a[1] + a[4], t2 = a[2] + a[3], u1 = a[1] - a[4], u2 = a[2] - a[3];
    const C<T> m1 = plus(plus(a[0], t1, c1), t2, c2), m2 = plus(plus(a[0], t1, c2), t2, c1);
    const C<T> v1 = plus(scaled(u1, s1), u2, s2), v2 = minus(scaled(u1, s2), u2, s1);
    a[0] = a[0] + t1 + t2, a[1] = minus_i(m1, v1), a[4] = plus_i(m1, v1), a[2] = minus_i(m2, v2), a[3] = plus_i(m2, v2);
  }
};

template <class R, class T> void pass(const Pass<T>& t) {
  constexpr int r = R::radix;
  const int64_t lanes = int64_t(hn::Lanes(Tag<T>())), leg = t.m * t.s;
  const T* factor = t.factors;
  for (int64_t p = 0; p < t.m; ++p, factor += 2 * (r - 1)) {
    const T *re = t.re + p * t.s, *im = t.im + p * t.s;
    T *to_re = t.to_re + r * p * t.s, *to_im = t.to_im + r * p * t.s;
    C<T> w[r];
    HWY_UNROLL(8)
    for (int k = 1; k < r; ++k) w[k] = all(factor + 2 * (k - 1));
    for (int64_t q = 0; q < t.s; q += lanes) {
      C<T> a[r];
      HWY_UNROLL(8)
      for (int j = 0; j < r; ++j) a[j] = read(re, im, q + j * leg);
      R::turn(a);
      write(a[0], to_re, to_im, q);
      HWY_UNROLL(8)
      for (int k = 1; k < r; ++k) write(t.m == 1 ? a[k] : times(a[k], w[k]), to_re, to_im, q + k * t.s);
    }
  }
}

// Any odd radix: sums and differences of the legs j and radix - j wait in a buffer.
template <class T> void odd_pass(const Pass<T>& t, int r) {
  constexpr int kMost = kFftLargestRadix / 2;
  const Tag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), leg = t.m * t.s;
  const int half = r / 2;
  const T *const roots = t.factors, *factor = roots + 2 * r;
  alignas(64) T buffer[4 * kMost * kFftLanes];
  T *const sr = buffer, *const si = sr + kMost * kFftLanes, *const ur = si + kMost * kFftLanes,
           *const ui = ur + kMost * kFftLanes;
  for (int64_t p = 0; p < t.m; ++p, factor += 2 * (r - 1)) {
    const T *re = t.re + p * t.s, *im = t.im + p * t.s;
    T *to_re = t.to_re + r * p * t.s, *to_im = t.to_im + r * p * t.s;
    for (int64_t q = 0; q < t.s; q += lanes) {
      const C<T> first = read(re, im, q);
      C<T> sum = first;
      for (int j = 1; j <= half; ++j) {
        const C<T> a = read(re, im, q + j * leg), b = read(re, im, q + (r - j) * leg), s = a + b;
        sum = sum + s;
        write(s, sr, si, (j - 1) * kFftLanes), write(a - b, ur, ui, (j - 1) * kFftLanes);
      }
      write(sum, to_re, to_im, q);
      for (int k = 1; k <= half; ++k) {
        C<T> middle = first, side{hn::Zero(d), hn::Zero(d)};
        for (int j = 0, turn = k; j < half; ++j, turn = (turn + k) % r) {  // roots have -sin
          middle = plus(middle, read(sr, si, j * kFftLanes), hn::Set(d, roots[2 * turn]));
          side = minus(side, read(ur, ui, j * kFftLanes), hn::Set(d, roots[2 * turn + 1]));
        }
        write(times(minus_i(middle, side), all(factor + 2 * (k - 1))), to_re, to_im, q + k * t.s);
        write(times(plus_i(middle, side), all(factor + 2 * (r - k - 1))), to_re, to_im, q + (r - k) * t.s);
      }
    }
  }
}
