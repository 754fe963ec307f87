#include "neura/backend/cpu/linalg/small_lanes.h"

#include "neura/backend/cpu/linalg/linalg_small.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/linalg/small_lanes.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

constexpr int64_t kMost = batched::small::kMost;
template <class T> using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T> constexpr int64_t kLanes = int64_t(hn::MaxLanes(Tag<T>()));

// Element e of matrix m at [e][m]; lanes without a matrix are 0.
template <class T> void spread(const T* from, int64_t size, int64_t count, T* to) {
  for (int64_t m = 0; m < kLanes<T>; ++m)
    for (int64_t e = 0; e < size; ++e) to[e * kLanes<T> + m] = m < count ? from[m * size + e] : T(0);
}
template <class T> void collect(const T* from, int64_t size, int64_t count, T* to) {
  for (int64_t m = 0; m < count; ++m)
    for (int64_t e = 0; e < size; ++e) to[m * size + e] = from[e * kLanes<T> + m];
}

template <class T> struct Factors {
  static constexpr Tag<T> d{};
  using V = hn::Vec<Tag<T>>;
  static constexpr int64_t lanes = kLanes<T>;
  int64_t n;
  HWY_ALIGN T a[kMost * kMost * lanes];
  HWY_ALIGN T swaps[kMost * lanes];  // the row with which each was exchanged, as a number
  HWY_ALIGN T info[lanes];

  HWY_INLINE T* at(int64_t i, int64_t j) { return a + (i * n + j) * lanes; }

  Factors(const T* given, int64_t size, int64_t count) : n(size) {
    spread(given, n * n, count, a);
    auto failed = hn::Zero(d);
    for (int64_t k = 0; k < n; ++k) {
      const V best = choose(k);
      hn::Store(best, d, swaps + k * lanes);
      exchange(k, best);
      const V pivot = hn::Load(d, at(k, k)), zero = hn::Zero(d);
      const auto live = hn::Not(hn::Eq(pivot, zero));
      const auto fails = hn::AndNot(live, hn::Eq(failed, zero));
      failed = hn::IfThenElse(fails, hn::Set(d, T(k + 1)), failed);
      eliminate(k, live, hn::Div(hn::Set(d, T(1)), pivot));
    }
    hn::Store(failed, d, info);
  }
  // Where the largest of a column is, from its diagonal down.
  HWY_INLINE V choose(int64_t k) {
    V most = hn::Abs(hn::Load(d, at(k, k))), best = hn::Set(d, T(k));
    for (int64_t i = k + 1; i < n; ++i) {
      const V size = hn::Abs(hn::Load(d, at(i, k)));
      const auto larger = hn::Gt(size, most);
      most = hn::IfThenElse(larger, size, most), best = hn::IfThenElse(larger, hn::Set(d, T(i)), best);
    }
    return best;
  }
  HWY_INLINE void exchange(int64_t k, V best) {
    for (int64_t i = k + 1; i < n; ++i) {
      const auto here = hn::Eq(best, hn::Set(d, T(i)));
      for (int64_t j = 0; j < n; ++j) swap(here, at(k, j), at(i, j));
    }
  }
  template <class Mask> static HWY_INLINE void swap(Mask here, T* p, T* q) {
    const V x = hn::Load(d, p), y = hn::Load(d, q);
    hn::Store(hn::IfThenElse(here, y, x), d, p);
    hn::Store(hn::IfThenElse(here, x, y), d, q);
  }
  template <class Mask> HWY_INLINE void eliminate(int64_t k, Mask live, V one_over) {
    for (int64_t i = k + 1; i < n; ++i) {
      const V below = hn::Load(d, at(i, k)), f = hn::IfThenElse(live, hn::Mul(below, one_over), below);
      hn::Store(f, d, at(i, k));
      for (int64_t j = k + 1; j < n; ++j) {
        const V x = hn::Load(d, at(i, j));
        hn::Store(hn::IfThenElse(live, hn::Sub(x, hn::Mul(f, hn::Load(d, at(k, j)))), x), d, at(i, j));
      }
    }
  }
  // One column of a right side in place, [n][lanes].
  HWY_INLINE void solve(T* x) {
    for (int64_t k = 0; k + 1 < n; ++k) {
      const V best = hn::Load(d, swaps + k * lanes);
      for (int64_t i = k + 1; i < n; ++i) swap(hn::Eq(best, hn::Set(d, T(i))), x + k * lanes, x + i * lanes);
    }
    for (int64_t i = 1; i < n; ++i) hn::Store(less(x, i, 0, i), d, x + i * lanes);
    for (int64_t i = n; i-- > 0;) {
      const V one_over = hn::Div(hn::Set(d, T(1)), hn::Load(d, at(i, i)));
      hn::Store(hn::Mul(less(x, i, i + 1, n), one_over), d, x + i * lanes);
    }
  }
  HWY_INLINE V less(const T* x, int64_t i, int64_t begin, int64_t end) {
    V sum = hn::Load(d, x + i * lanes);
    for (int64_t j = begin; j < end; ++j)
      sum = hn::Sub(sum, hn::Mul(hn::Load(d, at(i, j)), hn::Load(d, x + j * lanes)));
    return sum;
  }
  void write(int64_t count, T* lu, std::int32_t* pivots) {
    collect(a, n * n, count, lu);
    for (int64_t m = 0; m < count; ++m, pivots += n + 1) {
      for (int64_t k = 0; k < n; ++k) pivots[k] = std::int32_t(swaps[k * lanes + m]) + 1;
      pivots[n] = std::int32_t(info[m]);
    }
  }
};

template <class T> void factorise(const T* a, int64_t n, int64_t count, T* lu, std::int32_t* pivots) {
  Factors<T>(a, n, count).write(count, lu, pivots);
}
template <class T>
void solve(const T* a, int64_t n, int64_t count, const T* b, int64_t columns, T* x, T* lu, std::int32_t* pivots) {
  constexpr int64_t lanes = kLanes<T>;
  Factors<T> f(a, n, count);
  HWY_ALIGN T y[kMost * lanes] = {};
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t m = 0; m < count; ++m)
      for (int64_t i = 0; i < n; ++i) y[i * lanes + m] = b[(m * n + i) * columns + c];
    f.solve(y);
    for (int64_t m = 0; m < count; ++m)
      for (int64_t i = 0; i < n; ++i) x[(m * n + i) * columns + c] = y[i * lanes + m];
  }
  f.write(count, lu, pivots);
}
template <class T> void invert(const T* a, int64_t n, int64_t count, T* inverse, std::int32_t* info) {
  constexpr int64_t lanes = kLanes<T>;
  Factors<T> f(a, n, count);
  HWY_ALIGN T y[kMost * lanes];
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t i = 0; i < n; ++i) hn::Store(hn::Set(Tag<T>(), T(i == c)), Tag<T>(), y + i * lanes);
    f.solve(y);
    for (int64_t m = 0; m < count; ++m)
      for (int64_t i = 0; i < n; ++i) inverse[(m * n + i) * n + c] = y[i * lanes + m];
  }
  for (int64_t m = 0; m < count; ++m) info[m] = std::int32_t(f.info[m]);
}

template <class T> constexpr SmallLanes<T> table{kLanes<T>, &factorise<T>, &solve<T>, &invert<T>};

}  // namespace
const SmallLanes<float>* small_floats() { return &table<float>; }
const SmallLanes<double>* small_doubles() { return &table<double>; }
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(small_floats);
HWY_EXPORT(small_doubles);
template <> const SmallLanes<float>& small_lanes<float>() { return *HWY_DYNAMIC_DISPATCH(small_floats)(); }
template <> const SmallLanes<double>& small_lanes<double>() { return *HWY_DYNAMIC_DISPATCH(small_doubles)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
