#include "neura/backend/cpu/norm_lines.h"

#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/norm_lines.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/norm_batch.h"

// Sums of a long row: registers within a piece, a double from piece to piece. Single sums in float lose a digit at
// 10^5.
constexpr std::int64_t kPiece = 8192;
template <class N, class F> HWY_INLINE double total(std::int64_t n, const F& f) {
  using L = Lanes<N>;
  double sum = 0;
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    const std::int64_t end = begin + kPiece < n ? begin + kPiece : n;
    N s0 = L::all(0), s1 = s0, s2 = s0, s3 = s0;  // four sums: the additions of one would be a chain
    std::int64_t i = begin;
    for (; i + 4 * L::count <= end; i += 4 * L::count) {
      s0 = f(i, Whole<N>(), s0), s1 = f(i + L::count, Whole<N>(), s1);
      s2 = f(i + 2 * L::count, Whole<N>(), s2), s3 = f(i + 3 * L::count, Whole<N>(), s3);
    }
    each<N>(end - i, [&](std::int64_t k, auto part) { s0 = f(i + k, part, s0); });
    sum += double(L::sum((s0 + s1) + (s2 + s3)));
  }
  return sum;
}

template <class N, class T> void moments(const T* x, std::int64_t n, double* mean, double* squares) {
  *mean = total<N>(n, [&](std::int64_t i, auto part, N s) { return s + part.load(x + i, 0); }) / double(n);
  const T center = T(*mean);
  const N m = Lanes<N>::all(center);
  const double raw = total<N>(n, [&](std::int64_t i, auto part, N s) {
    const N d = part.load(x + i, center) - m;
    return fma(d, d, s);
  });
  const double rest = *mean - double(center);  // the centre was rounded: exact again
  *squares = raw - double(n) * rest * rest;
  if (*squares < 0) *squares = 0;
}
template <class N, class T> double squares(const T* x, std::int64_t n) {
  return total<N>(n, [&](std::int64_t i, auto part, N s) {
    const N v = part.load(x + i, 0);
    return fma(v, v, s);
  });
}

template <class N, bool with_w, bool with_b, class T>
HWY_INLINE void normalize_as(const T* x, N m, N r, const T* w, const T* b, T* y, std::int64_t n) {
  each<N>(n, [&](std::int64_t i, auto part) {
    N v = (part.load(x + i, 0) - m) * r;
    if constexpr (with_w && with_b) v = fma(v, part.load(w + i, 0), part.load(b + i, 0));
    else if constexpr (with_w) v = v * part.load(w + i, 0);
    else if constexpr (with_b) v = v + part.load(b + i, 0);
    part.store(v, y + i);
  });
}
template <class N, class T> void normalize(const T* x, T mean, T rstd, const T* w, const T* b, T* y, std::int64_t n) {
  const N m = Lanes<N>::all(mean), r = Lanes<N>::all(rstd);
  if (w && b) normalize_as<N, true, true>(x, m, r, w, b, y, n);
  else if (w) normalize_as<N, true, false>(x, m, r, w, b, y, n);
  else if (b) normalize_as<N, false, true>(x, m, r, w, b, y, n);
  else normalize_as<N, false, false>(x, m, r, w, b, y, n);
}

template <class N, class T>
void dots(const T* g, const T* x, const T* w, T mean, std::int64_t n, double* sum_g, double* sum_gx) {
  using L = Lanes<N>;
  const N m = L::all(mean);
  double first = 0, second = 0;
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    const std::int64_t end = begin + kPiece < n ? begin + kPiece : n;
    N a0 = L::all(0), a1 = a0, b0 = a0, b1 = a0;
    const auto add = [&](std::int64_t i, auto part, N& a, N& b) {
      N v = part.load(g + i, 0);
      if (w) v = v * part.load(w + i, 0);
      a = a + v, b = fma(v, part.load(x + i, mean) - m, b);
    };
    std::int64_t i = begin;
    for (; i + 2 * L::count <= end; i += 2 * L::count)
      add(i, Whole<N>(), a0, b0), add(i + L::count, Whole<N>(), a1, b1);
    each<N>(end - i, [&](std::int64_t k, auto part) { add(i + k, part, a0, b0); });
    first += double(L::sum(a0 + a1)), second += double(L::sum(b0 + b1));
  }
  *sum_g = first, *sum_gx = second;
}

template <class N, class T>
void backward(const T* g, const T* x, const T* w, T mean, T rstd, T c1, T c2, T* gx, T* gw, T* gb, std::int64_t n) {
  using L = Lanes<N>;
  const N m = L::all(mean), r = L::all(rstd), k1 = L::all(c1), k2 = L::all(c2);
  each<N>(n, [&](std::int64_t i, auto part) {
    const N v = part.load(g + i, 0), d = part.load(x + i, 0) - m;
    if (gx) part.store(r * ((w ? v * part.load(w + i, 0) : v) - k1 - d * k2), gx + i);
    if (gw) part.store(fma(v, d * r, part.load(gw + i, 0)), gw + i);
    if (gb) part.store(v + part.load(gb + i, 0), gb + i);
  });
}

template <class N, class T> void affine(const T* x, T mean, T a, T b, T* y, std::int64_t n) {
  const N m = Lanes<N>::all(mean), p = Lanes<N>::all(a), q = Lanes<N>::all(b);
  each<N>(n, [&](std::int64_t i, auto part) { part.store(fma(part.load(x + i, 0) - m, p, q), y + i); });
}
template <class N, class T> void affine2(const T* g, const T* x, T mean, T a, T b, T c, T* gx, std::int64_t n) {
  const N m = Lanes<N>::all(mean), p = Lanes<N>::all(a), q = Lanes<N>::all(b), r = Lanes<N>::all(c);
  each<N>(n, [&](std::int64_t i, auto part) {
    part.store(fma(part.load(g + i, 0), p, fma(part.load(x + i, 0) - m, q, r)), gx + i);
  });
}

template <class N, class T> constexpr NormLines<T> lines{&moments<N, T>,  &squares<N, T>, &normalize<N, T>, &dots<N, T>,
                                                         &backward<N, T>, &affine<N, T>,  &affine2<N, T>};
constexpr NormTable table{lines<Floats, float>, lines<Doubles, double>};
const NormTable* norm_lines_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(norm_lines_table);
const NormTable& norm_table() { return *HWY_DYNAMIC_DISPATCH(norm_lines_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
