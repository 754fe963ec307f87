// Kernels of softmax and its gradient along one dimension, of floating tensors; and of attention, which is made of it.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

enum class SoftmaxKind : unsigned char { softmax, log_softmax, safe_softmax };  // safe: lines of -inf give zeros

struct AttentionShape {
  double scale;
  bool causal;  // query i sees the keys up to i
};

struct softmax_kernels {
  // y has x's sizes. Where dim is not the last, contiguous tensors are fast.
  Entry<void(Context&, View x, int dim, SoftmaxKind, View y)> softmax;
  Entry<void(Context&, View g, View y, int dim, bool logarithm, View gx)> softmax_backward;

  // y = softmax(scale q kᵀ + mask) v, without a matrix of all scores. q [batch.., L, E], k [batch.., S, E],
  // v [batch.., S, V] of float32 or float64, of any strides and none empty; mask may be absent, or broadcasts to
  // [batch.., L, S] and has columns side by side. y [batch.., L, V] and the gradients are contiguous.
  Entry<void(Context&, View q, View k, View v, View mask, const AttentionShape&, View y)> attention;
  Entry<void(Context&, View g, View q, View k, View v, View mask, const AttentionShape&, View gq, View gk, View gv)>
      attention_backward;
};

}  // namespace neura
