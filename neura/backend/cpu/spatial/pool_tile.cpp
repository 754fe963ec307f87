// Largest values under windows of float images, a vector of results at a time; once per instruction set.
#include "neura/backend/cpu/spatial/pool.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/spatial/pool_tile.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

// A row of results by vectors. What is left of it at its end is computed by a vector that overlaps the one before, or
// (`spill`) by one that continues into the next row, which is written later.
template <int kStride, class D>
void max_row(D d, const float* in, float* out, std::uint8_t* places, const PoolShape& s, bool spill) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  constexpr int64_t kL = int64_t(hn::MaxLanes(D()));
  for (int64_t x = 0; x < s.out[2]; x += kL) {
    if (!spill && x + kL > s.out[2]) x = s.out[2] - kL;
    auto best = hn::Set(d, -__builtin_inff());
    auto place = hn::Zero(di);
    int k = 0;
    for (int64_t ky = 0; ky < s.kernel[1]; ++ky)
      for (int64_t kx = 0; kx < s.kernel[2]; ++kx, ++k) {
        const float* const from = in + ky * s.dilation[1] * s.in[2] + kx * s.dilation[2] + x * kStride;
        hn::Vec<D> v, odd;
        if constexpr (kStride == 2) hn::LoadInterleaved2(d, from - (kx & 1), v, odd);
        else v = hn::LoadU(d, from);
        if (kStride == 2 && (kx & 1)) v = odd;  // pairs: never reads beyond the last window
        const auto better = k ? hn::Or(hn::Gt(v, best), hn::IsNaN(v)) : hn::FirstN(d, std::size_t(kL));
        best = hn::IfThenElse(better, v, best);
        place = hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, k), place);
      }
    hn::StoreU(best, d, out + x);
    hn::StoreU(hn::DemoteTo(d8, place), d8, places + x);
  }
}

template <class D> void scatter_row(D d, const float* g, const std::uint8_t* places, float* upper, float* lower,
                                    int64_t size, bool spill) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  constexpr int64_t kL = int64_t(hn::MaxLanes(D()));
  const auto row = [&](float* to, int64_t first) {  // upper, then lower: what the one spills the other overwrites
    for (int64_t x = 0; x < size; x += kL) {
      if (!spill && x + kL > size) x = size - kL;
      const auto v = hn::LoadU(d, g + x);
      const auto place = hn::PromoteTo(di, hn::LoadU(d8, places + x));
      const auto at = [&](int64_t k) {
        return hn::IfThenElseZero(hn::RebindMask(d, hn::Eq(place, hn::Set(di, std::int32_t(k)))), v);
      };
      hn::StoreInterleaved2(at(first), at(first + 1), d, to + 2 * x);
    }
  };
  row(upper, 0), row(lower, 2);
}

// f(tag of at most 16, 8 or 4 lanes, whether to spill) with the widest vectors for row `row` of results.
template <class F> void with_lanes(const PoolShape& s, int64_t row, F f) {
  const int64_t size = s.out[2];
  if (row + 1 <
      s.out[1]) {  // there is a next row, and (of 4 results or more) it holds all that is read or written too much
    if (size > 8) f(hn::CappedTag<float, 16>(), true);
    else f(hn::CappedTag<float, 8>(), true);
  } else if (size >= 16) {
    f(hn::CappedTag<float, 16>(), false);
  } else if (size >= 8) {
    f(hn::CappedTag<float, 8>(), false);
  } else {
    f(hn::CappedTag<float, 4>(), false);
  }
}
void max(const float* x, float* y, std::uint8_t* places, const PoolShape& s) {
  for (int64_t row = 0; row < s.out[1]; ++row, y += s.out[2], places += s.out[2]) {
    const float* const in = x + row * s.stride[1] * s.in[2];
    with_lanes(s, row, [&](auto d, bool spill) {
      if (s.stride[2] == 2) max_row<2>(d, in, y, places, s, spill);
      else max_row<1>(d, in, y, places, s, spill);
    });
  }
}
void scatter_2x2(const float* g, const std::uint8_t* places, float* x, const PoolShape& s) {
  for (int64_t row = 0; row < s.out[1]; ++row, g += s.out[2], places += s.out[2]) {
    float* const upper = x + 2 * row * s.in[2];
    with_lanes(s, row, [&](auto d, bool spill) { scatter_row(d, g, places, upper, upper + s.in[2], s.out[2], spill); });
  }
}

constexpr PoolTile table = {&max, in_build::kept<!kOnlyPrograms>(&scatter_2x2)};
}  // namespace
const PoolTile* pool_tile_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(pool_tile_table);
const PoolTile& pool_tile() {
  static const PoolTile* const kernels = HWY_DYNAMIC_DISPATCH(pool_tile_table)();
  return *kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
