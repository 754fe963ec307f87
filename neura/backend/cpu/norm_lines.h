// What the normalisations do with one row of n numbers; one table per instruction set.
#pragma once
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
  // y = (x - mean) a + b; gx = g a + (x - mean) b + c
  void (*affine)(const T* x, T mean, T a, T b, T* y, std::int64_t n);
  void (*affine2)(const T* g, const T* x, T mean, T a, T b, T c, T* gx, std::int64_t n);
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

}  // namespace neura
