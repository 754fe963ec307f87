#include "neura/backend/cpu/spatial/grid_sample_runs.h"

#include <algorithm>
#include <cmath>

#include "neura/backend/cpu/spatial/grid_sample_lines.h"
#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/spatial/grid_sample_runs.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/lanes.h"
using std::int64_t;
#include "neura/backend/number/grid_sample.h"

// f(point, element of the image, its weight, derivatives of that by x and y), one element after the other: of points
// that registers do not take.
template <class T, class F> void one_by_one(const SampleRuns<T>& b, int first, int last, const F& f) {
  for (int i = first; i < last; ++i) {
    Line<T> down, right;
    find(down, b.grid[2 * i + 1], b.size[0], b.s), find(right, b.grid[2 * i], b.size[1], b.s);
    for (int r = 0; r < down.count; ++r)
      for (int c = 0; c < right.count; ++c)
        if (down.index[r] >= 0 && right.index[c] >= 0)
          f(i, down.index[r] * b.size[1] + right.index[c], down.weight[r] * right.weight[c],
            down.weight[r] * right.slope[c], down.slope[r] * right.weight[c]);
  }
}
template <class T> void read_some(const SampleRuns<T>& b, int first, int last, const T* image, T* values) {
  for (int64_t c = 0; c < b.channels; ++c) std::fill(values + c * b.stride + first, values + c * b.stride + last, T(0));
  one_by_one(b, first, last, [&](int i, int64_t at, T weight, T, T) {
    for (int64_t c = 0; c < b.channels; ++c) values[c * b.stride + i] += weight * image[c * b.plane + at];
  });
}
template <class T>
void spread_some(const SampleRuns<T>& b, int first, int last, const T* values, T* image, int64_t columns) {
  one_by_one(b, first, last, [&](int i, int64_t at, T weight, T, T) {
    T* const to = image + at * columns;
    for (int64_t c = 0; c < columns; ++c) to[c] = fma(weight, values[i * columns + c], to[c]);
  });
}
template <class T>
void slopes_some(const SampleRuns<T>& b, int first, int last, const T* image, const T* values, T* gradient) {
  std::fill(gradient + 2 * first, gradient + 2 * last, T(0));
  one_by_one(b, first, last, [&](int i, int64_t at, T, T by_x, T by_y) {
    T product = 0;
    for (int64_t c = 0; c < b.channels; ++c) product += values[c * b.stride + i] * image[c * b.plane + at];
    gradient[2 * i] += product * by_x, gradient[2 * i + 1] += product * by_y;
  });
}

#if HWY_TARGET != HWY_SCALAR
#include "neura/backend/cpu/spatial/grid_sample_coordinates.h"

// What a register of points reads: R rows of R elements each. A run is inside of the image, also where elements of
// its point do not: those next to it have no weight, and are not there.
template <class E, int R> struct Runs {
  using N = Batch<E>;
  using D = Tag<E>;
  static constexpr int lanes = N::lanes;
  alignas(64) std::int32_t at[R][lanes];  // the first element of each row
  N across[R], across_slope[R], down[R], down_slope[R];
  hn::Mask<D> column[R], row[R];  // is it of the point? Not asked where all are.
  bool whole;

  HWY_INLINE Runs(const SamplePoint<E>& y, const SamplePoint<E>& x, const std::int64_t* size, const GridSampling& s) {
    const D d;
    const Steps<E> below(y, size[0], s), beside(x, size[1], s);
    const auto zero = hn::Zero(d), last = hn::Set(d, E(size[0] - 1)), width = hn::Set(d, E(size[1]));
    auto least = beside.place[0].raw;
    for (int k = 1; k < R; ++k) least = hn::Min(least, beside.place[k].raw);
    const auto base = hn::Min(hn::Max(least, zero), hn::Sub(width, hn::Set(d, E(R))));
    const auto end = hn::Add(base, hn::Set(d, E(R - 1)));
    whole = hn::AllTrue(d, hn::And(hn::Eq(base, beside.place[0].raw), hn::Eq(end, beside.place[R - 1].raw))) &&
            hn::AllTrue(d, hn::And(hn::Ge(below.place[0].raw, zero), hn::Le(below.place[R - 1].raw, last)));
    for (int k = 0; k < R; ++k) {
      const auto place = hn::Min(hn::Max(below.place[k].raw, zero), last);
      store_at(place, base, size[1], at[k]);
      row[k] = hn::Eq(place, below.place[k].raw);
      across[k] = beside.weight[k], across_slope[k] = beside.slope[k];
      down[k] = below.weight[k], down_slope[k] = below.slope[k];
    }
    if (!whole) cut(beside, base);
  }
  static HWY_INLINE void store_at(hn::Vec<D> row, hn::Vec<D> column, std::int64_t width, std::int32_t* to) {
    const hn::Rebind<std::int32_t, D> di;
    if constexpr (sizeof(E) == 4)
      hn::Store(hn::Add(hn::Mul(hn::ConvertTo(di, row), hn::Set(di, std::int32_t(width))), hn::ConvertTo(di, column)),
                di, to);
    else hn::Store(hn::DemoteTo(di, hn::MulAdd(row, hn::Set(D(), E(width)), column)), di, to);
  }
  // Weights of the elements of the run. At borders an element may be several times in the list of its point.
  void cut(const Steps<E>& beside, hn::Vec<D> base) {
    const D d;
    for (int k = 0; k < R; ++k) {
      const auto place = hn::Add(base, hn::Set(d, E(k)));
      auto weight = hn::Zero(d), slope = weight;
      auto there = hn::Lt(weight, slope);
      for (int m = 0; m < R; ++m) {
        const auto same = hn::Eq(place, beside.place[m].raw);
        weight = hn::Add(weight, hn::IfThenElseZero(same, beside.weight[m].raw));
        slope = hn::Add(slope, hn::IfThenElseZero(same, beside.slope[m].raw));
        there = hn::Or(there, same);
      }
      across[k] = weight, across_slope[k] = slope, column[k] = there;
      down[k] = hn::IfThenElseZero(row[k], down[k].raw), down_slope[k] = hn::IfThenElseZero(row[k], down_slope[k].raw);
    }
  }
};

template <int R, class D> HWY_INLINE hn::Vec<D> side_by_side(D d, const hn::TFromD<D>* from, const std::int32_t* at) {
  if constexpr (hn::MaxLanes(D()) == R) {
    return hn::LoadU(d, from + at[0]);
  } else {
    const hn::Half<D> half;
    constexpr int n = int(hn::MaxLanes(half)) / R;
    return hn::Combine(d, side_by_side<R>(half, from, at + n), side_by_side<R>(half, from, at));
  }
}
// v[k]: element k of each run.
template <class E, int R> HWY_INLINE void load_runs(const E* from, const std::int32_t* at, hn::Vec<Tag<E>> (&v)[R]) {
  const Tag<E> d;
  constexpr int n = Batch<E>::lanes / R;
  const auto a = side_by_side<R>(d, from, at), b = side_by_side<R>(d, from, at + n);
  const auto even = hn::ConcatEven(d, b, a), odd = hn::ConcatOdd(d, b, a);
  if constexpr (R == 2) {
    v[0] = even, v[1] = odd;
  } else {
    const auto p = side_by_side<R>(d, from, at + 2 * n), q = side_by_side<R>(d, from, at + 3 * n);
    const auto more_even = hn::ConcatEven(d, q, p), more_odd = hn::ConcatOdd(d, q, p);
    v[0] = hn::ConcatEven(d, more_even, even), v[1] = hn::ConcatEven(d, more_odd, odd);
    v[2] = hn::ConcatOdd(d, more_even, even), v[3] = hn::ConcatOdd(d, more_odd, odd);
  }
}

template <bool whole, class E, int R>
HWY_INLINE void read_register(const SampleRuns<E>& b, const Runs<E, R>& runs, const E* image, E* values, int n) {
  using L = Lanes<Batch<E>>;
  for (int64_t c = 0; c < b.channels; ++c, image += b.plane, values += b.stride) {
    Batch<E> sum = L::all(0);
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      hn::Vec<Tag<E>> v[R];
      load_runs<E, R>(image, runs.at[r], v);
      Batch<E> along = L::all(0);
      HWY_UNROLL(4)
      for (int k = 0; k < R; ++k)
        along = fma(runs.across[k], Batch<E>(whole ? v[k] : hn::IfThenElseZero(runs.column[k], v[k])), along);
      sum = fma(runs.down[r], Batch<E>(whole ? along.raw : hn::IfThenElseZero(runs.row[r], along.raw)), sum);
    }
    n == L::count ? L::store(sum, values) : L::store(sum, values, n);
  }
}
template <bool whole, class E, int R> HWY_INLINE void slope_register(const SampleRuns<E>& b, const Runs<E, R>& runs,
                                                                     const E* image, const E* values, E* to, int n) {
  using L = Lanes<Batch<E>>;
  const Tag<E> d;
  Batch<E> x = L::all(0), y = L::all(0);
  for (int64_t c = 0; c < b.channels; ++c, image += b.plane, values += b.stride) {
    Batch<E> by_x = L::all(0), by_y = L::all(0);
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      hn::Vec<Tag<E>> v[R];
      load_runs<E, R>(image, runs.at[r], v);
      Batch<E> along = L::all(0), slope = L::all(0);
      HWY_UNROLL(4)
      for (int k = 0; k < R; ++k) {
        const Batch<E> one = whole ? v[k] : hn::IfThenElseZero(runs.column[k], v[k]);
        along = fma(runs.across[k], one, along), slope = fma(runs.across_slope[k], one, slope);
      }
      if (!whole)
        along = hn::IfThenElseZero(runs.row[r], along.raw), slope = hn::IfThenElseZero(runs.row[r], slope.raw);
      by_x = fma(runs.down[r], slope, by_x), by_y = fma(runs.down_slope[r], along, by_y);
    }
    const Batch<E> g = n == L::count ? L::load(values) : L::load(values, n, 0);
    x = fma(g, by_x, x), y = fma(g, by_y, y);
  }
  if (n == L::count) return hn::StoreInterleaved2(x.raw, y.raw, d, to);
  alignas(64) E part[2 * L::count];
  hn::StoreInterleaved2(x.raw, y.raw, d, part);
  std::copy(part, part + 2 * n, to);
}
// Registers D of channels, one point after the other. Points whose elements are not all there ask for each of them.
template <bool whole, class D, class E, int R>
HWY_INLINE void add_points(const E (&weight)[R][R][Batch<E>::lanes], const E (&there)[R][R][Batch<E>::lanes],
                           const Runs<E, R>& runs, const E* values, E* image, int64_t columns, int n) {
  const D d;
  for (int i = 0; i < n; ++i, values += columns)
    for (int64_t c = 0; c < columns; c += int64_t(hn::MaxLanes(d))) {
      const auto g = hn::LoadU(d, values + c);
      HWY_UNROLL(4)
      for (int r = 0; r < R; ++r) {
        E* to = image + runs.at[r][i] * columns + c;
        HWY_UNROLL(4)
        for (int k = 0; k < R; ++k, to += columns)
          if (whole || there[r][k][i] != 0)
            hn::StoreU(hn::MulAdd(hn::Set(d, weight[r][k][i]), g, hn::LoadU(d, to)), d, to);
      }
    }
}
template <class D, class E, int R>
HWY_INLINE void spread_register(const Runs<E, R>& runs, const E* values, E* image, int64_t columns, int n) {
  using L = Lanes<Batch<E>>;
  const Tag<E> d;
  alignas(64) E weight[R][R][L::count], there[R][R][L::count];
  for (int r = 0; r < R; ++r)
    for (int k = 0; k < R; ++k) {
      L::store(runs.down[r] * runs.across[k], weight[r][k]);
      if (!runs.whole)
        hn::Store(hn::IfThenElseZero(hn::And(runs.row[r], runs.column[k]), hn::Set(d, 1)), d, there[r][k]);
    }
  runs.whole ? add_points<true, D>(weight, there, runs, values, image, columns, n)
             : add_points<false, D>(weight, there, runs, values, image, columns, n);
}

// f(runs, first point, how many) for registers of points; other(first, last) for those that are far away.
template <int R, class E, class F, class G>
HWY_INLINE void each_register(const SampleRuns<E>& b, const F& f, const G& other) {
  constexpr int lanes = Batch<E>::lanes;
  const Tag<E> d;
  alignas(64) E moved[2][kSamplePoints];
  move_block(b.grid, b.points, b.size, b.s, moved);
  for (int i = 0; i < b.points; i += lanes) {
    const int n = std::min(lanes, b.points - i);
    SamplePoint<E> y, x;
    if (!y.find(hn::Load(d, moved[0] + i), b.size[0], b.s) || !x.find(hn::Load(d, moved[1] + i), b.size[1], b.s))
      other(i, i + n);
    else f(Runs<E, R>(y, x, b.size, b.s), i, n);
  }
}
template <int R, class E> void read_runs(const SampleRuns<E>& b, const E* image, E* values) {
  each_register<R>(
      b,
      [&](const Runs<E, R>& runs, int i, int n) HWY_ATTR {
        runs.whole ? read_register<true>(b, runs, image, values + i, n)
                   : read_register<false>(b, runs, image, values + i, n);
      },
      [&](int first, int last) { read_some(b, first, last, image, values); });
}
template <int R, class D, class E>
void spread_by(D, const SampleRuns<E>& b, const E* values, E* image, int64_t columns) {
  each_register<R>(
      b,
      [&](const Runs<E, R>& runs, int i, int n)
          HWY_ATTR { spread_register<D>(runs, values + i * columns, image, columns, n); },
      [&](int first, int last) { spread_some(b, first, last, values, image, columns); });
}
template <int R, class E> void spread_runs(const SampleRuns<E>& b, const E* values, E* image, int64_t columns) {
  constexpr int64_t lanes = Batch<E>::lanes, least = 16 / sizeof(E);
  if (columns % lanes == 0) return spread_by<R>(Tag<E>(), b, values, image, columns);
  if constexpr (lanes > 2 * least)
    if (columns == 2 * least) return spread_by<R>(hn::CappedTag<E, 2 * least>(), b, values, image, columns);
  if constexpr (lanes > least)
    if (columns == least) return spread_by<R>(hn::CappedTag<E, least>(), b, values, image, columns);
  spread_by<R>(hn::CappedTag<E, 1>(), b, values, image, columns);
}
template <int R, class E> void slopes_of_runs(const SampleRuns<E>& b, const E* image, const E* values, E* gradient) {
  each_register<R>(
      b,
      [&](const Runs<E, R>& runs, int i, int n) HWY_ATTR {
        runs.whole ? slope_register<true>(b, runs, image, values + i, gradient + 2 * i, n)
                   : slope_register<false>(b, runs, image, values + i, gradient + 2 * i, n);
      },
      [&](int first, int last) { slopes_some(b, first, last, image, values, gradient); });
}
#endif

// Whether rows of R elements are what points need, and such rows are in the image.
template <int R, class T> bool takes(const SampleRuns<T>& b) {
  return R == (b.s.mode == Sampling::cubic ? 4 : 2) && b.size[1] >= R && std::max(b.size[0], b.size[1]) < 1 << 22 &&
         b.plane < INT32_MAX;
}
template <class N, class T> void read(const SampleRuns<T>& b, const T* image, T* values) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Lanes<N>::count >= 4)
    if (takes<4>(b)) return read_runs<4>(b, image, values);
  if constexpr (Lanes<N>::count >= 2)
    if (takes<2>(b)) return read_runs<2>(b, image, values);
#endif
  read_some(b, 0, b.points, image, values);
}
template <class N, class T> void spread(const SampleRuns<T>& b, const T* values, T* image, int64_t columns) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Lanes<N>::count >= 4)
    if (takes<4>(b)) return spread_runs<4>(b, values, image, columns);
  if constexpr (Lanes<N>::count >= 2)
    if (takes<2>(b)) return spread_runs<2>(b, values, image, columns);
#endif
  spread_some(b, 0, b.points, values, image, columns);
}
// Of 2 or 4 columns, of which `channels` have rows; the others are what they are.
template <class N, class T>
void join(const T* rows, int64_t stride, int64_t channels, int64_t count, int64_t columns, T* to) {
  int64_t i = 0;
  const T* row[4];
  for (int c = 0; c < 4; ++c) row[c] = rows + std::min<int64_t>(c, channels - 1) * stride;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Lanes<N>::count > 1) {
    const Tag<T> d;
    for (; i + Lanes<N>::count <= count; i += Lanes<N>::count) {
      const auto a = hn::LoadU(d, row[0] + i), b = hn::LoadU(d, row[1] + i);
      if (columns == 2) hn::StoreInterleaved2(a, b, d, to + i * 2);
      else hn::StoreInterleaved4(a, b, hn::LoadU(d, row[2] + i), hn::LoadU(d, row[3] + i), d, to + i * 4);
    }
  }
#endif
  for (; i < count; ++i)
    for (int64_t c = 0; c < columns; ++c) to[i * columns + c] = row[c][i];
}
template <class N, class T>
void split(const T* from, int64_t columns, int64_t channels, int64_t count, T* rows, int64_t stride) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Lanes<N>::count > 1) {
    const Tag<T> d;
    for (; i + Lanes<N>::count <= count; i += Lanes<N>::count) {
      hn::Vec<Tag<T>> v[4];
      if (columns == 2) hn::LoadInterleaved2(d, from + i * 2, v[0], v[1]);
      else hn::LoadInterleaved4(d, from + i * 4, v[0], v[1], v[2], v[3]);
      for (int64_t c = 0; c < channels; ++c) hn::StoreU(v[c], d, rows + c * stride + i);
    }
  }
#endif
  for (; i < count; ++i)
    for (int64_t c = 0; c < channels; ++c) rows[c * stride + i] = from[i * columns + c];
}
template <class N, class T> void slopes(const SampleRuns<T>& b, const T* image, const T* values, T* gradient) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (Lanes<N>::count >= 4)
    if (takes<4>(b)) return slopes_of_runs<4>(b, image, values, gradient);
  if constexpr (Lanes<N>::count >= 2)
    if (takes<2>(b)) return slopes_of_runs<2>(b, image, values, gradient);
#endif
  slopes_some(b, 0, b.points, image, values, gradient);
}

template <class N, class T>
constexpr RunLines<T> run_lines{Lanes<N>::count, &read<N, T>, &slopes<N, T>, &spread<N, T>, &join<N, T>, &split<N, T>};
constexpr RunTable run_table{run_lines<Floats, float>, run_lines<Doubles, double>};
const RunTable* sample_run_lines() { return &run_table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(sample_run_lines);
const RunTable& sample_run_table() { return *HWY_DYNAMIC_DISPATCH(sample_run_lines)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
