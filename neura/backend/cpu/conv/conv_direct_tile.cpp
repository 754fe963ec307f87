// Tiles of a convolution that read the image in place, once per instruction set.
#include <cstring>

#include "neura/backend/cpu/conv/conv_direct.h"
#include "neura/backend/cpu/product/gemm.h"
#include "neura/backend/wanted.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/conv/conv_direct_tile.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "neura/backend/cpu/arm32_double.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
constexpr int kResults =
    kOneProgram ? 8
                : 14;  // 32 registers: 28 sums, 2 of the weight, 1 of the image; what is to be small has fewer tiles
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SVE2 || HWY_TARGET == HWY_SVE
constexpr int kResults = 14;
#else
constexpr int kResults = 6;  // 16 registers
#endif
#if HWY_ARCH_X86
constexpr int kNear = 9;  // results whose place in the image is in a register; the compiler would put more into vectors
#else
constexpr int kNear = kResults;
#endif
template <class T> using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T> constexpr int kLanes = int(hn::MaxLanes(Tag<T>()));
#include "neura/backend/cpu/transpose_square.h"

// J results, V vectors of filters.
template <class T, int J, int V> void tile(const DirectTile<T>& t) {
  constexpr Tag<T> d;
  using Vec = hn::Vec<Tag<T>>;
  constexpr int kL = kLanes<T>;
  Vec sum[J][V];
  const T* from[J];
  const T* volatile far[J];  // read from memory each time
  HWY_UNROLL(16)
  for (int j = 0; j < J; ++j) {
    from[j] = t.image + t.places[j];
    far[j] = from[j];
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) sum[j][v] = hn::LoadU(d, (t.init ? t.init : t.sums + t.rows[j] * (V * kL)) + v * kL);
  }
  const DirectTap* const taps = t.taps;
  const T* weight = t.weight;
  for (int64_t left = t.channels, channel = 0; left > 0; left -= t.together) {
    const DirectTap* const taps_end = taps + (left < t.together ? left : t.together) * t.tap_count;
    for (const DirectTap* tap = taps; tap != taps_end; ++tap) {
      const int64_t offset = channel + tap->offset;
      const T* const line = weight + tap->row * (V * kL);
      Vec w[V];
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) w[v] = hn::LoadU(d, line + v * kL);
      HWY_UNROLL(16)
      for (int j = 0; j < J; ++j) {
        const T* line_of = from[j];
        if (j >= kNear) line_of = far[j];
        const Vec x = hn::Set(d, line_of[offset]);
        HWY_UNROLL(2)
        for (int v = 0; v < V; ++v) sum[j][v] = hn::MulAdd(x, w[v], sum[j][v]);
      }
    }
    channel += t.together * t.plane, weight += t.together * t.weight_step;
  }
  HWY_UNROLL(16)
  for (int j = 0; j < J; ++j) HWY_UNROLL(2)
  for (int v = 0; v < V; ++v) hn::StoreU(sum[j][v], d, t.sums + t.rows[j] * (V * kL) + v * kL);
}

// A square of vectors at a time.
template <class T> void store(const DirectSums<T>& s) {
  constexpr Tag<T> d;
  constexpr int kL = kLanes<T>;
  for (int64_t f = 0; f < s.filters; f += kL)
    for (int64_t i = 0; i < s.results; i += kL) {
      const int64_t results = s.results - i < kL ? s.results - i : kL;
      const int64_t filters = s.filters - f < kL ? s.filters - f : kL;
      const T* const from = s.sums + i * s.width + f;
      T* const to = s.y + f * s.y_row + i;
      hn::Vec<Tag<T>> square[kL];
      HWY_UNROLL(16)
      for (int r = 0; r < kL; ++r) square[r] = hn::LoadU(d, from + (r < results ? r : 0) * s.width);
#if HWY_TARGET != HWY_SCALAR
      transpose_square(Tag<T>(), square);
#endif
      if (results == kL && filters == kL) {
        HWY_UNROLL(16)
        for (int r = 0; r < kL; ++r) hn::StoreU(square[r], d, to + r * s.y_row);
      } else {
        alignas(64) T lines[kL * kL];
        HWY_UNROLL(16)
        for (int r = 0; r < kL; ++r) hn::Store(square[r], d, lines + r * kL);
        for (int64_t r = 0; r < filters; ++r)
          std::memcpy(static_cast<void*>(to + r * s.y_row), lines + r * kL, std::size_t(results) * sizeof(T));
      }
    }
}

// Lines of a weight side by side. What follows the last line is computed and thrown away.
template <class T> void turn(const DirectLines<T>& l, T* to) {
  constexpr int kL = kLanes<T>;
  const int64_t back = l.backwards ? l.size - 1 : 0, step = l.backwards ? -l.width : l.width;
  for (int64_t i = 0; i < l.width; i += kL)
    for (int64_t k = 0; k < l.size; k += kL) {
      const T* const from = l.from + i * l.stride + k;
      T* const first = to + back * l.width + k * step + i;
      const int64_t lines = l.lines - i < kL ? l.lines - i : kL, size = l.size - k < kL ? l.size - k : kL;
#if HWY_TARGET != HWY_SCALAR
      if (lines > 0 && from + (lines - 1) * l.stride + kL <= l.end) {
        constexpr Tag<T> d;
        hn::Vec<Tag<T>> square[kL];
        HWY_UNROLL(16)
        for (int r = 0; r < kL; ++r) square[r] = hn::LoadU(d, from + (r < lines ? r : lines - 1) * l.stride);
        transpose_square(Tag<T>(), square);
        if (size == kL) {
          HWY_UNROLL(16)
          for (int r = 0; r < kL; ++r) hn::StoreU(square[r], d, first + r * step);
        } else {
          alignas(64) T rows[kL * kL];
          HWY_UNROLL(16)
          for (int r = 0; r < kL; ++r) hn::Store(square[r], d, rows + r * kL);
          for (int64_t r = 0; r < size; ++r) hn::StoreU(hn::Load(d, rows + r * kL), d, first + r * step);
        }
        continue;
      }
#endif
      for (int64_t r = 0; r < size; ++r)
        for (int64_t line = 0; line < kL; ++line)
          first[r * step + line] = line < lines ? from[line * l.stride + r] : T(0);
    }
}

constexpr int kFewest = kResults / 2;  // results of a tile
template <class T> struct TileTable {
  void (*fn[kResults - kFewest + 1][2])(const DirectTile<T>&);
  template <int J = kFewest> constexpr void fill() {
    if constexpr (J <= kResults) {
      fn[J - kFewest][0] = &tile<T, J, 1>, fn[J - kFewest][1] = &tile<T, J, 2>;
      fill<J + 1>();
    }
  }
  constexpr TileTable() : fn{} { fill(); }
};
template <class T> constexpr TileTable<T> tiles;
template <class T> void any_tile(const DirectTile<T>& t) { tiles<T>.fn[t.results - kFewest][t.vectors - 1](t); }

template <class T>
constexpr DirectKernels<T> table = {kResults, 2 * kLanes<T>, kLanes<T>, &any_tile<T>, &store<T>, &turn<T>};
const DirectKernels<float>* direct_table_f32() { return &table<float>; }
const DirectKernels<double>* direct_table_f64() { return &table<double>; }

}  // namespace
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(direct_table_f32);
HWY_EXPORT(direct_table_f64);
template <> const DirectKernels<float>& direct_kernels<float>() {
  static const DirectKernels<float>* const kernels = HWY_DYNAMIC_DISPATCH(direct_table_f32)();
  return *kernels;
}
template <> const DirectKernels<double>& direct_kernels<double>() {
  static const DirectKernels<double>* const kernels = HWY_DYNAMIC_DISPATCH(direct_table_f64)();
  return *kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
