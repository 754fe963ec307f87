// What the normalisations do with one row of n numbers; one table per instruction set.
#pragma once
#include <cfloat>
#include <cstdint>

namespace neura {

template <class T> struct NormLines {
  // The mean and the sum of squared differences from it.
  void (*moments)(const T* x, std::int64_t n, double* mean, double* squares);
  double (*squares)(const T* x, std::int64_t n);
  // y = ((x - mean) * rstd + shift) * w + b; w and b may be null. The shift is what rounding the mean took from it.
  void (*normalize)(const T* x, T mean, T rstd, T shift, const T* w, const T* b, T* y, std::int64_t n);
  // sums of g w, of g w (x - mean) and, if centred, of x - mean (otherwise 0); w may be null
  void (*dots)(const T* g, const T* x, const T* w, T mean, bool centred, std::int64_t n, double (&sums)[3]);
  // gx = rstd (g w - c1 - (x - mean) c2), gw += g ((x - mean) rstd + shift), gb += g; gx, w, gw, gb may be null
  void (*backward)(const T* g, const T* x, const T* w, T mean, T rstd, T shift, T c1, T c2, T* gx, T* gw, T* gb,
                   std::int64_t n);
  // y = (x - mean) a + b; gx = g a + (x - mean) rstd b + c
  void (*affine)(const T* x, T mean, T a, T b, T* y, std::int64_t n);
  void (*affine2)(const T* g, const T* x, T mean, T rstd, T a, T b, T c, T* gx, std::int64_t n);
};
struct NormTable {
  NormLines<float> singles;
  NormLines<double> doubles;
};
const NormTable& norm_table();
template <class T> const NormLines<T>& norm_lines() {
  if constexpr (sizeof(T) == 4) return norm_table().singles;
  else return norm_table().doubles;
}

// The squares of floats leave their range where the numbers do not: 10^25 has an infinite one, 10^-30 one of 0, which
// is right only with an eps. Does this mean of squares say so?
template <class T> bool squares_lost(double square, double eps) {
  constexpr double least = double(FLT_MIN) / double(FLT_EPSILON);
  return sizeof(T) == 4 && (!(square <= double(FLT_MAX)) || (eps < least / FLT_EPSILON && square < least));
}
// NormLines::moments and ::squares; what is lost in floats is taken again in double.
template <class T>
void moments_of_row(const NormLines<T>& lines, const T* x, std::int64_t n, double eps, double* mean, double* squares) {
  lines.moments(x, n, mean, squares);
  if (!squares_lost<T>(*squares / double(n), eps)) [[likely]]
    return;
  double sum = 0, around = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += double(x[i]);
  const double m = sum / double(n);
  for (std::int64_t i = 0; i < n; ++i) around += (double(x[i]) - m) * (double(x[i]) - m);
  *mean = m, *squares = around;
}
template <class T> double squares_of_row(const NormLines<T>& lines, const T* x, std::int64_t n, double eps) {
  const double squares = lines.squares(x, n);
  if (!squares_lost<T>(squares / double(n), eps)) [[likely]]
    return squares;
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += double(x[i]) * double(x[i]);
  return sum;
}

}  // namespace neura
