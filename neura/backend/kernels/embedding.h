// Kernels of embedding: rows of a table by index. Everything is contiguous; indices are int64. An index outside of the
// table is reported by fail_index.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct embedding_kernels {
  NEURA_KERNEL(embedding, embedding, void(Context&, View indices, View weight, View out));  // any dtype
  // gw[i] = sum of the rows of g whose index is i, in order; zeros where i is `padding`. by_frequency: their mean.
  NEURA_KERNEL(embedding, embedding_backward,
               void(Context&, View g, View indices, std::int64_t padding, bool by_frequency, View gw));
  NEURA_KERNEL(embedding, one_hot, void(Context&, View indices, View out));  // out int64 [indices, classes]
  // Rows that are looked up, in place: those whose norm is above `most` are scaled down to it.
  NEURA_KERNEL(embedding, renormalize, void(Context&, View weight, View indices, double most, double p));
};

}  // namespace neura
