// The numbers that folds are computed with: a vector of lanes, or one complex number. Included inside the namespace of
// one instruction set, once each; no guard.
struct Constant {  // a literal, which takes the type that it meets
  double value;
};
constexpr Constant operator-(Constant c) { return {-c.value}; }
constexpr Constant operator""_c(unsigned long long v) { return {double(v)}; }
constexpr Constant infinity{__builtin_inf()};

// Infinities become the ends of an integer's range.
template <class T> constexpr T literal(Constant c) {
  if constexpr (T(0.5) != T(0)) return T(c.value);
  else {
    constexpr T low = T(-1) < T(0) ? T(T(1) << (8 * sizeof(T) - 1)) : T(0), high = T(~low);
    return c.value == infinity.value ? high : c.value == -infinity.value ? low : T(c.value);
  }
}

template <class D> struct Pack {
  using T = hn::TFromD<D>;
  using One = Pack<hn::CappedTag<T, 1>>;
  static constexpr int kLanes = int(hn::MaxLanes(D()));
  static constexpr bool kMaskedLoads = kLanes > 1 && sizeof(T) >= 4 &&
                                       (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3);
  hn::Vec<D> raw;

  HWY_INLINE Pack(hn::Vec<D> v) : raw(v) {}
  HWY_INLINE explicit Pack(Constant c) : raw(hn::Set(D(), literal<T>(c))) {}
  static HWY_INLINE Pack load(const T* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE Pack splat(const T* p) { return hn::Set(D(), *p); }
  static HWY_INLINE Pack load_first(std::int64_t n, const T* p) {
    return hn::MaskedLoad(hn::FirstN(D(), std::size_t(n)), D(), p);
  }
  static HWY_INLINE Pack first(std::int64_t n, Pack a, Pack b) {
    return hn::IfThenElse(hn::FirstN(D(), std::size_t(n)), a.raw, b.raw);
  }
  HWY_INLINE void store(T* p) const { hn::StoreU(raw, D(), p); }
  HWY_INLINE One one() const { return hn::Set(hn::CappedTag<T, 1>(), hn::GetLane(raw)); }
#if HWY_TARGET != HWY_SCALAR
  HWY_INLINE auto lower() const { return Pack<hn::Half<D>>(hn::LowerHalf(hn::Half<D>(), raw)); }
  HWY_INLINE auto upper() const { return Pack<hn::Half<D>>(hn::UpperHalf(hn::Half<D>(), raw)); }
#endif
};
template <class D> HWY_INLINE Pack<D> operator+(Pack<D> a, Pack<D> b) { return hn::Add(a.raw, b.raw); }
template <class D> HWY_INLINE Pack<D> operator-(Pack<D> a, Pack<D> b) { return hn::Sub(a.raw, b.raw); }
template <class D> HWY_INLINE Pack<D> operator*(Pack<D> a, Pack<D> b) { return hn::Mul(a.raw, b.raw); }
template <class D> HWY_INLINE Pack<D> operator/(Pack<D> a, Pack<D> b) { return hn::Div(a.raw, b.raw); }
template <class D> HWY_INLINE Pack<D> abs(Pack<D> a) { return hn::Abs(a.raw); }
template <class D> HWY_INLINE Pack<D> sqrt(Pack<D> a) { return hn::Sqrt(a.raw); }
template <class D> HWY_INLINE Pack<D> or_zero(Pack<D> a) { return hn::IfThenElseZero(hn::Eq(a.raw, a.raw), a.raw); }
template <class D> HWY_INLINE Pack<D> one_unless_zero(Pack<D> a) {
  return hn::IfThenZeroElse(hn::Eq(a.raw, hn::Zero(D())), hn::Set(D(), hn::TFromD<D>(1)));
}
template <class D> HWY_INLINE Pack<D> max(Pack<D> a, Pack<D> b) {  // NaN of either
  if constexpr (hwy::IsFloat<hn::TFromD<D>>())
    return hn::IfThenElse(hn::Or(hn::Gt(a.raw, b.raw), hn::IsNaN(a.raw)), a.raw, b.raw);
  else return hn::Max(a.raw, b.raw);
}
template <class D> HWY_INLINE Pack<D> min(Pack<D> a, Pack<D> b) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>())
    return hn::IfThenElse(hn::Or(hn::Lt(a.raw, b.raw), hn::IsNaN(a.raw)), a.raw, b.raw);
  else return hn::Min(a.raw, b.raw);
}
template <class D> HWY_INLINE Pack<D> exp(Pack<D> x) {  // Highway's is right inside the range of finite results
  using T = hn::TFromD<D>;
  const auto top = hn::Set(D(), T(sizeof(T) == 4 ? 88.72 : 709.78)), inf = hn::Set(D(), T(infinity.value));
  const auto inside = hn::Exp(D(), hn::Min(x.raw, top));
  return hn::IfThenElse(hn::IsNaN(x.raw), x.raw, hn::IfThenElse(hn::Gt(x.raw, top), inf, inside));
}
template <class D, class F> Pack<D> per_lane(F f, Pack<D> a, Pack<D> b) {
  alignas(64) hn::TFromD<D> v[Pack<D>::kLanes], w[Pack<D>::kLanes];
  a.store(v), b.store(w);
  for (int i = 0; i < Pack<D>::kLanes; ++i) v[i] = f(v[i], w[i]);
  return Pack<D>::load(v);
}
template <class D> HWY_NOINLINE Pack<D> pow(Pack<D> a, Pack<D> b) {
  using T = hn::TFromD<D>;
  return per_lane(
      [](T x, T y) { return sizeof(T) == 4 ? T(::powf(float(x), float(y))) : T(::pow(double(x), double(y))); }, a, b);
}
template <class D> HWY_NOINLINE Pack<D> log(Pack<D> a) {
  using T = hn::TFromD<D>;
  return per_lane([](T x, T) { return sizeof(T) == 4 ? T(::logf(float(x))) : T(::log(double(x))); }, a, a);
}

template <class R> struct ComplexElement { R re, im; };
template <class R> struct Complex {
  using T = ComplexElement<R>;
  using One = Complex;
  static constexpr int kLanes = 1;
  static constexpr bool kMaskedLoads = false;
  R re, im;
  HWY_INLINE Complex(R r, R i) : re(r), im(i) {}
  HWY_INLINE explicit Complex(Constant c) : re(R(c.value)), im(0) {}
  static HWY_INLINE Complex load(const T* p) { return {p->re, p->im}; }
  static HWY_INLINE Complex splat(const T* p) { return load(p); }
  HWY_INLINE void store(T* p) const { p->re = re, p->im = im; }
  HWY_INLINE Complex one() const { return *this; }
};
template <class R> HWY_INLINE Complex<R> operator+(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <class R> HWY_INLINE Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R> HWY_INLINE Complex<R> operator/(Complex<R> a, Complex<R> n) { return {a.re / n.re, a.im / n.re}; }

template <DType> struct NumberOf;
#define NUMBER(d, n) \
  template <> struct NumberOf<DType::d> { using type = n; };
NUMBER(float32, Pack<hn::ScalableTag<float>>)
NUMBER(float64, Pack<hn::ScalableTag<double>>)
NUMBER(complex64, Complex<float>)
NUMBER(complex128, Complex<double>)
NUMBER(boolean, Pack<hn::ScalableTag<std::uint8_t>>)
NUMBER(uint8, Pack<hn::ScalableTag<std::uint8_t>>)
NUMBER(int8, Pack<hn::ScalableTag<std::int8_t>>)
NUMBER(int16, Pack<hn::ScalableTag<std::int16_t>>)
NUMBER(int32, Pack<hn::ScalableTag<std::int32_t>>)
NUMBER(int64, Pack<hn::ScalableTag<std::int64_t>>)
#undef NUMBER

template <int...> struct Numbers {};
template <int N, int... I> struct NumbersFrom : NumbersFrom<N - 1, N - 1, I...> {};
template <int... I> struct NumbersFrom<0, I...> { using type = Numbers<I...>; };
template <int N> using NumbersUpTo = typename NumbersFrom<N>::type;
