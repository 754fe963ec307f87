// Moving elements of one dtype.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct join_kernels {
  // to = from, of the same shape and dtype; any strides, negative ones as well. They do not overlap.
  Entry<void(Context&, View from, View to)> copy;
  // out = x where column - row <= diagonal (upper: >=), else 0; out contiguous, x of any strides.
  Entry<void(Context&, View x, View out, std::int64_t diagonal, bool upper)> triangle;
};

}  // namespace neura
