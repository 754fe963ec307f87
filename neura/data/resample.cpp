#include "neura/data/resample.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/data/resample.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef NEURA_DATA_RESAMPLE_TAPS
#define NEURA_DATA_RESAMPLE_TAPS
namespace neura::data {
struct Taps {  // of one dimension: result i is the sum of weights[offset[i] + k] * pixel[first[i] + k]
  std::vector<int> first, count, offset;
  std::vector<float> weights;
};
}  // namespace neura::data
#endif

HWY_BEFORE_NAMESPACE();
namespace neura::data {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[i] = sum of weight[k] * row k [i], for n samples rounded up to whole vectors.
HWY_ATTR void Vertical(const std::uint8_t* from, std::size_t stride, const float* weights, int count, std::size_t n,
                       float* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    const std::uint8_t* p = from + i;
    for (int k = 0; k < count; ++k, p += stride)
      sum = hn::MulAdd(hn::Set(d, weights[k]), hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, p))), sum);
    hn::StoreU(sum, d, out + i);
  }
}

// Results of four samples each, of which the first `channels` count, from a line of interleaved samples.
HWY_ATTR void Horizontal(const float* line, int channels, const Taps& taps, bool flip, float* out) {
  const std::size_t n = taps.first.size();
  for (std::size_t i = 0; i < n; ++i) {
    const float* p = line + taps.first[i] * channels;
    const float* w = taps.weights.data() + taps.offset[i];
    float* to = out + 4 * (flip ? n - 1 - i : i);
#if HWY_TARGET == HWY_SCALAR
    for (int c = 0; c < channels; ++c) {
      float sum = 0;
      for (int k = 0; k < taps.count[i]; ++k) sum += w[k] * p[k * channels + c];
      to[c] = sum;
    }
#else
    const hn::Full128<float> d;
    auto sum = hn::Zero(d);
    for (int k = 0; k < taps.count[i]; ++k, p += channels) sum = hn::MulAdd(hn::Set(d, w[k]), hn::LoadU(d, p), sum);
    hn::StoreU(sum, d, to);
#endif
  }
}

// Results of four samples to rows of planes: v * scale + shift.
HWY_ATTR void Planes(const float* four, std::size_t n, int channels, const float* scale, const float* shift, float* out,
                     std::size_t plane) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    hn::LoadInterleaved4(d, four + 4 * i, a, b, c, e);
    hn::StoreU(hn::MulAdd(a, hn::Set(d, scale[0]), hn::Set(d, shift[0])), d, out + i);
    if (channels > 1) hn::StoreU(hn::MulAdd(b, hn::Set(d, scale[1]), hn::Set(d, shift[1])), d, out + plane + i);
    if (channels > 2) hn::StoreU(hn::MulAdd(c, hn::Set(d, scale[2]), hn::Set(d, shift[2])), d, out + 2 * plane + i);
    if (channels > 3) hn::StoreU(hn::MulAdd(e, hn::Set(d, scale[3]), hn::Set(d, shift[3])), d, out + 3 * plane + i);
  }
#endif
  for (; i < n; ++i)
    for (int c = 0; c < channels; ++c)
      out[std::size_t(c) * plane + i] = four[4 * i + std::size_t(c)] * scale[c] + shift[c];
}

}  // namespace HWY_NAMESPACE
}  // namespace neura::data
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace neura::data {
HWY_EXPORT(Vertical);
HWY_EXPORT(Horizontal);
HWY_EXPORT(Planes);

namespace {

// Of `there` pixels, those between `from` and `from + length` become `to`.
Taps taps_of(std::int64_t there, double from, double length, std::int64_t to) {
  Taps t;
  const double scale = length / double(to), support = std::max(scale, 1.0);
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = from + (double(i) + 0.5) * scale;
    const std::int64_t first = std::max<std::int64_t>(0, std::int64_t(std::floor(center - support + 0.5)));
    const std::int64_t end = std::min(there, std::int64_t(std::floor(center + support + 0.5)));
    t.first.push_back(int(first)), t.offset.push_back(int(t.weights.size()));
    double sum = 0;
    for (std::int64_t p = first; p < end; ++p) {
      const double w = std::max(0.0, 1 - std::abs((double(p) + 0.5 - center) / support));
      t.weights.push_back(float(w)), sum += w;
    }
    t.count.push_back(int(std::int64_t(t.weights.size()) - t.offset.back()));
    for (int k = 0; k < t.count.back(); ++k) {
      float& w = t.weights[std::size_t(t.offset.back()) + std::size_t(k)];
      w = float(double(w) / sum);
    }
  }
  return t;
}

}  // namespace

void Resampler::to_float(const Pixels& pixels, const Box& box, std::int64_t height, std::int64_t width, bool flip,
                         const PerChannel& scale, const PerChannel& shift, float* out) {
  const Taps down = taps_of(pixels.height, box.top, box.height, height);
  const Taps across = taps_of(pixels.width, box.left, box.width, width);
  const int channels = int(pixels.channels);
  const std::size_t samples = std::size_t(pixels.width) * std::size_t(channels);
  const std::size_t plane = std::size_t(height) * std::size_t(width);
  lines_.resize(samples + 64 + std::size_t(width) * 4);  // a line, and what comes of it: four samples each
  float* line = lines_.data();
  float* four = line + samples + 64;
  for (std::size_t y = 0; y < std::size_t(height); ++y) {
    HWY_DYNAMIC_DISPATCH(Vertical)
    (pixels.row(down.first[y]), pixels.stride, down.weights.data() + down.offset[y], down.count[y], samples, line);
    HWY_DYNAMIC_DISPATCH(Horizontal)(line, channels, across, flip, four);
    HWY_DYNAMIC_DISPATCH(Planes)
    (four, std::size_t(width), channels, scale.data(), shift.data(), out + y * std::size_t(width), plane);
  }
}

void Resampler::to_bytes(const Pixels& pixels, const Box& box, std::int64_t height, std::int64_t width, bool flip,
                         std::uint8_t* out) {
  planes_.resize(std::size_t(pixels.channels * height * width));
  to_float(pixels, box, height, width, flip, {1, 1, 1, 1}, {0.5f, 0.5f, 0.5f, 0.5f}, planes_.data());
  for (std::size_t i = 0; i < planes_.size(); ++i) out[i] = std::uint8_t(std::clamp(planes_[i], 0.f, 255.f));
}

}  // namespace neura::data
#endif
