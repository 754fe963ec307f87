// Attention with several heads and its projections.
#pragma once
#include <utility>

#include "neura/core/tensor.h"

namespace neura {

struct MultiHeadAttentionArguments {
  std::int64_t embed_dim = 0, num_heads = 1;
  Tensor in_proj_weight = {};                                         // [3 E, E] where all widths are E, else these:
  Tensor q_proj_weight = {}, k_proj_weight = {}, v_proj_weight = {};  // [E, E], [E, kdim], [E, vdim]
  Tensor in_proj_bias = {}, bias_k = {}, bias_v = {};                 // [3 E]; [1, 1, E]: one key and value more
  bool add_zero_attn = false;                                         // one more of zeros
  double dropout_p = 0;                                               // of the weights, in training
  Tensor out_proj_weight = {}, out_proj_bias = {};                    // [E, E], [E]
  bool training = true;
  Tensor key_padding_mask = {};  // [N, S]: bool (true is hidden) or floating (added to the scores)
  bool need_weights = true;
  Tensor attn_mask = {};  // [L, S] or [N * heads, L, S], likewise
  bool average_attn_weights = true;
  bool is_causal = false;  // attn_mask is the causal one
};
// query [L, N, E], key [S, N, kdim], value [S, N, vdim], or all without N -> the result like query, and the weights
// where they are wanted: [N, L, S] averaged over the heads, or [N, heads, L, S]. (Vaswani et al., 2017.) ShapeError,
// ValueError.
std::pair<Tensor, Tensor> multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                               const MultiHeadAttentionArguments&);

}  // namespace neura
