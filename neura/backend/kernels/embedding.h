// Kernels of embedding: rows of a table by index. Everything is contiguous; indices are int64. An index outside of the
// table is reported by fail_index.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct embedding_kernels {
  Entry<void(Context&, View indices, View weight, View out)> embedding;  // any dtype
  // gw[i] = sum of the rows of g whose index is i, in order; zeros where i is `padding`. by_frequency: their mean.
  Entry<void(Context&, View g, View indices, std::int64_t padding, bool by_frequency, View gw)> embedding_backward;
  Entry<void(Context&, View indices, View out)> one_hot;  // out int64 [indices, classes]
  // Rows that are looked up, in place: those whose norm is above `most` are scaled down to it.
  Entry<void(Context&, View weight, View indices, double most, double p)> renormalize;
};

}  // namespace neura
