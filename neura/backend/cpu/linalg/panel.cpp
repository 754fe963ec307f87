#include "neura/backend/cpu/linalg/panel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/linalg/panel.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using std::int64_t;

template <class T> using Tag = hn::CappedTag<T, 64 / sizeof(T)>;
template <class T> constexpr int kLanes = int(hn::MaxLanes(Tag<T>()));
template <class T> constexpr int kWidth = 2 * kLanes<T>;
// Numbers of rows, lane by lane: whole ones, since a float does not hold those above 2^24.
template <class T> using RowTag = hn::RebindToSigned<Tag<T>>;
template <class T> using RowNumber = hn::TFromD<RowTag<T>>;

template <class T> struct Stripe {
  T* a;
  int64_t m, n;
  T& at(int64_t i, int64_t j) const { return a[(i / kWidth<T> * n + j) * kWidth<T> + i % kWidth<T>]; }
  int64_t slivers() const { return (m + kWidth<T> - 1) / kWidth<T>; }
};

// The largest element of a column so far, lane by lane; the first of equal ones. Nothing is larger than NaN.
template <class T> struct Largest {
  hn::Vec<Tag<T>> size = hn::Zero(Tag<T>());
  hn::Vec<RowTag<T>> row;
  explicit Largest(int64_t first) : row(hn::Set(RowTag<T>(), RowNumber<T>(first))) {}
  template <class Mask> HWY_INLINE void see(hn::Vec<Tag<T>> x, hn::Vec<RowTag<T>> rows, Mask mask) {
    const auto candidate = hn::Abs(x);
    const auto larger = hn::And(hn::Gt(candidate, size), mask);
    size = hn::IfThenElse(larger, candidate, size);
    row = hn::IfThenElse(hn::RebindMask(RowTag<T>(), larger), rows, row);
  }
  int64_t find() const {
    alignas(64) T sizes[kLanes<T>];
    alignas(64) RowNumber<T> rows[kLanes<T>];
    hn::Store(size, Tag<T>(), sizes), hn::Store(row, RowTag<T>(), rows);
    int best = 0;
    for (int i = 1; i < kLanes<T>; ++i)
      if (sizes[i] > sizes[best] || (sizes[i] == sizes[best] && rows[i] < rows[best])) best = i;
    return int64_t(rows[best]);
  }
};

// The row of the largest element of column j, from row j on.
template <class T> int64_t search(const Stripe<T>& s, int64_t j) {
  constexpr Tag<T> d;
  Largest<T> largest(j);
  for (int64_t first = j / kWidth<T> * kWidth<T>; first < s.m; first += kLanes<T>) {
    const auto rows = hn::Iota(RowTag<T>(), RowNumber<T>(first));
    const auto from = hn::RebindMask(d, hn::Gt(rows, hn::Set(RowTag<T>(), RowNumber<T>(j - 1))));
    largest.see(hn::Load(d, &s.at(first, j)), rows, from);
  }
  return largest.find();
}

// The rows of a sliver below the pivot of column j minus their multiples of the pivot's row. `all`: they all are below.
template <class T, bool all, bool divide>
HWY_INLINE void eliminate(const Stripe<T>& s, int64_t sliver, int64_t j, const T* u, T pivot, Largest<T>& largest) {
  constexpr Tag<T> d;
  constexpr int kL = kLanes<T>;
  T* const block = s.a + sliver * kWidth<T> * s.n;
  constexpr RowTag<T> n;
  const auto rows0 = hn::Iota(n, RowNumber<T>(sliver * kWidth<T>)),
             rows1 = hn::Add(rows0, hn::Set(n, RowNumber<T>(kL)));
  const auto above = hn::Set(n, RowNumber<T>(j));
  const auto below0 = hn::RebindMask(d, hn::Gt(rows0, above)), below1 = hn::RebindMask(d, hn::Gt(rows1, above));
  const auto p = hn::Set(d, pivot);
  T* x = block + j * kWidth<T>;
  const auto x0 = hn::Load(d, x), x1 = hn::Load(d, x + kL);
  const auto f0 = divide ? hn::Div(x0, p) : hn::Mul(x0, p), f1 = divide ? hn::Div(x1, p) : hn::Mul(x1, p);
  hn::Store(all ? f0 : hn::IfThenElse(below0, f0, x0), d, x);
  hn::Store(all ? f1 : hn::IfThenElse(below1, f1, x1), d, x + kL);
  for (int64_t c = j + 1; c < s.n; ++c) {
    x += kWidth<T>;
    const auto y0 = hn::Load(d, x), y1 = hn::Load(d, x + kL), uc = hn::Set(d, u[c]);
    auto z0 = hn::NegMulAdd(f0, uc, y0), z1 = hn::NegMulAdd(f1, uc, y1);
    if (!all) z0 = hn::IfThenElse(below0, z0, y0), z1 = hn::IfThenElse(below1, z1, y1);
    hn::Store(z0, d, x), hn::Store(z1, d, x + kL);
    if (c == j + 1) largest.see(z0, rows0, below0), largest.see(z1, rows1, below1);
  }
}

template <class T, bool divide> int64_t eliminate_below(const Stripe<T>& s, int64_t j, T pivot) {
  T u[kStripe];
  for (int64_t c = j + 1; c < s.n; ++c) u[c] = s.at(j, c);
  Largest<T> largest(j + 1);
  int64_t i = (j + 1) / kWidth<T>;
  if (i < s.slivers()) eliminate<T, false, divide>(s, i, j, u, pivot, largest);
  for (++i; i < s.slivers(); ++i) eliminate<T, true, divide>(s, i, j, u, pivot, largest);
  return largest.find();
}

template <class T> int factorise(T* a, int64_t m, int64_t n, std::int32_t* pivots) {
  const Stripe<T> s{a, m, n};
  int info = 0;
  int64_t best = n ? search(s, 0) : 0;
  for (int64_t j = 0; j < n; ++j) {
    pivots[j] = std::int32_t(best + 1);
    if (best != j)
      for (int64_t c = 0; c < n; ++c) std::swap(s.at(j, c), s.at(best, c));
    const T pivot = s.at(j, j);
    if (pivot == 0) {
      if (!info) info = int(j + 1);
      if (j + 1 < n) best = search(s, j + 1);
    } else if (std::abs(pivot) < std::numeric_limits<T>::min()) {
      best = eliminate_below<T, true>(s, j, pivot);  // its reciprocal may be infinite
    } else {
      best = eliminate_below<T, false>(s, j, T(1) / pivot);
    }
  }
  return info;
}

template <class T> void unpack(const T* slivers, int64_t m, int64_t n, T* to, int64_t row) {
  constexpr Tag<T> d;
  constexpr int kL = kLanes<T>;
  alignas(64) hwy::MakeSigned<T> lines[kL];
  for (int i = 0; i < kL; ++i) lines[i] = hwy::MakeSigned<T>(i) * kWidth<T>;
  const auto index = hn::Load(hn::RebindToSigned<Tag<T>>(), lines);
  for (int64_t i = 0; i < m; ++i) {
    const T* const from = slivers + i / kWidth<T> * kWidth<T> * n + i % kWidth<T>;
    T* const line = to + i * row;
    int64_t j = 0;
    for (; j + kL <= n; j += kL) hn::StoreU(hn::GatherIndex(d, from + j * kWidth<T>, index), d, line + j);
    for (; j < n; ++j) line[j] = from[j * kWidth<T>];
  }
}

// H rows of x, from row i on, of which those before i are known; V vectors.
template <class T, int H, int V> HWY_INLINE void solve_rows(bool unit, int64_t n, int64_t i, const T* l, T* x) {
  constexpr Tag<T> d;
  constexpr int kL = kLanes<T>, kRow = V * kL;
  hn::Vec<Tag<T>> s[H][V];
  HWY_UNROLL(4)
  for (int r = 0; r < H; ++r) HWY_UNROLL(4)
  for (int v = 0; v < V; ++v) s[r][v] = hn::Zero(d);
  l += i * n;
  for (int64_t j = 0; j < i; ++j) {
    hn::Vec<Tag<T>> known[V];
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) known[v] = hn::Load(d, x + j * kRow + v * kL);
    HWY_UNROLL(4)
    for (int r = 0; r < H; ++r) {
      const auto f = hn::Set(d, l[r * n + j]);
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) s[r][v] = hn::MulAdd(f, known[v], s[r][v]);
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < H; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) s[r][v] = hn::Sub(hn::Load(d, x + (i + r) * kRow + v * kL), s[r][v]);
    HWY_UNROLL(4)
    for (int q = 0; q < r; ++q) {
      const auto f = hn::Set(d, l[r * n + i + q]);
      HWY_UNROLL(4)
      for (int v = 0; v < V; ++v) s[r][v] = hn::NegMulAdd(f, s[q][v], s[r][v]);
    }
    const auto diagonal = hn::Set(d, l[r * n + i + r]);
    HWY_UNROLL(4)
    for (int v = 0; v < V; ++v) {
      if (!unit) s[r][v] = hn::Div(s[r][v], diagonal);
      hn::Store(s[r][v], d, x + (i + r) * kRow + v * kL);
    }
  }
}

// Over a dense copy: rows far apart would push each other out of the cache.
template <class T, int V> void solve_columns(bool unit, int64_t n, int64_t columns, const T* l, T* x, int64_t row) {
  constexpr int kRow = V * kLanes<T>;
  alignas(64) T copy[kTriangle * kRow];
  for (int64_t i = 0; i < n; ++i) {
    std::copy_n(x + i * row, columns, copy + i * kRow);
    std::fill(copy + i * kRow + columns, copy + (i + 1) * kRow, T(0));
  }
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) solve_rows<T, 4, V>(unit, n, i, l, copy);
  for (; i < n; ++i) solve_rows<T, 1, V>(unit, n, i, l, copy);
  for (i = 0; i < n; ++i) std::copy_n(copy + i * kRow, columns, x + i * row);
}
template <class T> void solve(bool unit, int64_t n, int64_t columns, const T* l, T* x, int64_t row) {
  if (columns <= kLanes<T>) solve_columns<T, 1>(unit, n, columns, l, x, row);
  else if (columns <= 2 * kLanes<T>) solve_columns<T, 2>(unit, n, columns, l, x, row);
  else solve_columns<T, 4>(unit, n, columns, l, x, row);
}

template <class T> int cholesky(int64_t n, T* a) {
  constexpr Tag<T> d;
  int info = 0;
  for (int64_t i = 0; i < n; ++i) {
    T* const row = a + i * kStripe;
    for (int64_t j = 0; j < kStripe; j += kLanes<T>) {  // summed before it is subtracted: fewer digits are lost
      auto sum = hn::Zero(d);
      for (int64_t k = 0; k < i; ++k)
        sum = hn::MulAdd(hn::Set(d, a[k * kStripe + i]), hn::Load(d, a + k * kStripe + j), sum);
      hn::Store(hn::Sub(hn::Load(d, row + j), sum), d, row + j);
    }
    if (!(row[i] > 0) && !info) info = int(i + 1);
    const T root = std::sqrt(row[i]);
    for (int64_t j = 0; j < kStripe; j += kLanes<T>)
      hn::Store(hn::Div(hn::Load(d, row + j), hn::Set(d, root)), d, row + j);
    row[i] = root;
  }
  return info;
}

template <class T> constexpr PanelKernels<T> table = {kLanes<T>, &factorise<T>, &unpack<T>, &solve<T>, &cholesky<T>};
const PanelKernels<float>* panel_table_f32() { return &table<float>; }
const PanelKernels<double>* panel_table_f64() { return &table<double>; }

}  // namespace
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(panel_table_f32);
HWY_EXPORT(panel_table_f64);
template <> const PanelKernels<float>& panel_kernels<float>() {
  static const PanelKernels<float>* const kernels = HWY_DYNAMIC_DISPATCH(panel_table_f32)();
  return *kernels;
}
template <> const PanelKernels<double>& panel_kernels<double>() {
  static const PanelKernels<double>* const kernels = HWY_DYNAMIC_DISPATCH(panel_table_f64)();
  return *kernels;
}
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
