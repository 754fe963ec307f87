// The ways to compute an attention.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/kernels/attention.h"

namespace neura::cuda {

struct AttentionCall {  // of a forward pass q to sums, of a gradient all
  View q, k, v, mask, y, sums, g, gq, gk, gv;
  AttentionShape shape;
};
// Own kernels, which compute in float32: widths of up to kAttentionWidth, of float32 and halves. attention_tiles.cu
constexpr int kAttentionWidth = 256;
Failed attention_by_tiles(int index, const AttentionCall&);
// cuDNN's, of halves. `known` is false, and nothing was done, where it has none or is not there.
Failed attention_by_cudnn(int index, AttentionCall, bool* known);

// A mask as cuDNN takes it, which knows no row that hides every key. attention_mask.cu
struct Bias {
  std::int64_t sizes[4], pitch;  // of batch and heads (which may be 1), queries, keys; elements from row to row
  char* data;                    // of the mask's dtype; a row that hides every key is zeros
  unsigned char* hidden;         // and has a 1 here
};
Failed make_bias(int index, const View& mask, const Bias&);
// What was computed for the hidden rows: zeros, and sums that make every weight of the gradient 0.
Failed clear_hidden(int index, const Bias&, const View& y, const View& sums);

}  // namespace neura::cuda
