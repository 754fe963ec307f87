// Fourier transforms of a tile: as many lines as a vector has lanes, side by side, real and imaginary parts apart.
#pragma once
#include "neura/backend/cpu/fft/fft_plan.h"

namespace neura {

inline constexpr int kFftLanes = 16;  // at most

template <class T> struct FftTile {  // two arrays [elements, lanes], aligned to 64 bytes
  T *re, *im;
  FftTile turned() const { return {im, re}; }  // the inverse of a transform is the transform with parts exchanged
};

// Lines in memory: element i of line k has its real part at at[k][i * step] and its imaginary part `gap` further, if it
// has one.
inline constexpr std::int64_t kFftReal = INT64_MIN;  // a gap: of real numbers
template <class T> struct FftLines {
  T* const* at;
  int count;  // at most the lanes; the others are zeros
  std::int64_t n, step, gap;
};

template <class T> struct FftKernels {
  int lanes;
  void (*load)(const FftLines<const T>&, FftTile<T> to);
  void (*store)(FftTile<T> from, const FftLines<T>&, T scale);
  // The transform of `a`, with exponents of -i; either a or b, each with plan.room() elements, comes back as the
  // result.
  FftTile<T> (*transform)(const FftPlan<T>&, FftTile<T> a, FftTile<T> b);
  // Times factors [n, columns, 2], of which this tile's begin here.
  void (*twist)(FftTile<T>, const T* factors, std::int64_t n, std::int64_t columns, int count);
  // From the transform of n / 2 pairs of real numbers to the n / 2 + 1 bins, and back (from bins to what the inverse
  // transform makes pairs of). `weight`: of the bins that represent two.
  void (*unpack)(FftTile<T> pairs, FftTile<T> bins, std::int64_t half, const T* half_roots, T weight);
  void (*pack)(FftTile<T> bins, FftTile<T> pairs, std::int64_t half, const T* half_roots, T weight);
  // The other bins of n real numbers, n odd, from the first n / 2 + 1, times weight.
  void (*mirror)(FftTile<T>, std::int64_t n, T weight);
};
template <class T> const FftKernels<T>& fft_kernels_of();  // of this machine's instruction set

}  // namespace neura
