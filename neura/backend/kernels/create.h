// What fills new memory: copies between layouts of one dtype, triangles (tril, triu), arange and linspace.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

// Element i is start + i step; from the element `back` on it is end - (n - 1 - i) step, so that the last is `end`
// itself. In double, where the product is rounded before the sum, or in integers.
struct EvenlySpaced {
  enum Kind : std::uint8_t { integers, reals, complexes } kind = reals;
  std::int64_t first = 0, by = 0;                   // of integers, which are never counted back
  double start[2] = {}, end[2] = {}, step[2] = {};  // real and imaginary part
  std::int64_t back = INT64_MAX;
};

struct create_kernels {
  // to = from, of the same shape and dtype; any strides, negative ones as well. They do not overlap.
  NEURA_KERNEL(create, copy, void(Context&, View from, View to));
  // out = x where column - row <= diagonal (upper: >=), else 0; out contiguous, x of any strides.
  NEURA_KERNEL(create, triangle, void(Context&, View x, View out, std::int64_t diagonal, bool upper));
  NEURA_KERNEL(create, arange, void(Context&, const EvenlySpaced&, View out));  // out: contiguous, of any dtype
};

}  // namespace neura
