// clang-format off
// Stockham's passes over complex numbers that stay side by side in vectors; included once per instruction set, inside
// its namespace, after fft_radix.h.

#if HWY_TARGET != HWY_SCALAR
template <class T> struct Pass {
  const T* from;
  T* to;
  int64_t lines, line_in, line_out;  // how many lines, and how far apart
  int64_t step_in, step_out;         // from vector to vector
  int64_t m, s;                      // legs of m * s vectors
  const T* factors;
  V<T> i, scale;
  bool ahead;  // are the next lines prefetched?
  bool past;   // does the last pass write past the caches?
};
template <class T> HWY_INLINE V<T> parts(const T* pair) {
  if constexpr (sizeof(T) == 8) return hn::LoadDup128(Tag<T>(), pair);
  std::uint64_t both;
  std::memcpy(&both, pair, sizeof both);
  return hn::BitCast(Tag<T>(), hn::Set(Tag<std::uint64_t>(), both));
}
template <class R, class T> HWY_INLINE void turn_of(const T* from, int64_t leg, V<T> i, V<T>* a) {
  const Tag<T> d;
  HWY_UNROLL(16)
  for (int j = 0; j < R::radix; ++j) a[j] = hn::LoadU(d, from + j * leg);
  R::template turn<T>(a, i);
}
// Element e of the source is a vector, of as many lines or of neighbours in one; y[s (radix p + k) + q].
template <class R, class T> void pass(const Pass<T>& t) {
  constexpr int r = R::radix;
  const Tag<T> d;
  const int64_t leg = t.m * t.s * t.step_in, next = t.s * t.step_out;
  const V<T> i = t.i;
  for (int64_t line = 0; line < t.lines; ++line) {
    const T *from = t.from + line * t.line_in, *factor = t.factors;
    T* to = t.to + line * t.line_out;
    for (int64_t p = 0; p < t.m; ++p, factor += 4 * (r - 1), to += (r - 1) * next)
      for (int64_t q = 0; q < t.s; ++q, from += t.step_in, to += t.step_out) {
        V<T> a[r];
        turn_of<R>(from, leg, i, a);
        hn::StoreU(a[0], d, to);
        HWY_UNROLL(16)
        for (int k = 1; k < r; ++k) {
          const T* const w = factor + 4 * (k - 1);
          hn::StoreU(hn::MulAdd(exchanged<T>(a[k]), parts(w + 2), hn::Mul(a[k], hn::Set(d, *w))), d, to + k * next);
        }
      }
  }
}
// The last one, of m = 1: no factors but the scale.
template <class R, bool scaled, bool past, class T> void last_pass(const Pass<T>& t) {
  constexpr int r = R::radix;
  const Tag<T> d;
  const int64_t leg = t.s * t.step_in, next = t.s * t.step_out;
  const V<T> i = t.i, f = t.scale;
  for (int64_t line = 0; line < t.lines; ++line) {
    const T* from = t.from + line * t.line_in;
    T* to = t.to + line * t.line_out;
    for (int64_t q = 0; q < t.s; ++q, from += t.step_in, to += t.step_out) {
      V<T> a[r];
      turn_of<R>(from, leg, i, a);
      HWY_UNROLL(16)
      for (int k = 0; k < r; ++k)
        if constexpr (past) hn::Stream(hn::Mul(a[k], f), d, to + k * next);
        else hn::StoreU(scaled ? hn::Mul(a[k], f) : a[k], d, to + k * next);
    }
  }
}
// v[k] = a[k] times its factor, as bytes to transpose; that of a[0] is 1.
template <int r, class T> HWY_INLINE void by_factors(const V<T>* a, const T* factor, Vector* v) {
  const Tag<T> d;
  const Tag<double> bytes;
  v[0] = hn::BitCast(bytes, a[0]);
  HWY_UNROLL(16)
  for (int k = 1; k < r; ++k, factor += 4 * kFftBlock)
    v[k] = hn::BitCast(bytes, hn::MulAdd(exchanged<T>(a[k]), hn::LoadU(d, factor + 2 * kFftBlock),
                                         hn::Mul(a[k], hn::LoadU(d, factor))));
}
// The first one of single lines: vectors of neighbours p, whose results become neighbours k.
template <class R, class T> void first_pass(const Pass<T>& t) {
  constexpr int r = R::radix, square = kSquare<T>;
  const Tag<double> bytes;
  const V<T> i = t.i;
  for (int64_t line = 0; line < t.lines; ++line)
    for (int64_t p = 0; p < t.m; p += square) {
      const T *const from = t.from + line * t.line_in + 2 * p, *const ahead = from + t.lines * t.line_in;
      const T* factor = t.factors + p / kFftBlock * (4 * kFftBlock * (r - 1)) + 2 * (p % kFftBlock);
      if (t.ahead)
        for (int j = 0; j < r; ++j) hwy::Prefetch(ahead + 2 * j * t.m);
      V<T> a[r];
      turn_of<R>(from, 2 * t.m, i, a);
      Vector v[r];
      by_factors<r, T>(a, factor, v);
      T* const to = t.to + line * t.line_out + 2 * r * p;
      HWY_UNROLL(16)
      for (int k = 0; k < r; k += square) {
        transpose<T>(v + k);
        HWY_UNROLL(16)
        for (int j = 0; j < square; ++j)
          hn::StoreU(v[k + j], bytes, reinterpret_cast<double*>(to + 2 * (r * j + k)));
      }
    }
}
// Lines of as many vectors as a vector has numbers: both passes in registers.
template <class R, class T> HWY_NOINLINE void both_passes(const Pass<T>& t, const FftInterleavedLines<T>& to) {
  constexpr int r = R::radix;
  const Tag<T> d;
  const V<T> i = t.i, f = t.scale;
  for (int64_t line = 0; line < t.lines; ++line) {
    const T *const from = t.from + line * t.line_in, *factor = t.factors, *const ahead = from + t.lines * t.line_in;
    if (t.ahead)
      for (int j = 0; j < r; ++j) hwy::Prefetch(ahead + 2 * j * r);
    V<T> a[r];
    turn_of<R>(from, 2 * r, i, a);
    Vector v[r];
    by_factors<r, T>(a, factor, v);
    transpose<T>(v);
    HWY_UNROLL(16)
    for (int k = 0; k < r; ++k) a[k] = hn::BitCast(d, v[k]);
    R::template turn<T>(a, i);
    HWY_UNROLL(16)
    for (int k = 0; k < r; ++k) hn::StoreU(hn::Mul(a[k], f), d, to.at + line * to.apart + 2 * k * r);
  }
}
#endif
