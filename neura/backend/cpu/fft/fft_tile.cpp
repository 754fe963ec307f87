#include "neura/backend/cpu/fft/fft_tile.h"

#include <algorithm>
#include <cstring>
#include <utility>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/fft/fft_tile.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;
#include "neura/backend/cpu/fft/fft_transpose.h"
#include "neura/backend/cpu/fft/fft_pass.h"
#include "neura/backend/cpu/fft/fft_load_store.h"

template <class T> FftTile<T> passes(const FftPlan<T>& plan, FftTile<T> a, FftTile<T> b) {
  int64_t m = plan.n, s = lanes_of<T>();
  const T* factors = plan.factors();
  for (const int r : plan.radices) {
    m /= r;
    const Pass<T> t{a.re, a.im, b.re, b.im, m, s, factors};
    switch (r) {
      case 2:
        pass<Radix2>(t);
        break;
      case 3:
        pass<Radix3>(t);
        break;
      case 4:
        pass<Radix4>(t);
        break;
      case 5:
        pass<Radix5>(t);
        break;
      default:
        odd_pass(t, r), factors += 2 * r;
    }
    factors += 2 * (r - 1) * m, s *= r;
    std::swap(a, b);
  }
  return a;
}

template <class T> void multiply(FftTile<T> x, FftTile<T> to, const T* factors, int64_t n) {
  const int64_t lanes = lanes_of<T>();
  for (int64_t i = 0; i < n; ++i)
    write(times(read<T>(x.re, x.im, i * lanes), all(factors + 2 * i)), to.re, to.im, i * lanes);
}

template <class T> FftTile<T> transform(const FftPlan<T>& plan, FftTile<T> a, FftTile<T> b) {
  if (!plan.inner) return passes(plan, a, b);
  const int64_t lanes = lanes_of<T>(), length = plan.inner->n;
  multiply(a, a, plan.chirp.data(), plan.n);
  std::fill(a.re + plan.n * lanes, a.re + length * lanes, T(0));
  std::fill(a.im + plan.n * lanes, a.im + length * lanes, T(0));
  const FftTile<T> f = passes(*plan.inner, a, b), other = f.re == a.re ? b : a;
  multiply(f, f, plan.spectrum.data(), length);
  const FftTile<T> back = passes(*plan.inner, f.turned(), other.turned()).turned();
  multiply(back, back, plan.chirp.data(), plan.n);
  return back;
}

template <class T> void twist(FftTile<T> x, const T* factors, int64_t n, int64_t columns, int count) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>();
  for (int64_t i = 0; i < n; ++i, factors += 2 * columns) {
    C<T> w;
    if (count == lanes) {
      hn::LoadInterleaved2(d, factors, w.re, w.im);
    } else {
      alignas(64) T part[2 * kFftLanes] = {};
      std::copy(factors, factors + 2 * count, part);
      hn::LoadInterleaved2(d, part, w.re, w.im);
    }
    write(times(read(x.re, x.im, i * lanes), w), x.re, x.im, i * lanes);
  }
}

// With z the transform of pairs, even = (z[k] + conj z[half - k]) / 2 and odd = (z[k] - conj z[half - k]) / 2i are
// those of the even and the odd elements.
template <class T> void unpack(FftTile<T> z, FftTile<T> to, int64_t half, const T* roots, T weight) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>();
  const auto f = hn::Set(d, weight / 2);
  const C<T> first = read(z.re, z.im, 0);
  write<T>({hn::Add(first.re, first.im), hn::Zero(d)}, to.re, to.im, 0);
  write<T>({hn::Sub(first.re, first.im), hn::Zero(d)}, to.re, to.im, half * lanes);
  for (int64_t k = 1; k <= half / 2; ++k) {
    const C<T> a = scaled(read(z.re, z.im, k * lanes), f), b = scaled(read(z.re, z.im, (half - k) * lanes), f);
    const C<T> even{hn::Add(a.re, b.re), hn::Sub(a.im, b.im)}, odd{hn::Add(a.im, b.im), hn::Sub(b.re, a.re)};
    const C<T> turned = times(odd, all(roots + 2 * k)), low = even + turned, high = even - turned;
    write<T>({high.re, hn::Neg(high.im)}, to.re, to.im, (half - k) * lanes);
    write(low, to.re, to.im, k * lanes);
  }
}
template <class T> void pack(FftTile<T> x, FftTile<T> to, int64_t half, const T* roots, T weight) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>();
  const auto f = hn::Set(d, weight);
  const auto first = hn::Load(d, x.re), last = hn::Load(d, x.re + half * lanes);
  write<T>({hn::Add(first, last), hn::Sub(first, last)}, to.re, to.im, 0);
  for (int64_t k = 1; k <= half / 2; ++k) {
    const C<T> a = scaled(read(x.re, x.im, k * lanes), f), b = scaled(read(x.re, x.im, (half - k) * lanes), f);
    const C<T> even{hn::Add(a.re, b.re), hn::Sub(a.im, b.im)}, difference{hn::Sub(a.re, b.re), hn::Add(a.im, b.im)};
    const C<T> w = all(roots + 2 * k), odd = times(difference, C<T>{w.re, hn::Neg(w.im)});
    const C<T> low = plus_i(even, odd), high = minus_i(even, odd);
    write<T>({high.re, hn::Neg(high.im)}, to.re, to.im, (half - k) * lanes);
    write(low, to.re, to.im, k * lanes);
  }
}
template <class T> void mirror(FftTile<T> x, int64_t n, T weight) {
  const Tag<T> d;
  const int64_t lanes = lanes_of<T>();
  const auto f = hn::Set(d, weight);
  hn::Store(hn::Zero(d), d, x.im);
  for (int64_t k = 1; k <= n / 2; ++k) {
    const C<T> a = scaled(read(x.re, x.im, k * lanes), f);
    write(a, x.re, x.im, k * lanes);
    write<T>({a.re, hn::Neg(a.im)}, x.re, x.im, (n - k) * lanes);
  }
}

template <class T> const FftKernels<T>* table() {
  static const FftKernels<T> kernels{int(lanes_of<T>()), &load<T>,   &store<T>, &transform<T>,
                                     &twist<T>,          &unpack<T>, &pack<T>,  &mirror<T>};
  return &kernels;
}
const FftKernels<float>* fft_singles() { return table<float>(); }
const FftKernels<double>* fft_doubles() { return table<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(fft_singles);
HWY_EXPORT(fft_doubles);
template <> const FftKernels<float>& fft_kernels_of<float>() { return *HWY_DYNAMIC_DISPATCH(fft_singles)(); }
template <> const FftKernels<double>& fft_kernels_of<double>() { return *HWY_DYNAMIC_DISPATCH(fft_doubles)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
