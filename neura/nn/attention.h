// Attention with several heads.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/linear.h"

namespace neura::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;
  bool bias = true;
  bool add_bias_kv = false, add_zero_attn = false;   // appends a learned, a zero key and value
  std::optional<std::int64_t> kdim = {}, vdim = {};  // widths of key and value; else embed_dim
  bool batch_first = false;
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype)
};
// query [L, N, E], key [S, N, kdim], value [S, N, vdim] ([N, L, E] … if batch_first; without N for one sample) -> the
// result like query, and the weights, [N, L, S] averaged over the heads or [N, heads, L, S].
struct MultiheadAttention final : Module {
  NEURA_INIT(MultiheadAttention, std::int64_t embed_dim, std::int64_t num_heads, const MultiheadAttentionOptions& = {});
  explicit MultiheadAttention(Blank);
  // Masks: bool (true is hidden) or floating (added to the scores); key_padding_mask [N, S], attn_mask [L, S] or
  // [N * heads, L, S]. is_causal says that attn_mask is the causal one.
  std::tuple<Tensor, std::optional<Tensor>> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                    const Tensor& key_padding_mask = {}, bool need_weights = true,
                                                    const Tensor& attn_mask = {}, bool average_attn_weights = true,
                                                    bool is_causal = false);
  void reset_parameters();

  std::int64_t embed_dim = 0, num_heads = 1;
  double dropout = 0;
  bool add_zero_attn = false, batch_first = false;
  Parameter in_proj_weight;                               // [3 E, E] where all widths are E, else these:
  Parameter q_proj_weight, k_proj_weight, v_proj_weight;  // [E, E], [E, kdim], [E, vdim]
  Parameter in_proj_bias, bias_k, bias_v;                 // [3 E], [1, 1, E], [1, 1, E]
  Child<Linear> out_proj;
  NEURA_LAYER(MultiheadAttention, embed_dim, num_heads, dropout, add_zero_attn, batch_first, in_proj_weight,
              q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias, bias_k, bias_v, out_proj)
  NEURA_FORWARD("query", "key", "value", arg{"key_padding_mask"} = none, arg{"need_weights"} = true,
                arg{"attn_mask"} = none, arg{"average_attn_weights"} = true, arg{"is_causal"} = false)
};

}  // namespace neura::nn
