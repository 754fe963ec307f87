// Gathering and scattering patches, once per instruction set.
#include "neura/backend/cpu/conv/conv.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/conv/conv_tile.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "neura/backend/cpu/arm32_double.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {  // names such as `dot` are other files' too
namespace hn = hwy::HWY_NAMESPACE;
template <class T> using Tag = hn::CappedTag<T, 64 / sizeof(T)>;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define NEURA_MASKS  // elsewhere masked loads and stores touch what is outside the mask

// One vector of every row, put together from the segments that meet it: a row of patches is written once, aligned,
// because stores that cross a cache line cost more than all the rest.
template <class T>
void gather_vector(const T* image, const PatchRows<T>& p, const Segment*& s, int64_t at, T* to, int64_t pitch) {
  constexpr Tag<T> d;
  constexpr int64_t kL = int64_t(hn::MaxLanes(Tag<T>()));
  const T* from[kL];
  hn::Mask<Tag<T>> mask[kL];
  int count = 0;
  for (const Segment* const end = p.segments + p.count; s != end && s->to < at + kL; ++s) {
    const int64_t first = s->to < at ? 0 : s->to - at, last = s->to + s->size - at;
    from[count] = image + s->from + (at - s->to);
    mask[count++] = hn::AndNot(hn::FirstN(d, std::size_t(first)), hn::FirstN(d, std::size_t(last < kL ? last : kL)));
    if (last > kL) break;  // continued in the next vector
  }
  const int64_t* const offsets = p.offsets;
  if (count == 1 && hn::AllTrue(d, mask[0])) {
    for (int64_t r = 0; r < p.rows; ++r) hn::StoreU(hn::LoadU(d, from[0] + offsets[r]), d, to + r * pitch);
  } else if (count == 1) {
    for (int64_t r = 0; r < p.rows; ++r)
      hn::StoreU(hn::MaskedLoad(mask[0], d, from[0] + offsets[r]), d, to + r * pitch);
  } else if (count == 2) {
    for (int64_t r = 0; r < p.rows; ++r)
      hn::StoreU(
          hn::Or(hn::MaskedLoad(mask[0], d, from[0] + offsets[r]), hn::MaskedLoad(mask[1], d, from[1] + offsets[r])), d,
          to + r * pitch);
  } else {
    for (int64_t r = 0; r < p.rows; ++r) {
      auto v = hn::Zero(d);
      for (int i = 0; i < count; ++i) v = hn::Or(v, hn::MaskedLoad(mask[i], d, from[i] + offsets[r]));
      hn::StoreU(v, d, to + r * pitch);
    }
  }
}
#endif

template <class T> void gather_one(const T* image, const PatchRows<T>& p, const Segment& s, T* to, int64_t pitch) {
  for (int64_t r = 0; r < p.rows; ++r)
    for (int64_t i = 0; i < s.size; ++i) to[r * pitch + s.to + i] = image[p.offsets[r] + s.from + i];
}
template <class T> void gather(const T* image, const PatchRows<T>& all, T* to, int64_t pitch) {
  constexpr int64_t kRows = 32;  // a few rows stay in the cache for all segments
  for (int64_t row = 0; row < all.rows; row += kRows, to += kRows * pitch) {
    PatchRows<T> p = all;
    p.offsets += row, p.rows = all.rows - row < kRows ? all.rows - row : kRows;
    const Segment* s = p.segments;
#ifdef NEURA_MASKS
    constexpr int64_t kL = int64_t(hn::MaxLanes(Tag<T>()));
    const int64_t size = s[p.count - 1].to + s[p.count - 1].size;
    if ((size + kL - 1) / kL * kL <= pitch) {
      for (int64_t at = 0; at < size; at += kL) gather_vector(image, p, s, at, to + at, pitch);
      continue;
    }
#endif
    for (; s != p.segments + p.count; ++s) gather_one(image, p, *s, to, pitch);
  }
}

template <class T> void scatter(T* image, const PatchRows<T>& p, const T* from, int64_t pitch) {
  constexpr Tag<T> d;
  constexpr int64_t kL = int64_t(hn::MaxLanes(Tag<T>()));
  const Segment* const end = p.segments + p.count;
  for (int64_t r = 0; r < p.rows; ++r, from += pitch) {
    T* const to = image + p.offsets[r];
    for (const Segment* s = p.segments; s != end; ++s) {
      T* const line = to + s->from;
      const T* const part = from + s->to;
      int64_t i = 0;
      for (; i + kL <= s->size; i += kL)
        hn::StoreU(hn::Add(hn::LoadU(d, line + i), hn::LoadU(d, part + i)), d, line + i);
#ifdef NEURA_MASKS
      if (i < s->size) {
        const auto mask = hn::FirstN(d, std::size_t(s->size - i));
        hn::BlendedStore(hn::Add(hn::MaskedLoad(mask, d, line + i), hn::MaskedLoad(mask, d, part + i)), mask, d,
                         line + i);
      }
#else
      for (; i < s->size; ++i) line[i] += part[i];
#endif
    }
  }
}

// kR rows (0: any number, slower): their weights stay in registers.
template <int kR, class T> void filter_rows(const T* image, const PatchRows<T>& p, const T* w, T bias, T* y) {
  constexpr Tag<T> d;
  constexpr int64_t kL = int64_t(hn::MaxLanes(Tag<T>()));
  hn::Vec<Tag<T>> weight[kR + 1];
  const T* row[kR + 1];
  HWY_UNROLL(9)
  for (int r = 0; r < kR; ++r) weight[r] = hn::Set(d, w[r]), row[r] = image + p.offsets[r];
  for (const Segment* s = p.segments; s != p.segments + p.count; ++s) {
    const T* const from = image + s->from;
    int64_t i = 0;
    for (; i + kL <= s->size; i += kL) {
      auto sum = hn::Set(d, bias);
      HWY_UNROLL(9)
      for (int r = 0; r < kR; ++r) sum = hn::MulAdd(weight[r], hn::LoadU(d, row[r] + s->from + i), sum);
      for (int64_t r = kR; r < p.rows; ++r)
        sum = hn::MulAdd(hn::Set(d, w[r]), hn::LoadU(d, from + p.offsets[r] + i), sum);
      hn::StoreU(sum, d, y + s->to + i);
    }
#ifdef NEURA_MASKS
    if (i < s->size) {
      const auto mask = hn::FirstN(d, std::size_t(s->size - i));
      auto sum = hn::Set(d, bias);
      for (int64_t r = 0; r < p.rows; ++r)
        sum = hn::MulAdd(hn::Set(d, w[r]), hn::MaskedLoad(mask, d, from + p.offsets[r] + i), sum);
      hn::BlendedStore(sum, mask, d, y + s->to + i);
      continue;
    }
#endif
    for (; i < s->size; ++i) {
      T sum = bias;
      for (int64_t r = 0; r < p.rows; ++r) sum += w[r] * from[p.offsets[r] + i];
      y[s->to + i] = sum;
    }
  }
}

template <class T> void filter(const T* image, const PatchRows<T>& p, const T* w, T bias, T* y) {
  p.rows == 9 ? filter_rows<9>(image, p, w, bias, y) : filter_rows<0>(image, p, w, bias, y);
}

// kR rows at once: their sums stay in registers.
template <int64_t kR, class T> void weigh_rows(const T* image, const PatchRows<T>& p, const T* g, T* w) {
  constexpr Tag<T> d;
  constexpr int64_t kL = int64_t(hn::MaxLanes(Tag<T>()));
  hn::Vec<Tag<T>> sum[kR];
  T rest[kR] = {};
  for (auto& v : sum) v = hn::Zero(d);
  for (const Segment* s = p.segments; s != p.segments + p.count; ++s) {
    const T* const from = image + s->from;
    const T* const part = g + s->to;
    int64_t i = 0;
    for (; i + kL <= s->size; i += kL) {
      const auto v = hn::LoadU(d, part + i);
      for (int64_t r = 0; r < kR; ++r) sum[r] = hn::MulAdd(v, hn::LoadU(d, from + p.offsets[r] + i), sum[r]);
    }
    for (; i < s->size; ++i)
      for (int64_t r = 0; r < kR; ++r) rest[r] += part[i] * from[p.offsets[r] + i];
  }
  for (int64_t r = 0; r < kR; ++r) w[r] += hn::GetLane(hn::SumOfLanes(d, sum[r])) + rest[r];
}
template <class T> void weigh(const T* image, const PatchRows<T>& all, const T* g, T* w) {
  PatchRows<T> p = all;
  for (; p.rows >= 9; p.rows -= 9, p.offsets += 9, w += 9) weigh_rows<9>(image, p, g, w);
  for (; p.rows >= 3; p.rows -= 3, p.offsets += 3, w += 3) weigh_rows<3>(image, p, g, w);
  for (; p.rows > 0; --p.rows, ++p.offsets, ++w) weigh_rows<1>(image, p, g, w);
}
#undef NEURA_MASKS

template <class T> constexpr ConvKernels<T> table = {&gather<T>, &scatter<T>, &filter<T>, &weigh<T>};
const ConvKernels<float>* conv_table_f32() { return &table<float>; }
const ConvKernels<double>* conv_table_f64() { return &table<double>; }

}  // namespace
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(conv_table_f32);
HWY_EXPORT(conv_table_f64);
template <> const ConvKernels<float>& conv_kernels_of<float>() {
  static const ConvKernels<float>* const kernels = HWY_DYNAMIC_DISPATCH(conv_table_f32)();
  return *kernels;
}
template <> const ConvKernels<double>& conv_kernels_of<double>() {
  static const ConvKernels<double>* const kernels = HWY_DYNAMIC_DISPATCH(conv_table_f64)();
  return *kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
