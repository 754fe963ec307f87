// parallel_reduce: one value from many pieces, the same on any number of threads.
#pragma once
#include <algorithm>
#include <vector>

#include "neura/core/parallel.h"

namespace neura {

// join(... join(join(start, f(0, piece)), f(piece, 2 piece)) ..., f(.., n)): pieces of fixed size, joined from the
// left, whatever the number of threads. f(begin, end) runs in any thread; an exception of any piece comes out here. T
// is copied.
template <class T, class F, class Join>
T parallel_reduce(std::int64_t n, std::int64_t piece, T start, F&& f, Join&& join) {
  if (n <= 0) return start;
  if (n <= piece) return join(start, f(std::int64_t{0}, n));
  struct Part {  // vector<bool> would share bytes between threads
    T value;
  };
  const std::int64_t pieces = (n - 1) / piece + 1;
  std::vector<Part> parts(std::size_t(pieces), Part{start});
  parallel_for(pieces, 1, [&](std::int64_t b, std::int64_t e) {
    for (; b < e; ++b) parts[std::size_t(b)].value = f(b * piece, std::min(n, (b + 1) * piece));
  });
  for (const Part& p : parts) start = join(start, p.value);
  return start;
}

}  // namespace neura
