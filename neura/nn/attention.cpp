#include "neura/nn/attention.h"

#include "neura/core/error_details.h"
#include "neura/nn/init.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/multi_head_attention.h"
#include "neura/ops/shape/view.h"

namespace neura::nn {

NEURA_LAYER_BODY(MultiheadAttention)

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                                       const MultiheadAttentionOptions& o)
    : embed_dim(embed_dim),
      num_heads(num_heads),
      dropout(o.dropout),
      add_zero_attn(o.add_zero_attn),
      batch_first(o.batch_first) {
  check<AssertedError<ValueError>>(embed_dim > 0 && num_heads > 0 && embed_dim % num_heads == 0, [&] {
    return "MultiheadAttention: expected embed_dim divisible by num_heads, got " + std::to_string(embed_dim) + " and " +
           std::to_string(num_heads);
  });
  const TensorOptions place{.dtype = o.dtype, .device = o.device};
  const std::int64_t kdim = o.kdim.value_or(embed_dim), vdim = o.vdim.value_or(embed_dim);
  if (kdim == embed_dim && vdim == embed_dim) {
    in_proj_weight = empty({3 * embed_dim, embed_dim}, place);
  } else {
    q_proj_weight = empty({embed_dim, embed_dim}, place);
    k_proj_weight = empty({embed_dim, kdim}, place);
    v_proj_weight = empty({embed_dim, vdim}, place);
  }
  if (o.bias) in_proj_bias = empty({3 * embed_dim}, place);
  if (o.add_bias_kv) bias_k = empty({1, 1, embed_dim}, place), bias_v = empty({1, 1, embed_dim}, place);
  const LinearOptions projection{.bias = o.bias, .device = o.device, .dtype = o.dtype};
  out_proj = Ref<Linear>(make<NonDynamicallyQuantizableLinear>(embed_dim, embed_dim, projection));
  reset_parameters();
}

MultiheadAttention::MultiheadAttention(Blank) : out_proj(Ref<Linear>(make<NonDynamicallyQuantizableLinear>(1, 1))) {}

void MultiheadAttention::reset_parameters() {
  for (const Parameter* p : {&in_proj_weight, &q_proj_weight, &k_proj_weight, &v_proj_weight})
    if (*p) init::xavier_uniform_(*p);
  if (in_proj_bias) init::zeros_(in_proj_bias);
  if (in_proj_bias && out_proj.get() && out_proj->bias) init::zeros_(out_proj->bias);
  for (const Parameter* p : {&bias_k, &bias_v})
    if (*p) init::xavier_normal_(*p);
}

std::tuple<Tensor, std::optional<Tensor>> MultiheadAttention::forward(const Tensor& query, const Tensor& key,
                                                                      const Tensor& value,
                                                                      const Tensor& key_padding_mask, bool need_weights,
                                                                      const Tensor& attn_mask,
                                                                      bool average_attn_weights, bool is_causal) {
  check<ValueError>(out_proj.get(), [] { return std::string("MultiheadAttention: expected an out_proj, got none"); });
  const bool turned = batch_first && query.dim() == 3 && key.dim() == 3 && value.dim() == 3;
  const auto times_first = [&](const Tensor& x) { return turned ? x.transpose(0, 1) : x; };
  const auto [out, weights] = multi_head_attention(times_first(query), times_first(key), times_first(value),
                                                   {.embed_dim = embed_dim,
                                                    .num_heads = num_heads,
                                                    .in_proj_weight = in_proj_weight,
                                                    .q_proj_weight = q_proj_weight,
                                                    .k_proj_weight = k_proj_weight,
                                                    .v_proj_weight = v_proj_weight,
                                                    .in_proj_bias = in_proj_bias,
                                                    .bias_k = bias_k,
                                                    .bias_v = bias_v,
                                                    .add_zero_attn = add_zero_attn,
                                                    .dropout_p = dropout,
                                                    .out_proj_weight = out_proj->weight,
                                                    .out_proj_bias = out_proj->bias,
                                                    .training = training,
                                                    .key_padding_mask = key_padding_mask,
                                                    .need_weights = need_weights,
                                                    .attn_mask = attn_mask,
                                                    .average_attn_weights = average_attn_weights,
                                                    .is_causal = is_causal});
  return {times_first(out), need_weights ? std::optional(weights) : std::nullopt};
}

}  // namespace neura::nn
