// Kernels of softmax and its gradient along one dimension, of floating tensors; and of attention, which is made of it.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

enum class SoftmaxKind : unsigned char { softmax, log_softmax, safe_softmax };  // safe: lines of -inf give zeros

struct AttentionShape {
  double scale;
  bool causal;  // query i sees the keys up to i
};
enum class AttentionUse : unsigned char {
  composed,  // there is no kernel for these operands: the operation makes them of products and softmax
  plain,     // the gradient needs the operands alone
  kept,      // it also needs the result, and what the forward pass wrote to `sums`: a float32 for each query
};

struct softmax_kernels {
  // y has x's sizes. Where dim is not the last, contiguous tensors are fast.
  NEURA_KERNEL(softmax, softmax, void(Context&, View x, int dim, SoftmaxKind, View y));
  NEURA_KERNEL(softmax, softmax_backward, void(Context&, View g, View y, int dim, bool logarithm, View gx));

  // y = softmax(scale q kᵀ + mask) v, without a matrix of all scores. q [batch.., L, E], k [batch.., S, E] and
  // v [batch.., S, V] have one floating dtype and any strides; none is empty. A mask, if there is one, broadcasts to
  // [batch.., L, S], has columns side by side, and is of the same dtype, or float32 where the others are halves.
  // y [batch.., L, V] and the gradients are contiguous. Called only for operands for which `attends` answers plain or
  // kept; `sums` [batch.., L] and, in the gradient, y are given only for kept.
  NEURA_KERNEL(softmax, attends,
               AttentionUse(const Spec& q, const Spec& k, const Spec& v, bool masked, const AttentionShape&));
  NEURA_KERNEL(softmax, attention,
               void(Context&, View q, View k, View v, View mask, const AttentionShape&, View y, View sums));
  NEURA_KERNEL(softmax, attention_backward,
               void(Context&, View g, View q, View k, View v, View mask, View y, View sums, const AttentionShape&,
                    View gq, View gk, View gv));
};

}  // namespace neura
