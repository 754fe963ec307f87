// One long line at a time, as a matrix: transforms of its columns, factors, transforms of its rows (the four-step
// algorithm), which fill vectors and threads.
#pragma once
#include "neura/backend/cpu/fft/fft_tile.h"
#include "neura/backend/cpu/rowwise.h"

namespace neura {

template <class T> struct FftLineSpace {
  T *matrix, *work;  // 2 room() each; work for plans with `inner` alone
  T* tiles;          // of each slot
  std::int64_t tile_size;
  Slots* slots;
  bool past;  // are results written past the caches?

  static std::int64_t tile_elements(const FftPlan<T>&);
};

// Complex numbers side by side; `from` and `to` may be the same. For plans with split().
template <class T>
void fft_line(const FftPlan<T>&, const T* from, T* to, bool inverse, T scale, const FftLineSpace<T>&);

}  // namespace neura
