#include "neura/backend/cpu/random/random_lines.h"
#include "neura/backend/kernels/random.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/random/random_lines.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using Floats = hn::ScalableTag<float>;

// Both halves of the products of all lanes with a constant.
template <class V> HWY_INLINE void multiply(V x, std::uint32_t constant, V& high, V& low) {
  const Words d;
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{constant} * hn::GetLane(x);
  high = hn::Set(d, std::uint32_t(product >> 32)), low = hn::Set(d, std::uint32_t(product));
#else
  const hn::RepartitionToWide<Words> d2;
  const V m = hn::Set(d, constant);
  const auto even = hn::MulEven(x, m);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d2, x))), m);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
#endif
}

HWY_ATTR void Philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::uint32_t* words) {
  const Words d;
  const int lanes = int(hn::Lanes(d));
  for (int i = 0; i < kGroup; i += lanes) {
    auto c0 = hn::Iota(d, std::uint32_t(first) + std::uint32_t(i));  // no carry within an aligned group
    auto c1 = hn::Set(d, std::uint32_t(first >> 32));
    auto c2 = hn::Set(d, std::uint32_t(offset)), c3 = hn::Set(d, std::uint32_t(offset >> 32));
    std::uint32_t k0 = std::uint32_t(seed), k1 = std::uint32_t(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      auto h0 = c0, l0 = c0, h1 = c0, l1 = c0;
      multiply(c0, 0xD2511F53u, h0, l0);
      multiply(c2, 0xCD9E8D57u, h1, l1);
      c0 = hn::Xor(hn::Xor(h1, c1), hn::Set(d, k0)), c1 = l1;
      c2 = hn::Xor(hn::Xor(h0, c3), hn::Set(d, k1)), c3 = l0;
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, words + 4 * i);
  }
}

template <class V> HWY_INLINE hn::VFromD<Floats> unit(V words) {  // [0, 1)
  const hn::RebindToSigned<Words> di;
  return hn::Mul(hn::ConvertTo(Floats(), hn::BitCast(di, hn::ShiftRight<8>(words))), hn::Set(Floats(), 0x1p-24f));
}

HWY_ATTR void Uniform(const std::uint32_t* words, float a, float b, float* out) {
  const Words d;
  const Floats f;
  for (std::size_t i = 0; i < 4 * kGroup; i += hn::Lanes(d))
    hn::StoreU(hn::Add(hn::Mul(unit(hn::LoadU(d, words + i)), hn::Set(f, b)), hn::Set(f, a)), f, out + i);
}

// Multiplications and additions are separate here, so that machines with and without fused ones agree.
template <class V> HWY_INLINE V sum_of(V, V sum) { return sum; }
template <class V, class... C> HWY_INLINE V sum_of(V x, V sum, float c, C... rest) {
  return sum_of(x, hn::Add(hn::Mul(sum, x), hn::Set(Floats(), c)), rest...);
}
template <class V, class... C> HWY_INLINE V horner(V x, float c, C... rest) {
  return sum_of(x, hn::Set(Floats(), c), rest...);
}

template <class V> HWY_INLINE V log_of(V x) {  // of normal numbers
  const Floats f;
  const hn::RebindToSigned<Floats> di;
  const auto bits = hn::BitCast(di, x);
  // The mantissa in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) makes the exponent step there.
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const V m = hn::Sub(hn::BitCast(f, hn::Sub(bits, hn::ShiftLeft<23>(e))), hn::Set(f, 1.0f));
  const V exponent = hn::ConvertTo(f, e), z = hn::Mul(m, m);
  V y = horner(m, NEURA_LOG_TERMS);
  y = hn::Mul(hn::Mul(y, m), z);
  y = hn::Add(y, hn::Mul(exponent, hn::Set(f, -2.12194440e-4f)));
  y = hn::Sub(y, hn::Mul(z, hn::Set(f, 0.5f)));
  return hn::Add(hn::Add(m, y), hn::Mul(exponent, hn::Set(f, 0.693359375f)));
}

template <class V> HWY_INLINE void sin_cos_turns(V u, V& s, V& c) {  // of 2 pi u, u in [0, 1)
  const Floats f;
  const hn::RebindToSigned<Floats> di;
  const auto k = hn::ConvertTo(di, hn::Add(hn::Mul(u, hn::Set(f, 4.0f)), hn::Set(f, 0.5f)));  // the nearest quarter
  const V r = hn::Mul(hn::Sub(u, hn::Mul(hn::ConvertTo(f, k), hn::Set(f, 0.25f))), hn::Set(f, 6.283185307f));
  const V z = hn::Mul(r, r);
  const V sine = hn::Add(r, hn::Mul(hn::Mul(r, z), horner(z, NEURA_SIN_TERMS)));
  const V cosine = horner(z, NEURA_COS_TERMS);
  const auto one = hn::Set(di, 1), two = hn::Set(di, 2);
  const auto swap = hn::MaskFromVec(hn::BitCast(f, hn::VecFromMask(di, hn::Eq(hn::And(k, one), one))));
  const auto sign_s = hn::BitCast(f, hn::ShiftLeft<30>(hn::And(k, two)));
  const auto sign_c = hn::BitCast(f, hn::ShiftLeft<30>(hn::And(hn::Add(k, one), two)));
  s = hn::Xor(hn::IfThenElse(swap, cosine, sine), sign_s);
  c = hn::Xor(hn::IfThenElse(swap, sine, cosine), sign_c);
}

HWY_ATTR void Normal(const std::uint32_t* words, float a, float b, float* out) {
  const Words d;
  const Floats f;
  for (std::size_t i = 0; i < 4 * kGroup; i += 2 * hn::Lanes(d)) {
    hn::VFromD<Words> w0, w1;
    hn::LoadInterleaved2(d, words + i, w0, w1);
    const auto radius = hn::Sqrt(hn::Mul(log_of(hn::Sub(hn::Set(f, 1.0f), unit(w0))), hn::Set(f, -2.0f)));
    auto s = radius, c = radius;
    sin_cos_turns(unit(w1), s, c);
    const auto scale = hn::Mul(radius, hn::Set(f, b)), mean = hn::Set(f, a);
    hn::StoreInterleaved2(hn::Add(hn::Mul(c, scale), mean), hn::Add(hn::Mul(s, scale), mean), f, out + i);
  }
}

HWY_ATTR void Exponential(const std::uint32_t* words, float scale, float* out) {
  const Words d;
  const Floats f;
  for (std::size_t i = 0; i < 4 * kGroup; i += hn::Lanes(d)) {
    const auto log = log_of(hn::Sub(hn::Set(f, 1.0f), unit(hn::LoadU(d, words + i))));
    hn::StoreU(hn::Mul(log, hn::Set(f, -scale)), f, out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace neura
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace neura {
HWY_EXPORT(Philox);
HWY_EXPORT(Uniform);
HWY_EXPORT(Normal);
HWY_EXPORT(Exponential);
void philox_group(std::uint64_t seed, std::uint64_t offset, std::uint64_t first, std::uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(Philox)(seed, offset, first, words);
}
void uniform_group(const std::uint32_t* words, float a, float b, float* out) {
  HWY_DYNAMIC_DISPATCH(Uniform)(words, a, b, out);
}
void normal_group(const std::uint32_t* words, float a, float b, float* out) {
  HWY_DYNAMIC_DISPATCH(Normal)(words, a, b, out);
}
void exponential_group(const std::uint32_t* words, float scale, float* out) {
  HWY_DYNAMIC_DISPATCH(Exponential)(words, scale, out);
}
}  // namespace neura
#endif
