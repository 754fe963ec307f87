// SIMD vectors as numbers, for kernels over rows: Floats and Doubles of one instruction set, with loads and stores of
// whole and of partial vectors. No guard: included inside a target's namespace.
#include "neura/backend/number/numbers.h"
namespace hn = hwy::HWY_NAMESPACE;
#include "neura/backend/number/batch.h"
using Floats = Batch<float>;
#if HWY_HAVE_FLOAT64
using Doubles = Batch<double>;
#else
using Doubles = double;
#endif
inline float fma(float a, float b, float c) { return a * b + c; }
inline double fma(double a, double b, double c) { return a * b + c; }

template <class N> struct Lanes {  // a number that is its own register
  using T = N;
  static constexpr std::int64_t count = 1;
  static N all(T x) { return x; }
  static N load(const T* p) { return *p; }
  static N load(const T*, std::int64_t, T fill) { return fill; }
  static void store(N x, T* p) { *p = x; }
  static void store(N, T*, std::int64_t) {}
  static T sum(N x) { return x; }
  static T max(N x) { return x; }
};
template <class E> struct Lanes<Batch<E>> {
  using T = E;
  using N = Batch<E>;
  static constexpr Tag<E> d{};
  static constexpr std::int64_t count = N::lanes;
  static HWY_INLINE N all(T x) { return hn::Set(d, x); }
  static HWY_INLINE N load(const T* p) { return hn::LoadU(d, p); }
  static HWY_INLINE void store(N x, T* p) { hn::StoreU(x.raw, d, p); }
  // The first n elements; the other lanes are `fill`, and memory beyond is not touched.
  static HWY_INLINE N load(const T* p, std::int64_t n, T fill) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const auto m = hn::FirstN(d, std::size_t(n));
    return hn::IfThenElse(m, hn::MaskedLoad(m, d, p), hn::Set(d, fill));
#else
    HWY_ALIGN T part[N::lanes];
    for (std::int64_t i = 0; i < count; ++i) part[i] = i < n ? p[i] : fill;
    return hn::Load(d, part);
#endif
  }
  static HWY_INLINE void store(N x, T* p, std::int64_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    hn::BlendedStore(x.raw, hn::FirstN(d, std::size_t(n)), d, p);
#else
    HWY_ALIGN T part[N::lanes];
    hn::Store(x.raw, d, part);
    for (std::int64_t i = 0; i < n; ++i) p[i] = part[i];
#endif
  }
  static HWY_INLINE T sum(N x) { return hn::GetLane(hn::SumOfLanes(d, x.raw)); }
#if HWY_TARGET == HWY_EMU128  // its own begins at the least finite number
  static HWY_INLINE T max(N x) {
    HWY_ALIGN T part[N::lanes];
    hn::Store(x.raw, d, part);
    T most = part[0];
    for (const T v : part) most = v > most ? v : most;
    return most;
  }
#else
  static HWY_INLINE T max(N x) { return hn::GetLane(hn::MaxOfLanes(d, x.raw)); }
#endif
};
template <class T> HWY_INLINE Batch<T> larger(Batch<T> a, Batch<T> b) { return above(a, b); }  // NaN: either
inline float larger(float a, float b) { return a > b ? a : b; }
inline double larger(double a, double b) { return a > b ? a : b; }

// each<N>(n, f) calls f(position, part) for each register of a row: part.load(p, fill), part.store(x, p). Of the last
// one only a part may be there; `fill` is read beyond the end.
template <class N> struct Whole {
  static HWY_INLINE N load(const typename Lanes<N>::T* p, typename Lanes<N>::T) { return Lanes<N>::load(p); }
  static HWY_INLINE void store(N x, typename Lanes<N>::T* p) { Lanes<N>::store(x, p); }
};
template <class N> struct Part {
  std::int64_t n;
  HWY_INLINE N load(const typename Lanes<N>::T* p, typename Lanes<N>::T fill) const {
    return Lanes<N>::load(p, n, fill);
  }
  HWY_INLINE void store(N x, typename Lanes<N>::T* p) const { Lanes<N>::store(x, p, n); }
};
template <class N, class F> HWY_INLINE void each(std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + Lanes<N>::count <= n; i += Lanes<N>::count) f(i, Whole<N>());
  if (i < n) f(i, Part<N>{n - i});
}

// exp of a number that is not far above 0: 2^n e^r, where n is rounded by adding a number whose last bit counts ones,
// and so is there as an integer too. What would be subnormal is 0: subnormals cost a hundred cycles each, and a row
// with a mask of -inf is full of them. A NaN stays one.
template <class T> HWY_INLINE Batch<T> exp_below(Batch<T> x) {
  constexpr bool single = sizeof(T) == 4;
  constexpr Tag<T> d{};
  constexpr hn::RebindToSigned<Tag<T>> i{};
  using Bits = hn::TFromD<decltype(i)>;
  const Batch<T> ones = single ? 12582912_c : 6755399441055744_c;  // 1.5 of the power whose last bit is worth 1
  const Batch<T> t = fma(x, Batch<T>(1.4426950408889634_c), ones), n = t - ones;
  const Batch<T> ln2_high = single ? -0.693359375_c : -0.693145751953125_c;
  const Batch<T> ln2_low = single ? 2.12194440e-4_c : -1.42860682030941723212e-6_c;
  const Batch<T> r = fma(n, ln2_low, fma(n, ln2_high, x));
  Batch<T> p;
  if constexpr (single)
    p = horner(r, 1_c, 1_c, 4.9999993432e-1_c, 1.6666520398e-1_c, 4.1668390791e-2_c, 8.3687451956e-3_c,
               1.3814540105e-3_c);  // 3e-9 of e^r
  else
    p = horner(r, 1_c, 1_c, 1_c / 2_c, 1_c / 6_c, 1_c / 24_c, 1_c / 120_c, 1_c / 720_c, 1_c / 5040_c, 1_c / 40320_c,
               1_c / 362880_c, 1_c / 3628800_c, 1_c / 39916800_c, 1_c / 479001600_c, 1_c / 6227020800_c);
  constexpr int mantissa = single ? 23 : 52;
  constexpr Bits bias = Bits(single ? 127 : 1023) << mantissa;
  const auto scale = hn::Add(hn::ShiftLeft<mantissa>(hn::BitCast(i, t.raw)), hn::Set(i, bias));
  const Mask<T> tiny = x < Batch<T>(single ? -87.33654_c : -708.3964_c);
  return where(tiny, Batch<T>(0_c), p * Batch<T>(hn::BitCast(d, scale)));
}
inline float exp_below(float x) { return exp(x); }
inline double exp_below(double x) { return exp(x); }
