// One tile of a matrix product in registers, and the packing of its operands; once per instruction set.
#include <cstring>

#include "neura/backend/cpu/product/gemm.h"
#include "neura/backend/wanted.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/product/gemm_tile.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "neura/backend/cpu/arm32_double.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {  // names such as `dot` are other files' too
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
constexpr int kHeight =
    kOneProgram ? 8 : 14;  // 32 registers: 28 sums, 2 of b, 1 of a; what is to be small has fewer tiles
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SVE2 || HWY_TARGET == HWY_SVE
constexpr int kHeight = 14;
#else
constexpr int kHeight = 6;  // 16 registers
#endif
template <class T> using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T> constexpr int kLanes = int(hn::MaxLanes(Tag<T>()));
template <class T> constexpr int kWidth = 2 * kLanes<T>;

template <class T> struct Tile {
  int64_t depth, columns;
  const T *a, *b;
  int64_t a_row, a_depth, b_depth;
  T* c;
  int64_t c_row;
  GemmEpilogue<T> epilogue;
  const char* ahead;  // prefetched: a cache line for each k
  int64_t ahead_step;
};

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define NEURA_MASKED_STORE  // elsewhere a blended store touches what is outside the mask
#endif
// The last columns of a row: fewer than the vectors that were computed.
template <class T> void finish_columns(const T* sums, const Tile<T>& t, int rows) {
  const GemmEpilogue<T>& e = t.epilogue;
#ifdef NEURA_MASKED_STORE
  constexpr Tag<T> d;
  const auto alpha = hn::Set(d, e.alpha);
  for (int64_t j = 0; j < t.columns; j += kLanes<T>) {
    const auto mask = hn::FirstN(d, std::size_t(t.columns - j));
    for (int i = 0; i < rows; ++i) {
      auto v = hn::Mul(hn::Load(d, sums + i * kWidth<T> + j), alpha);
      if (e.init && e.init_column) v = hn::Add(v, hn::MaskedLoad(mask, d, e.init + i * e.init_row + j));
      else if (e.init) v = hn::Add(v, hn::Set(d, e.init[i * e.init_row]));
      hn::BlendedStore(v, mask, d, t.c + i * t.c_row + j);
    }
  }
#else
  for (int i = 0; i < rows; ++i)
    for (int64_t j = 0; j < t.columns; ++j) {
      T v = sums[i * kWidth<T> + j] * e.alpha;
      if (e.init) v += e.init[i * e.init_row + j * e.init_column];
      t.c[i * t.c_row + j] = v;
    }
#endif
}
#undef NEURA_MASKED_STORE

// sum += a b of one k: H consecutive numbers of a, V vectors of b.
template <class T, int H, int V> HWY_INLINE void add_products(hn::Vec<Tag<T>> (&sum)[H][V], const T* a, const T* b) {
  constexpr Tag<T> d;
  hn::Vec<Tag<T>> bv[V];
  HWY_UNROLL(2)
  for (int v = 0; v < V; ++v) bv[v] = hn::LoadU(d, b + v * kLanes<T>);
  HWY_UNROLL(16)
  for (int i = 0; i < H; ++i) {
    const auto av = hn::Set(d, a[i]);
    HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) sum[i][v] = hn::MulAdd(av, bv[v], sum[i][v]);
  }
}

template <class T, int H, int V> HWY_INLINE void finish(hn::Vec<Tag<T>> (&sum)[H][V], const Tile<T>& t) {
  constexpr Tag<T> d;
  using Vec = hn::Vec<Tag<T>>;
  constexpr int kL = kLanes<T>;
  const GemmEpilogue<T>& e = t.epilogue;
  if (e.alpha != T(1)) {
    const Vec alpha = hn::Set(d, e.alpha);
    HWY_UNROLL(16)
    for (int i = 0; i < H; ++i) HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) sum[i][v] = hn::Mul(sum[i][v], alpha);
  }
  if (e.init && e.init_column == 1) {
    HWY_UNROLL(16)
    for (int i = 0; i < H; ++i) HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) sum[i][v] = hn::Add(sum[i][v], hn::LoadU(d, e.init + i * e.init_row + v * kL));
  } else if (e.init) {  // one value for a row (the caller copes with other strides)
    HWY_UNROLL(16)
    for (int i = 0; i < H; ++i) {
      const Vec value = hn::Set(d, e.init[i * e.init_row]);
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) sum[i][v] = hn::Add(sum[i][v], value);
    }
  }
  HWY_UNROLL(16)
  for (int i = 0; i < H; ++i) HWY_UNROLL(2)
  for (int v = 0; v < V; ++v) hn::StoreU(sum[i][v], d, t.c + i * t.c_row + v * kL);
}

enum Left { kRowByRow, kSideBySide, kPackedToo };  // the layout of the rows of a; kPackedToo: both operands are packed
// H rows, V vectors.
template <class T, int H, int V, Left kLeft> void tile(const Tile<T>& t) {
  constexpr Tag<T> d;
  using Vec = hn::Vec<Tag<T>>;
  constexpr int kL = kLanes<T>;
  Vec sum[H][V];
  HWY_UNROLL(16)
  for (int i = 0; i < H; ++i) HWY_UNROLL(2)
  for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
  // c is far away, and its rows are too far apart for the processor to prefetch the next one.
  HWY_UNROLL(16)
  for (int i = 0; i < H; ++i) HWY_UNROLL(2)
  for (int v = 0; v < V; ++v) hwy::Prefetch(t.c + i * t.c_row + v * kL);
  const T *b = t.b, *a = t.a;
  const char* ahead = t.ahead;
  const int64_t ahead_step = t.ahead_step, step = t.a_depth, row = t.a_row, b_step = t.b_depth;
  if constexpr (kLeft == kPackedToo) {
    HWY_UNROLL(4)
    for (int64_t k = 0; k < t.depth; ++k, a += H, b += kWidth<T>, ahead += ahead_step) {
      hwy::Prefetch(ahead);
      add_products<T, H, V>(sum, a, b);
    }
  } else if constexpr (kLeft == kSideBySide) {
    for (int64_t k = 0; k < t.depth; ++k, a += step, b += b_step, ahead += ahead_step) {
      hwy::Prefetch(ahead);
      add_products<T, H, V>(sum, a, b);
    }
  } else {
    // rows by threes: few pointers to step
    const T* group[5] = {a, a + 3 * row, a + 6 * row, a + 9 * row, a + 12 * row};
    for (int64_t k = 0; k < t.depth; ++k) {
      Vec bv[V];
      HWY_UNROLL(2)
      for (int v = 0; v < V; ++v) bv[v] = hn::LoadU(d, b + v * kL);
      HWY_UNROLL(16)
      for (int i = 0; i < H; ++i) {
        const Vec av = hn::Set(d, group[i / 3][i % 3 * row]);
        HWY_UNROLL(2)
        for (int v = 0; v < V; ++v) sum[i][v] = hn::MulAdd(av, bv[v], sum[i][v]);
      }
      b += b_step;
      for (const T*& g : group) ++g;
    }
  }
  if (t.columns < V * kL) {
    alignas(64) T sums[H * kWidth<T>];
    HWY_UNROLL(16)
    for (int i = 0; i < H; ++i) HWY_UNROLL(2)
    for (int v = 0; v < V; ++v) hn::Store(sum[i][v], d, sums + i * kWidth<T> + v * kL);
    return finish_columns(sums, t, H);
  }
  finish<T, H, V>(sum, t);
}

template <class T> using TileFn = void (*)(const Tile<T>&);
template <class T> struct TileTable {
  TileFn<T> fn[kHeight][2][3];  // [rows - 1][vectors - 1][Left]
  template <int H = 1> constexpr void fill() {
    if constexpr (H <= kHeight) {
      fill_vectors<H, 1>(fn[H - 1][0]), fill_vectors<H, 2>(fn[H - 1][1]);
      fill<H + 1>();
    }
  }
  template <int H, int V> constexpr void fill_vectors(TileFn<T>* to) {
    constexpr bool often = V == 2 && H > kHeight / 2;  // a tile of its own costs space
    to[kRowByRow] = &tile<T, H, V, kRowByRow>, to[kSideBySide] = &tile<T, H, V, kSideBySide>;
    to[kPackedToo] = &tile < T, H, V, often ? kPackedToo : kSideBySide > ;
  }
  constexpr TileTable() : fn{} { fill(); }
};
template <class T> constexpr TileTable<T> tiles;

template <class T> void block(const GemmBlock<T>& g) {
  const int64_t count = parts(g.rows, kHeight), width = kWidth<T>;
  const Left left = !g.a.packed && g.a.row != 1 ? kRowByRow : g.a.packed && g.b.packed ? kPackedToo : kSideBySide;
  Tile<T> t;
  t.depth = g.depth, t.c_row = g.c_row, t.a_row = g.a.row, t.a_depth = g.a.depth;
  t.b_depth = g.b.packed ? width : g.b.depth;
  t.epilogue = g.epilogue;
  for (int64_t j = 0; j < g.columns; j += width) {
    t.columns = g.columns - j < width ? g.columns - j : width;
    t.b = g.b.packed ? g.b.data + j * g.depth : g.b.data + j;
    const int vectors = t.columns <= kLanes<T> ? 0 : 1;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t begin = part_begin(g.rows, count, i), rows = part_begin(g.rows, count, i + 1) - begin;
      if (g.a.packed) t.a = g.a.data + begin * g.depth, t.a_depth = rows;
      else t.a = g.a.data + begin * g.a.row;
      t.c = g.c + begin * g.c_row + j;
      if (g.epilogue.init) t.epilogue.init = g.epilogue.init + begin * g.epilogue.init_row + j * g.epilogue.init_column;
      t.ahead = reinterpret_cast<const char*>(t.b), t.ahead_step = 64;
      if (g.ahead) g.ahead->take(g.depth, &t.ahead, &t.ahead_step);
      tiles<T>.fn[rows - 1][vectors][left](t);
    }
  }
}

#include "neura/backend/cpu/transpose_square.h"

// Lines of consecutive k, `stride` apart, side by side: to[p * step + i] = from[i * stride + p]. Whole vectors are
// written where they end within `room`: what is too much after one p is overwritten by the next.
template <class T> void interleave(const T* from, int64_t stride, int64_t lines, int64_t depth, T* to, int64_t step,
                                   [[maybe_unused]] int64_t room) {
  [[maybe_unused]] constexpr Tag<T> d;
  constexpr int kL = kLanes<T>;
  if (kL == 1 || depth < kL) {
    for (int64_t i = 0; i < lines; ++i)
      for (int64_t p = 0; p < depth; ++p) to[p * step + i] = from[i * stride + p];
    return;
  }
#if HWY_TARGET != HWY_SCALAR
  for (int64_t p = 0; p < depth; p += kL) {
    if (p + kL > depth) p = depth - kL;  // the last square overlaps the one before
    hn::Vec<Tag<T>> v[kL];
    if (lines == kL) {
      HWY_UNROLL(16)
      for (int i = 0; i < kL; ++i) v[i] = hn::LoadU(d, from + i * stride + p);
    } else {
      HWY_UNROLL(16)
      for (int i = 0; i < kL; ++i) v[i] = hn::LoadU(d, from + (i < lines ? i : lines - 1) * stride + p);
    }
    transpose_square(d, v);
    if ((p + kL - 1) * step + kL > room) {
      alignas(64) T line[kL];
      HWY_UNROLL(16)
      for (int q = 0; q < kL; ++q) {
        hn::Store(v[q], d, line);
        std::memcpy(static_cast<void*>(to + (p + q) * step), line, std::size_t(lines) * sizeof(T));
      }
    } else {
      HWY_UNROLL(16)
      for (int q = 0; q < kL; ++q) hn::StoreU(v[q], d, to + (p + q) * step);
    }
  }
#endif
}

template <class T> void pack_a(const T* a, int64_t row, int64_t k, int64_t rows, int64_t depth, T* to) {
  const int64_t count = parts(rows, kHeight);
  for (int64_t s = 0; s < count; ++s) {
    const int64_t begin = part_begin(rows, count, s), h = part_begin(rows, count, s + 1) - begin;
    const T* from = a + begin * row;
    if (k == 1) {
      // From the last group on: what its whole vectors write too much, the first one corrects.
      for (int64_t i = (h - 1) / kLanes<T> * kLanes<T>; i >= 0; i -= kLanes<T>)
        interleave(from + i * row, row, h - i < kLanes<T> ? h - i : kLanes<T>, depth, to + i, h, h * depth - i);
    } else if (row == 1 && begin + kHeight + kLanes<T> <= rows) {  // whole vectors; the next k, or sliver, corrects
      constexpr Tag<T> d;
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < h; i += kLanes<T>) hn::StoreU(hn::LoadU(d, from + p * k + i), d, to + p * h + i);
    } else {
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < h; ++i) to[p * h + i] = from[i * row + p * k];
    }
    to += h * depth;
  }
}

template <class T> void pack_b(const T* b, int64_t k, int64_t column, int64_t depth, int64_t columns, T* to) {
  constexpr Tag<T> d;
  constexpr int kW = kWidth<T>, kL = kLanes<T>, kTogether = 4;  // slivers: longer pieces of each row
  int64_t j = 0;
  if (column == 1)
    for (; j + kTogether * kW <= columns; j += kTogether * kW, to += kTogether * kW * depth)
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < kTogether; ++i) {
          const T* const from = b + j + p * k + i * kW;
          T* const sliver = to + (i * depth + p) * kW;
          hn::StoreU(hn::LoadU(d, from), d, sliver);
          hn::StoreU(hn::LoadU(d, from + kL), d, sliver + kL);
        }
  for (; j < columns; j += kW, to += kW * depth) {
    const int64_t w = columns - j < kW ? columns - j : kW;
    const T* from = b + j * column;
    if (column == 1 && w == kW) {
      for (int64_t p = 0; p < depth; ++p) {
        hn::StoreU(hn::LoadU(d, from + p * k), d, to + p * kW);
        hn::StoreU(hn::LoadU(d, from + p * k + kL), d, to + p * kW + kL);
      }
      continue;
    }
    // Columns after the last are computed and thrown away: zeros, or copies of the last one.
    if (w < kW) std::memset(static_cast<void*>(to), 0, sizeof(T) * std::size_t(kW * depth));
    if (k == 1) {
      for (int64_t i = 0; i < w; i += kL)
        interleave(from + i * column, column, w - i < kL ? w - i : kL, depth, to + i, kW, kW * depth - i);
    } else {
      for (int64_t p = 0; p < depth; ++p)
        for (int64_t i = 0; i < w; ++i) to[p * kW + i] = from[i * column + p * k];
    }
  }
}

template <class T> T dot(const T* x, const T* y, int64_t n) {
  constexpr Tag<T> d;
  constexpr int kL = kLanes<T>;
  hn::Vec<Tag<T>> s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * kL <= n; i += 4 * kL) {
    s0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), s0);
    s1 = hn::MulAdd(hn::LoadU(d, x + i + kL), hn::LoadU(d, y + i + kL), s1);
    s2 = hn::MulAdd(hn::LoadU(d, x + i + 2 * kL), hn::LoadU(d, y + i + 2 * kL), s2);
    s3 = hn::MulAdd(hn::LoadU(d, x + i + 3 * kL), hn::LoadU(d, y + i + 3 * kL), s3);
  }
  for (; i + kL <= n; i += kL) s0 = hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), s0);
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

template <class T> void axpy(T a, const T* x, T* y, int64_t n) {
  constexpr Tag<T> d;
  constexpr int kL = kLanes<T>;
  const auto av = hn::Set(d, a);
  int64_t i = 0;
  for (; i + kL <= n; i += kL) hn::StoreU(hn::MulAdd(av, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  for (; i < n; ++i) y[i] += a * x[i];
}

template <class T>
constexpr GemmKernels<T> table = {kHeight, kWidth<T>, kLanes<T>, &block<T>, &pack_a<T>, &pack_b<T>, &dot<T>, &axpy<T>};
const GemmKernels<float>* gemm_table_f32() { return &table<float>; }
const GemmKernels<double>* gemm_table_f64() { return &table<double>; }

}  // namespace
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(gemm_table_f32);
HWY_EXPORT(gemm_table_f64);
template <> const GemmKernels<float>& gemm_kernels<float>() {
  static const GemmKernels<float>* const kernels = HWY_DYNAMIC_DISPATCH(gemm_table_f32)();
  return *kernels;
}
template <> const GemmKernels<double>& gemm_kernels<double>() {
  static const GemmKernels<double>* const kernels = HWY_DYNAMIC_DISPATCH(gemm_table_f64)();
  return *kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
