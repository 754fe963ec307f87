// Scaled dot product attention.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct AttentionShape {
  double scale;
  bool causal;  // query i sees the keys up to i
};
enum class AttentionSupport : unsigned char {
  none,       // there is no kernel for these operands: the operation makes them of products and softmax
  plain,      // the gradient needs the operands alone
  with_sums,  // it also needs the result, and what the forward pass wrote to `sums`: a float32 for each query
};

struct attention_kernels {
  // y = softmax(scale q kᵀ + mask) v, without a matrix of all scores. q [batch.., L, E], k [batch.., S, E] and
  // v [batch.., S, V] have one floating dtype and any strides; none is empty. A mask, if there is one, broadcasts to
  // [batch.., L, S], has columns side by side, and is of the same dtype, or float32 where the others are halves.
  // y [batch.., L, V] and the gradients are contiguous. Called only for operands that `supports` does not answer
  // with none; `sums` [batch.., L] and, in the gradient, y are given only for with_sums.
  NEURA_KERNEL(attention, supports,
               AttentionSupport(const Spec& q, const Spec& k, const Spec& v, bool masked, const AttentionShape&));
  NEURA_KERNEL(attention, forward,
               void(Context&, View q, View k, View v, View mask, const AttentionShape&, View y, View sums));
  NEURA_KERNEL(attention, backward,
               void(Context&, View g, View q, View k, View v, View mask, View y, View sums, const AttentionShape&,
                    View gq, View gk, View gv));
};

}  // namespace neura
