#include "neura/backend/cpu/spatial/grid_sample_lines.h"

#include <algorithm>
#include <cmath>

#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/spatial/grid_sample_lines.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/lanes.h"
#include "neura/backend/cpu/transpose_square.h"
using std::int64_t;
#include "neura/backend/number/grid_sample.h"

// Registers r of each step of a row: f(position, how many registers).
template <class N, class F> HWY_INLINE void by_registers(std::int64_t columns, const F& f) {
  constexpr std::int64_t n = Lanes<N>::count;
  std::int64_t c = 0;
  for (; c + 4 * n <= columns; c += 4 * n) f(c, std::integral_constant<int, 4>());
  for (; c < columns; c += n) f(c, std::integral_constant<int, 1>());
}

// Squares of at most 8 rows: more of them share a set of the cache, where their stride is a power of two. What has the
// longer strides, source or target, is walked along its rows.
template <class T>
void turn(const T* from, std::int64_t width, std::int64_t rows, std::int64_t columns, T* to, std::int64_t step) {
  const bool by_rows = width > step;
  const auto one_by_one = [=](std::int64_t first_i, std::int64_t last_i, std::int64_t first_j, std::int64_t last_j) {
    if (by_rows) {
      for (std::int64_t i = first_i; i < last_i; ++i)
        for (std::int64_t j = first_j; j < last_j; ++j) to[j * step + i] = from[i * width + j];
    } else {
      for (std::int64_t j = first_j; j < last_j; ++j)
        for (std::int64_t i = first_i; i < last_i; ++i) to[j * step + i] = from[i * width + j];
    }
  };
#if HWY_TARGET == HWY_SCALAR
  one_by_one(0, rows, 0, columns);
#else
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  constexpr int n = int(hn::MaxLanes(d));
  const std::int64_t whole_rows = rows / n * n, whole_columns = columns / n * n;
  const std::int64_t outer = by_rows ? whole_rows : whole_columns, inner = by_rows ? whole_columns : whole_rows;
  for (std::int64_t a = 0; a < outer; a += n)
    for (std::int64_t b = 0; b < inner; b += n) {
      const std::int64_t i = by_rows ? a : b, j = by_rows ? b : a;
      hn::Vec<decltype(d)> v[n];
      HWY_UNROLL(8)
      for (int k = 0; k < n; ++k) v[k] = hn::LoadU(d, from + (i + k) * width + j);
      transpose_square(d, v);
      HWY_UNROLL(8)
      for (int k = 0; k < n; ++k) hn::StoreU(v[k], d, to + (j + k) * step + i);
    }
  one_by_one(whole_rows, rows, 0, columns);
  one_by_one(0, whole_rows, whole_columns, columns);
#endif
}

#if HWY_TARGET != HWY_SCALAR
#include "neura/backend/cpu/spatial/grid_sample_coordinates.h"

template <class E> HWY_INLINE hn::Mask<Tag<E>> between(hn::Vec<Tag<E>> x, std::int64_t size) {
  const Tag<E> d;
  return hn::And(hn::Ge(x, hn::Zero(d)), hn::Le(x, hn::Set(d, E(size - 1))));
}
// Whole numbers as integers of 64 bits, -1 where they do not count.
template <class E> HWY_INLINE void store_places(hn::Vec<Tag<E>> row, hn::Vec<Tag<E>> column, hn::Mask<Tag<E>> there,
                                                std::int64_t width, std::int64_t* to) {
  if constexpr (sizeof(E) == 4) {
    const hn::RebindToSigned<Tag<E>> di;
    const hn::Rebind<std::int64_t, hn::Half<decltype(di)>> wide;
    const auto r = hn::ConvertTo(di, hn::IfThenElseZero(there, row));
    const auto c = hn::IfThenElse(hn::RebindMask(di, there), hn::ConvertTo(di, column), hn::Set(di, -1));
    const auto place = hn::Add(hn::Mul(r, hn::Set(di, std::int32_t(width))), c);
    hn::StoreU(hn::PromoteTo(wide, hn::LowerHalf(place)), wide, to);
    hn::StoreU(hn::PromoteTo(wide, hn::UpperHalf(hn::Half<decltype(di)>(), place)), wide, to + hn::Lanes(wide));
  } else {
    const Tag<E> d;
    const hn::Rebind<std::int32_t, Tag<E>> half;
    const hn::Rebind<std::int64_t, Tag<E>> whole;
    const auto place = hn::IfThenElse(there, hn::MulAdd(row, hn::Set(d, E(width)), column), hn::Set(d, -1));
    hn::StoreU(hn::PromoteTo(whole, hn::DemoteTo(half, place)), whole, to);
  }
}

template <class E>
bool place_block(const E* grid, int points, const std::int64_t* size, const GridSampling& s, SamplePlaces<E>& to) {
  using L = Lanes<Batch<E>>;
  const Tag<E> d;
  alignas(64) E moved[2][kSamplePoints];
  move_block(grid, points, size, s, moved);
  to.inside = true;
  for (int i = 0; i < points; i += int(L::count)) {
    SamplePoint<E> y, x;
    if (!y.find(hn::Load(d, moved[0] + i), size[0], s) || !x.find(hn::Load(d, moved[1] + i), size[1], s)) return false;
    if (s.mode == Sampling::nearest) {
      const auto row = hn::Round(y.at), column = hn::Round(x.at);
      const auto there = hn::And(between<E>(row, size[0]), between<E>(column, size[1]));
      store_places<E>(row, column, there, size[1], to.index[0] + i);
      if (to.weight) hn::StoreU(hn::Set(d, 1), d, to.weight[0] + i);
      for (int k = 0; to.slope && k < 2; ++k) hn::StoreU(hn::Zero(d), d, to.slope[k] + i);
      to.inside = to.inside && hn::AllTrue(d, there);
      continue;
    }
    const Steps<E> down(y, size[0], s), right(x, size[1], s);
    for (int r = 0, k = 0; r < down.count; ++r)
      for (int c = 0; c < right.count; ++c, ++k) {
        const auto there = hn::And(between<E>(down.place[r].raw, size[0]), between<E>(right.place[c].raw, size[1]));
        store_places<E>(down.place[r].raw, right.place[c].raw, there, size[1], to.index[k] + i);
        L::store(down.weight[r] * right.weight[c], to.weight[k] + i);
        to.inside = to.inside && hn::AllTrue(d, there);
        if (!to.slope) continue;
        L::store(down.weight[r] * right.slope[c], to.slope[k] + i);
        L::store(down.slope[r] * right.weight[c], to.slope[down.count * down.count + k] + i);
      }
  }
  return true;
}
#endif
template <class N, class T> bool place([[maybe_unused]] const T* grid, [[maybe_unused]] int points,
                                       [[maybe_unused]] const std::int64_t* size,
                                       [[maybe_unused]] const GridSampling& s, [[maybe_unused]] SamplePlaces<T>& to) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Lanes<N>::count > 1)
    if (std::max(size[0], size[1]) < 1 << 22 && size[0] * size[1] < INT32_MAX)
      return place_block(grid, points, size, s, to);
#endif
  return false;
}

// The elements at index[i] on, zeros for those outside.
template <class E> HWY_INLINE Batch<E> elements(const E* plane, const std::int64_t* index) {
  const Tag<E> d;
  const hn::RebindToSigned<Tag<E>> di;
  auto at = hn::Zero(di);
  if constexpr (sizeof(E) == 8) {
    at = hn::LoadU(di, index);
  } else {
    auto high = at;  // of the numbers: their signs
    hn::LoadInterleaved2(di, reinterpret_cast<const std::int32_t*>(index), at, high);
  }
  const auto there = hn::Gt(at, hn::Set(di, -1));
  return hn::IfThenElseZero(hn::RebindMask(d, there), hn::GatherIndex(d, plane, hn::IfThenElseZero(there, at)));
}
// Plain loads are faster than gathers of a single element.
template <int channels, bool inside, class T>
void pick_from(const SampleBlock<T>& b, const T* image, std::int64_t plane, T* values, std::int64_t stride) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const std::int64_t* const index = b.index[0];
  for (int i = 0; i < b.points; ++i) {
    const std::int64_t there = inside ? -1 : ~(index[i] >> 63), at = index[i] & there;
    for (int c = 0; c < channels; ++c) {
      const T one = image[c * plane + at];
      values[c * stride + i] = inside ? one : __builtin_bit_cast(T, Bits(__builtin_bit_cast(Bits, one) & Bits(there)));
    }
  }
}
template <class T> void pick(const SampleBlock<T>& b, bool inside, const T* image, std::int64_t plane,
                             std::int64_t channels, T* values, std::int64_t stride) {
  constexpr int together = 2;
  std::int64_t c = 0;
  for (; c + together <= channels; c += together, image += together * plane, values += together * stride)
    inside ? pick_from<together, true>(b, image, plane, values, stride)
           : pick_from<together, false>(b, image, plane, values, stride);
  for (; c < channels; ++c, image += plane, values += stride)
    inside ? pick_from<1, true>(b, image, plane, values, stride) : pick_from<1, false>(b, image, plane, values, stride);
}
template <class N, class T> void gather(const SampleBlock<T>& b, const T* plane, std::int64_t size, T* values) {
  using L = Lanes<N>;
  int i = 0;
  if constexpr (L::count > 1)
    if (size <= INT32_MAX)
      for (; i + L::count <= b.points; i += int(L::count)) {
        N sum = L::all(0);
        for (int k = 0; k < b.count; ++k) sum = fma(L::load(b.weight[k] + i), elements<T>(plane, b.index[k] + i), sum);
        L::store(sum, values + i);
      }
  for (; i < b.points; ++i) {
    T sum = 0;
    for (int k = 0; k < b.count; ++k)
      if (b.index[k][i] >= 0) sum = fma(b.weight[k][i], plane[b.index[k][i]], sum);
    values[i] = sum;
  }
}

// The elements of a point that are in the image.
template <class T> struct Inside {
  int count = 0;
  std::int64_t at[kSampleElements];
  T weight[kSampleElements];
  Inside(const SampleBlock<T>& b, int i, std::int64_t step) {
    for (int k = 0; k < b.count; ++k)
      if (b.index[k][i] >= 0) at[count] = b.index[k][i] * step, weight[count++] = b.weight[k][i];
  }
};

template <class N, class T>
void read(const SampleBlock<T>& b, const T* image, std::int64_t step, std::int64_t columns, T* values) {
  using L = Lanes<N>;
  for (int i = 0; i < b.points; ++i, values += columns) {
    const Inside<T> in(b, i, step);
    by_registers<N>(columns, [&](std::int64_t c, auto r) {
      N sum[r()];
      for (N& s : sum) s = L::all(0);
      for (int k = 0; k < in.count; ++k) {
        const N w = L::all(in.weight[k]);
        const T* const from = image + in.at[k] + c;
        for (int j = 0; j < r(); ++j) sum[j] = fma(w, L::load(from + j * L::count), sum[j]);
      }
      for (int j = 0; j < r(); ++j) L::store(sum[j], values + c + j * L::count);
    });
  }
}

template <class N, class T>
void spread(const SampleBlock<T>& b, const T* values, T* image, std::int64_t step, std::int64_t columns) {
  using L = Lanes<N>;
  for (int i = 0; i < b.points; ++i, values += columns) {
    const Inside<T> in(b, i, step);
    by_registers<N>(columns, [&](std::int64_t c, auto r) {
      for (int k = 0; k < in.count; ++k) {
        const N w = L::all(in.weight[k]);
        T* const to = image + in.at[k] + c;
        for (int j = 0; j < r(); ++j)
          L::store(fma(w, L::load(values + c + j * L::count), L::load(to + j * L::count)), to + j * L::count);
      }
    });
  }
}

template <class N, class T> void products(const SampleBlock<T>& b, const T* image, const T* values, std::int64_t step,
                                          std::int64_t columns, T (*to)[kSamplePoints]) {
  using L = Lanes<N>;
  for (int i = 0; i < b.points; ++i, values += columns)
    for (int k = 0; k < b.count; ++k) {
      if (b.index[k][i] < 0) continue;
      const T* const from = image + b.index[k][i] * step;
      N sum = L::all(0);
      for (std::int64_t c = 0; c < columns; c += L::count) sum = fma(L::load(from + c), L::load(values + c), sum);
      to[k][i] += L::sum(sum);
    }
}

template <class N, class T> constexpr SampleLines<T> lines{
    Lanes<N>::count, &place<N, T>, &turn<T>, &pick<T>, &gather<N, T>, &read<N, T>, &spread<N, T>, &products<N, T>};
constexpr SampleTable table{lines<Floats, float>, lines<Doubles, double>};
const SampleTable* sample_lines_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(sample_lines_table);
const SampleTable& sample_table() { return *HWY_DYNAMIC_DISPATCH(sample_lines_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
