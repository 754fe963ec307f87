// Kernels of short Fourier transforms over interleaved complex numbers, real and imaginary part side by side: of one
// line, whose neighbouring numbers fill vectors, or of as many adjacent lines as a vector holds complex numbers.
#pragma once
#include "neura/backend/cpu/fft/fft_plan.h"

namespace neura {

template <class T> struct FftInterleavedLines {
  T* at;
  std::int64_t apart;  // numbers from line to line, or from element to element of adjacent lines
  bool go_on = false;  // true if the caller's next lines follow these, in memory worth prefetching
  bool past = false;   // of results of adjacent lines, aligned to vectors: they are written past the caches
};
template <class T> struct FftInterleavedKernels {
  int lanes;  // complex numbers of a vector; 0: none of these is there
  // `count` single lines; work: 4 n count numbers, aligned to 64 bytes. to: may be from.
  void (*rows)(const FftSteps<T>&, std::int64_t n, std::int64_t count, const FftInterleavedLines<const T>& from,
               const FftInterleavedLines<T>& to, T scale, T* work);
  // As many adjacent lines as lanes; work: 4 n lanes numbers. from and to may be its first or its second half.
  void (*columns)(const FftSteps<T>&, std::int64_t n, const FftInterleavedLines<const T>& from,
                  const FftInterleavedLines<T>& to, T scale, T* work);
  // Of a tile of adjacent lines, n elements: squares of as many elements as lines, each times a root head[i]
  // tail[i][line] (for the inverse its conjugate), are turned, and stored one after the other, `stride` apart. n: a
  // multiple of lanes.
  void (*turn)(const T* tile, std::int64_t n, const T* heads, const T* tails, bool inverse, T* to, std::int64_t stride);
  // For 0 < k < half, with even = a + conj b and odd = -i w (a - conj b), where a and b are elements k and half - k and
  // w is a root of half_roots(), k: even + odd, times f. Of the inverse, odd = i conj(w) (a - conj b). half: a multiple
  // of 2 lanes.
  void (*fold)(const T* from, T* to, std::int64_t half, const T* half_roots, bool inverse, T f);
};
template <class T> const FftInterleavedKernels<T>& fft_interleaved_kernels_of();  // of this machine's instruction set

}  // namespace neura
