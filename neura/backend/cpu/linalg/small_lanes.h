// LU of many small real matrices at once, one in each lane of a register: the numbers of linalg_small.h, without a
// branch for each pivot. Once per instruction set.
#pragma once
#include <cstdint>

namespace neura {

template <class T> struct SmallLanes {
  std::int64_t lanes;
  // P L U = a of `count` <= lanes matrices [n, n], n <= small::kMost, one after the other; of each n pivots, which
  // count from 1, and LAPACK's info.
  void (*factorise)(const T* a, std::int64_t n, std::int64_t count, T* lu, std::int32_t* pivots);
  // And x of a x = b, both [n, columns].
  void (*solve)(const T* a, std::int64_t n, std::int64_t count, const T* b, std::int64_t columns, T* x, T* lu,
                std::int32_t* pivots);
  void (*invert)(const T* a, std::int64_t n, std::int64_t count, T* inverse, std::int32_t* info);
};
template <class T> const SmallLanes<T>& small_lanes();

}  // namespace neura
