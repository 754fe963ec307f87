#include "neura/backend/cpu/norm/norm_lines.h"

#include "neura/backend/wanted.h"

#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/norm/norm_lines.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/lanes.h"

// K sums of a long row, f(i, part, sums) adding to them: registers within a piece, a double from piece to piece. Single
// sums in float lose a digit at 10^5.
constexpr std::int64_t kPiece = 8192;
template <int chains, int K, class N, class F>
HWY_INLINE void add_piece(std::int64_t i, std::int64_t end, const F& f, double (&sums)[K]) {
  using L = Lanes<N>;
  N s[chains][K];  // several sums: the additions of one would be a chain
#pragma GCC unroll 4
  for (int c = 0; c < chains; ++c)
#pragma GCC unroll 4
    for (int k = 0; k < K; ++k) s[c][k] = L::all(0);
  for (; i + chains * L::count <= end; i += chains * L::count)
#pragma GCC unroll 4
    for (int c = 0; c < chains; ++c) f(i + c * L::count, Whole<N>(), s[c]);
  each<N>(end - i, [&](std::int64_t k, auto part) { f(i + k, part, s[0]); });
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) {
    N sum = s[0][k] + s[1][k];
    if constexpr (chains == 4) sum = sum + (s[2][k] + s[3][k]);
    sums[k] += double(L::sum(sum));
  }
}
template <int chains, class N, int K, class F> HWY_INLINE void totals(std::int64_t n, double (&sums)[K], const F& f) {
  for (double& s : sums) s = 0;
  for (std::int64_t begin = 0; begin < n; begin += kPiece)
    add_piece<chains, K, N>(begin, begin + kPiece < n ? begin + kPiece : n, f, sums);
}

// The mean that the first sum gives is a centre only, near enough to the mean for the distances from it to be exact:
// of numbers around 10^6 a float holds it to 0.03. The distances say where the mean is.
template <class N, class T> void moments(const T* x, std::int64_t n, double* mean, double* squares) {
  double sum[1], around[2];
  totals<4, N>(n, sum, [&](std::int64_t i, auto part, auto& s) { s[0] = s[0] + part.load(x + i, 0); });
  const T center = T(sum[0] / double(n));
  const N m = Lanes<N>::all(center);
  totals<4, N>(n, around, [&](std::int64_t i, auto part, auto& s) {
    const N d = part.load(x + i, center) - m;
    s[0] = s[0] + d, s[1] = fma(d, d, s[1]);
  });
  const double rest = around[0] / double(n);
  *mean = rest == rest ? double(center) + rest : double(center);  // with an infinity among the numbers: infinite
  *squares = around[1] - double(n) * rest * rest;
  if (*squares < 0) *squares = 0;
}
template <class N, class T> double squares(const T* x, std::int64_t n) {
  double sum[1];
  totals<4, N>(n, sum, [&](std::int64_t i, auto part, auto& s) {
    const N v = part.load(x + i, 0);
    s[0] = fma(v, v, s[0]);
  });
  return sum[0];
}

template <class N, bool with_w, bool with_b, class T>
HWY_INLINE void normalize_as(const T* x, N m, N r, N shift, const T* w, const T* b, T* y, std::int64_t n) {
  each<N>(n, [&](std::int64_t i, auto part) {
    N v = fma(part.load(x + i, 0) - m, r, shift);
    if constexpr (with_w && with_b) v = fma(v, part.load(w + i, 0), part.load(b + i, 0));
    else if constexpr (with_w) v = v * part.load(w + i, 0);
    else if constexpr (with_b) v = v + part.load(b + i, 0);
    part.store(v, y + i);
  });
}
template <class N, class T>
void normalize(const T* x, T mean, T rstd, T shift, const T* w, const T* b, T* y, std::int64_t n) {
  const N m = Lanes<N>::all(mean), r = Lanes<N>::all(rstd), q = Lanes<N>::all(shift);
  if (w && b) normalize_as<N, true, true>(x, m, r, q, w, b, y, n);
  else if (w) normalize_as<N, true, false>(x, m, r, q, w, b, y, n);
  else if (b) normalize_as<N, false, true>(x, m, r, q, w, b, y, n);
  else normalize_as<N, false, false>(x, m, r, q, w, b, y, n);
}

template <class N, bool centred, class T>
HWY_INLINE void dots_as(const T* g, const T* x, const T* w, T mean, std::int64_t n, double (&sums)[centred ? 3 : 2]) {
  const N m = Lanes<N>::all(mean);
  totals<2, N>(n, sums, [&](std::int64_t i, auto part, auto& s) {
    N v = part.load(g + i, 0);
    if (w) v = v * part.load(w + i, 0);
    const N d = part.load(x + i, mean) - m;
    s[0] = s[0] + v, s[1] = fma(v, d, s[1]);
    if constexpr (centred) s[2] = s[2] + d;
  });
}
template <class N, class T>
void dots(const T* g, const T* x, const T* w, T mean, bool centred, std::int64_t n, double (&sums)[3]) {
  if (centred) return dots_as<N, true>(g, x, w, mean, n, sums);
  double two[2];
  dots_as<N, false>(g, x, w, mean, n, two);
  sums[0] = two[0], sums[1] = two[1], sums[2] = 0;
}

template <class N, class T> void backward(const T* g, const T* x, const T* w, T mean, T rstd, T shift, T c1, T c2,
                                          T* gx, T* gw, T* gb, std::int64_t n) {
  using L = Lanes<N>;
  const N m = L::all(mean), r = L::all(rstd), q = L::all(shift), k1 = L::all(c1), k2 = L::all(c2);
  each<N>(n, [&](std::int64_t i, auto part) {
    const N v = part.load(g + i, 0), d = part.load(x + i, 0) - m;
    if (gx) part.store(r * ((w ? v * part.load(w + i, 0) : v) - k1 - d * k2), gx + i);
    if (gw) part.store(fma(v, fma(d, r, q), part.load(gw + i, 0)), gw + i);
    if (gb) part.store(v + part.load(gb + i, 0), gb + i);
  });
}

template <class N, class T> void affine(const T* x, T mean, T a, T b, T* y, std::int64_t n) {
  const N m = Lanes<N>::all(mean), p = Lanes<N>::all(a), q = Lanes<N>::all(b);
  each<N>(n, [&](std::int64_t i, auto part) { part.store(fma(part.load(x + i, 0) - m, p, q), y + i); });
}
template <class N, class T> void affine2(const T* g, const T* x, T mean, T rstd, T a, T b, T c, T* gx, std::int64_t n) {
  using L = Lanes<N>;
  const N m = L::all(mean), s = L::all(rstd), p = L::all(a), q = L::all(b), r = L::all(c);
  each<N>(n, [&](std::int64_t i, auto part) {
    part.store(fma(part.load(g + i, 0), p, fma((part.load(x + i, 0) - m) * s, q, r)), gx + i);
  });
}

// Of all normalisations in evaluation mode, that of batches alone has its statistics.
constexpr bool kStatistics = !kOnlyPrograms || in_build::kernel("norm", "layer_norm") ||
                             in_build::kernel("norm", "rms_norm") || in_build::kernel("norm", "group_norm");
template <bool any, class N, class T> constexpr NormLines<T> lines{
    in_build::kept<any && kStatistics>(&moments<N, T>),     in_build::kept<any && kStatistics>(&squares<N, T>),
    in_build::kept<any && kStatistics>(&normalize<N, T>),   in_build::kept<any && !kOnlyPrograms>(&dots<N, T>),
    in_build::kept<any && !kOnlyPrograms>(&backward<N, T>), in_build::kept<any>(&affine<N, T>),
    in_build::kept<any && !kOnlyPrograms>(&affine2<N, T>)};
constexpr NormTable table{lines<true, Floats, float>,
                          lines<(dtypes::compiled & bit(DType::float64)) != 0, Doubles, double>};
const NormTable* norm_lines_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(norm_lines_table);
const NormTable& norm_table() { return *HWY_DYNAMIC_DISPATCH(norm_lines_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
