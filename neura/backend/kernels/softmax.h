// Softmax and its gradient along one dimension, of floating tensors.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

enum class SoftmaxKind : unsigned char { softmax, log_softmax, safe_softmax };  // safe: lines of -inf give zeros

struct softmax_kernels {
  // y has x's sizes. Where dim is not the last, contiguous tensors are fast.
  NEURA_KERNEL(softmax, softmax, void(Context&, View x, int dim, SoftmaxKind, View y));
  NEURA_KERNEL(softmax, softmax_backward, void(Context&, View g, View y, int dim, bool logarithm, View gx));
};

}  // namespace neura
