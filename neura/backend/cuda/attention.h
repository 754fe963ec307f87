// Entries of the table of softmax that stand in files of their own.
#pragma once
#include "neura/backend/cuda/failure.h"
#include "neura/backend/kernels/softmax.h"

namespace neura::cuda {

AttentionUse attends(const Spec& q, const Spec& k, const Spec& v, bool masked, const AttentionShape&);
void attention(Context&, View q, View k, View v, View mask, const AttentionShape&, View y, View sums);
void attention_backward(Context&, View g, View q, View k, View v, View mask, View y, View sums, const AttentionShape&,
                        View gq, View gk, View gv);

struct AttentionCall {  // of a forward pass q to sums, of a gradient all
  View q, k, v, mask, y, sums, g, gq, gk, gv;
  AttentionShape shape;
};
// Own kernels, which compute in float32: widths of up to kAttentionWidth, of float32 and halves. attention_tiles.cu
constexpr int kAttentionWidth = 256;
Failed attention_by_tiles(int index, const AttentionCall&);
// cuDNN's, of halves without a mask. `known` is false, and nothing was done, where it has none or is not there.
Failed attention_by_cudnn(int index, AttentionCall, bool* known);

}  // namespace neura::cuda
