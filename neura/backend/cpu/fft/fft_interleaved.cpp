#include "neura/backend/cpu/fft/fft_interleaved.h"

#include <cstdint>
#include <cstring>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/fft/fft_interleaved.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;
#include "neura/backend/cpu/fft/fft_transpose.h"
#include "neura/backend/cpu/fft/fft_radix.h"
#include "neura/backend/cpu/fft/fft_interleaved_pass.h"

#if HWY_TARGET != HWY_SCALAR
template <class T> V<T> imaginary(bool inverse) {
  const Tag<T> d;
  const V<T> one = hn::Set(d, T(inverse ? -1 : 1));
  return hn::OddEven(one, hn::Neg(one));
}

template <class R, class T> void any_pass(const Pass<T>& t, bool scaled) {
  if (t.m > 1) pass<R>(t);
  else if (t.past) last_pass<R, true, true>(t);
  else scaled ? last_pass<R, true, false>(t) : last_pass<R, false, false>(t);
}
// Passes from `first` on.
template <class T> void passes(const FftSteps<T>& steps, std::size_t first, Pass<T> t, const FftInterleavedLines<T>& to,
                               int64_t step_out, T scale, T* const work) {
  const int64_t lane = int64_t(hn::Lanes(Tag<T>())), half = t.lines * t.line_out;
  t.scale = hn::Set(Tag<T>(), scale);
  for (std::size_t k = first; k < steps.radices.size(); ++k) {
    const int radix = steps.radices[k];
    t.m /= radix;
    t.to = t.from == work ? work + half : work, t.step_out = lane;
    if (k + 1 == steps.radices.size()) {
      t.to = to.at, t.line_out = to.apart, t.step_out = step_out, t.past = to.past;
    }
    switch (radix) {
      case 2:
        any_pass<Radix2>(t, scale != 1);
        break;
      case 3:
        any_pass<Radix3>(t, scale != 1);
        break;
      case 4:
        any_pass<Radix4>(t, scale != 1);
        break;
      case 5:
        any_pass<Radix5>(t, scale != 1);
        break;
      case 8:
        any_pass<Radix8>(t, scale != 1);
        break;
      default:
        any_pass<Radix16>(t, scale != 1);
    }
    t.factors += 4 * (radix - 1) * t.m, t.s *= radix, t.from = t.to, t.step_in = lane, t.line_in = t.line_out;
  }
}

template <class T> void rows(const FftSteps<T>& steps, int64_t n, int64_t count,
                             const FftInterleavedLines<const T>& from, const FftInterleavedLines<T>& to, T scale,
                             T* work) {
  const int64_t lane = int64_t(hn::Lanes(Tag<T>()));
  const int radix = steps.radices[0];
  const V<T> i = imaginary<T>(steps.inverse);
  Pass<T> t{from.at, work, count, from.apart, 2 * n, 0, 0, n / radix, 1, steps.factors.data(), i, i, from.go_on, false};
  if constexpr (kSquare<T> == 8)
    if (n == 64) {
      t.scale = hn::Set(Tag<T>(), scale);
      return both_passes<Radix8>(t, to);
    }
  radix == 8 ? first_pass<Radix8>(t) : first_pass<Radix16>(t);
  t.factors += 4 * (radix - 1) * t.m;
  t.s = radix / (lane / 2), t.from = work, t.line_in = 2 * n, t.step_in = lane;
  passes(steps, 1, t, to, lane, scale, work);
}
template <class T> void columns(const FftSteps<T>& steps, int64_t n, const FftInterleavedLines<const T>& from,
                                const FftInterleavedLines<T>& to, T scale, T* work) {
  const V<T> i = imaginary<T>(steps.inverse);
  const int64_t size = n * int64_t(hn::Lanes(Tag<T>()));
  const Pass<T> t{from.at, work, 1, 0, size, from.apart, 0, n, 1, steps.factors.data(), i, i, false, false};
  passes(steps, 0, t, to, to.apart, scale, work);
}
template <class T>
void turn(const T* tile, int64_t n, const T* heads, const T* tails, bool inverse, T* to, int64_t stride) {
  constexpr int square = kSquare<T>;
  const Tag<T> d;
  const Tag<double> bytes;
  const V<T> i = imaginary<T>(false), sign = imaginary<T>(inverse);
  for (int64_t at = 0; at < n; at += square, to += stride) {
    Vector v[square];
    HWY_UNROLL(8)
    for (int j = 0; j < square; ++j, tile += 2 * square, heads += 2, tails += 2 * kFftBatch) {
      const V<T> a = hn::LoadU(d, tile), tail = hn::LoadU(d, tails);
      const V<T> w =
          hn::MulAdd(exchanged<T>(tail), hn::Mul(hn::Set(d, heads[1]), i), hn::Mul(tail, hn::Set(d, *heads)));
      v[j] = hn::BitCast(bytes, hn::MulAdd(exchanged<T>(a), hn::Mul(hn::DupOdd(w), sign), hn::Mul(a, hn::DupEven(w))));
    }
    transpose<T>(v);
    HWY_UNROLL(8)
    for (int j = 0; j < square; ++j) hn::StoreU(v[j], bytes, reinterpret_cast<double*>(to + 2 * square * j));
  }
}
template <class T> HWY_INLINE V<T> backwards(V<T> v) {
  const Tag<double> d;
  if constexpr (sizeof(T) == 8) return hn::ReverseBlocks(d, v);
  else return hn::BitCast(Tag<T>(), hn::Reverse(d, hn::BitCast(d, v)));
}
template <class T> void fold(const T* from, T* to, int64_t half, const T* roots, bool inverse, T factor) {
  const Tag<T> d;
  const int64_t lanes = int64_t(hn::Lanes(d)) / 2;
  const V<T> f = hn::Set(d, factor), i = imaginary<T>(!inverse);
  const V<T> conj = hn::OddEven(hn::Neg(hn::Zero(d)), hn::Zero(d));
  for (int64_t k = 1; k <= half / 2; k += lanes) {
    const int64_t other = half - k - lanes + 1;
    const V<T> a = hn::LoadU(d, from + 2 * k), w = hn::LoadU(d, roots + 2 * k);
    const V<T> b = hn::Xor(backwards<T>(hn::LoadU(d, from + 2 * other)), conj);
    const V<T> even = hn::Add(a, b), side = hn::Sub(a, b);
    const V<T> odd = hn::MulAdd(exchanged<T>(side), hn::Mul(hn::DupEven(w), i), hn::Mul(side, hn::DupOdd(w)));
    hn::StoreU(backwards<T>(hn::Mul(hn::Xor(hn::Sub(even, odd), conj), f)), d, to + 2 * other);
    hn::StoreU(hn::Mul(hn::Add(even, odd), f), d, to + 2 * k);
  }
}
#endif

template <class T> const FftInterleavedKernels<T>* table() {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kSquares<T>) {
    static const FftInterleavedKernels<T> kernels{int(hn::Lanes(Tag<T>()) / 2), &rows<T>, &columns<T>, &turn<T>,
                                                  &fold<T>};
    return &kernels;
  }
#endif
  static const FftInterleavedKernels<T> none{};
  return &none;
}
const FftInterleavedKernels<float>* fft_short_singles() { return table<float>(); }
const FftInterleavedKernels<double>* fft_short_doubles() { return table<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(fft_short_singles);
HWY_EXPORT(fft_short_doubles);
template <> const FftInterleavedKernels<float>& fft_interleaved_kernels_of<float>() {
  return *HWY_DYNAMIC_DISPATCH(fft_short_singles)();
}
template <> const FftInterleavedKernels<double>& fft_interleaved_kernels_of<double>() {
  return *HWY_DYNAMIC_DISPATCH(fft_short_doubles)();
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
