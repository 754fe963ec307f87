// Attention with several heads and all that its layer holds as arguments.
#include "neura/ops/nn/multi_head_attention.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;

Tensors attention(T query, T key, T value, std::int64_t embed_dim, std::int64_t heads, T weight, T bias, T bias_k,
                  T bias_v, bool add_zero, double dropout, T out_weight, T out_bias, bool training, T padding,
                  bool need_weights, T mask, bool separate, T q, T k, T v, T static_k, T static_v, bool average,
                  bool causal) {
  check<NotImplementedError>(!static_k && !static_v, [] {
    return std::string("multi_head_attention_forward: expected static_k and static_v to be None");
  });
  check<ValueError>(separate ? q && k && v : weight.defined(), [&] {
    return std::string("multi_head_attention_forward: expected ") +
           (separate ? "q_proj_weight, k_proj_weight and v_proj_weight" : "in_proj_weight") + ", got None";
  });
  MultiHeadAttentionArguments a{.embed_dim = embed_dim,
                                .num_heads = heads,
                                .in_proj_bias = bias,
                                .bias_k = bias_k,
                                .bias_v = bias_v,
                                .add_zero_attn = add_zero,
                                .dropout_p = dropout,
                                .out_proj_weight = out_weight,
                                .out_proj_bias = out_bias,
                                .training = training,
                                .key_padding_mask = padding,
                                .need_weights = need_weights,
                                .attn_mask = mask,
                                .average_attn_weights = average,
                                .is_causal = causal};
  if (separate) a.q_proj_weight = q, a.k_proj_weight = k, a.v_proj_weight = v;
  else a.in_proj_weight = weight;
  const auto [y, weights] = multi_head_attention(query, key, value, a);
  return {y, weights};
}

}  // namespace

void add_attention(std::deque<Function>& all) {
  List(all, "functional")
      .add(
          "multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight?, "
          "in_proj_bias?, bias_k?, bias_v?, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias?, training=True, "
          "key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False, "
          "q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, "
          "average_attn_weights=True, is_causal=False)",
          &attention, function,
          "Multi-head attention (Vaswani et al., 2017) with its parameters as arguments: (output, weights), weights "
          "None unless need_weights. query [L, N, E], key and value [S, N, ...]. See neura.nn.MultiheadAttention.");
}

}  // namespace neura::surface
