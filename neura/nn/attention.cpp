#include "neura/nn/attention.h"

#include <cmath>
#include <limits>

#include "neura/nn/init.h"
#include "neura/ops/attention.h"
#include "neura/ops/create.h"
#include "neura/ops/dropout.h"
#include "neura/ops/join.h"
#include "neura/ops/matmul.h"
#include "neura/ops/message.h"
#include "neura/ops/reduce.h"
#include "neura/ops/rows_more.h"
#include "neura/ops/shape.h"
#include "neura/ops/softmax.h"
#include "neura/ops/view.h"

namespace neura::nn {

NEURA_LAYER_BODY(MultiheadAttention)

MultiheadAttention::MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads,
                                       const MultiheadAttentionOptions& o)
    : embed_dim(embed_dim),
      num_heads(num_heads),
      dropout(o.dropout),
      add_zero_attn(o.add_zero_attn),
      batch_first(o.batch_first) {
  check<ValueError>(embed_dim > 0 && num_heads > 0 && embed_dim % num_heads == 0, [&] {
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
  out_proj = make<Linear>(embed_dim, embed_dim, LinearOptions{.bias = o.bias, .device = o.device, .dtype = o.dtype});
  reset_parameters();
}

MultiheadAttention::MultiheadAttention(Blank) : out_proj(make<Linear>(1, 1)) {}

void MultiheadAttention::reset_parameters() {
  for (const Parameter* p : {&in_proj_weight, &q_proj_weight, &k_proj_weight, &v_proj_weight})
    if (*p) init::xavier_uniform_(*p);
  if (in_proj_bias) init::zeros_(in_proj_bias);
  if (in_proj_bias && out_proj.get() && out_proj->bias) init::zeros_(out_proj->bias);
  for (const Parameter* p : {&bias_k, &bias_v})
    if (*p) init::xavier_normal_(*p);
}

namespace {

Tensor additive(const Tensor& mask, DType dtype) {
  if (!mask || mask.dtype() != DType::boolean) return mask;
  return masked_fill(zeros(mask.shape(), {.dtype = dtype, .device = mask.device()}), mask,
                     -std::numeric_limits<double>::infinity());
}
Tensor one_more(const Tensor& mask) { return mask ? pad(mask, {0, 1}) : mask; }

// [T, N, E] -> [N * heads, T, E / heads]
Tensor by_head(const Tensor& x, std::int64_t heads) {
  const Shape s = x.shape();
  return x.contiguous().view({s[0], s[1] * heads, s[2] / heads}).transpose(0, 1);
}

// Both masks as one that broadcasts to [N * heads, L, S].
Tensor joined(const Tensor& attention, const Tensor& padding, std::int64_t heads) {
  Tensor a = attention && attention.dim() == 2 ? attention.unsqueeze(0) : attention;
  if (!padding) return a;
  const std::int64_t n = padding.size(0), s = padding.size(1);
  const Tensor p = padding.view({n, 1, 1, s}).expand({n, heads, 1, s}).reshape({n * heads, 1, s});
  return a ? a + p : p;
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t embed_dim) {
  check<ShapeError>((query.dim() == 2 || query.dim() == 3) && key.dim() == query.dim() && value.dim() == query.dim(),
                    [&] {
                      return "MultiheadAttention: expected query, key and value of 2 or 3 dimensions alike, got " +
                             query.shape().str() + ", " + key.shape().str() + " and " + value.shape().str();
                    });
  check<ShapeError>(query.size(-1) == embed_dim, [&] {
    return "MultiheadAttention: expected a query of width " + std::to_string(embed_dim) + ", got " +
           query.shape().str();
  });
}

void check_mask(const Tensor& mask, const std::vector<Shape>& allowed, const char* name) {
  if (!mask) return;
  for (const Shape& s : allowed)
    if (mask.shape() == s) return;
  throw ShapeError(std::string("MultiheadAttention: expected ") + name + " of shape " + allowed[0].str() + ", got " +
                   mask.shape().str());
}

}  // namespace

std::tuple<Tensor, std::optional<Tensor>> MultiheadAttention::forward(const Tensor& query, const Tensor& key,
                                                                      const Tensor& value,
                                                                      const Tensor& key_padding_mask, bool need_weights,
                                                                      const Tensor& attn_mask,
                                                                      bool average_attn_weights, bool is_causal) {
  check_inputs(query, key, value, embed_dim);
  check<ValueError>(!is_causal || attn_mask,
                    [] { return std::string("MultiheadAttention: expected attn_mask with is_causal, got none"); });
  const bool batched = query.dim() == 3;
  auto sequence_first = [&](const Tensor& x) {
    return !batched ? x.unsqueeze(1) : batch_first ? x.transpose(0, 1) : x;
  };
  Tensor q = sequence_first(query), k = sequence_first(key), v = sequence_first(value);
  const std::int64_t L = q.size(0), N = q.size(1), E = embed_dim, H = num_heads;
  check_mask(attn_mask, {{L, k.size(0)}, {N * H, L, k.size(0)}}, "attn_mask");
  Tensor padding = batched || !key_padding_mask ? key_padding_mask : key_padding_mask.unsqueeze(0);
  check_mask(padding, {{N, k.size(0)}}, "key_padding_mask");
  padding = additive(padding, q.dtype());
  Tensor mask = additive(attn_mask, q.dtype());

  auto project = [&](const Tensor& x, const Parameter& own, int part) {
    if (!own) check_given("MultiheadAttention", "in_proj_weight", in_proj_weight);
    const Tensor w = own ? static_cast<const Tensor&>(own) : in_proj_weight.slice(0, part * E, (part + 1) * E);
    return linear(x, w, in_proj_bias ? in_proj_bias.slice(0, part * E, (part + 1) * E) : Tensor());
  };
  q = project(q, q_proj_weight, 0), k = project(k, k_proj_weight, 1), v = project(v, v_proj_weight, 2);
  if (bias_k) {
    check_given("MultiheadAttention", "bias_v beside bias_k", bias_v);
    k = cat({k, bias_k.expand({1, N, E})}), v = cat({v, bias_v.expand({1, N, E})});
    mask = one_more(mask), padding = one_more(padding);
  }
  q = by_head(q, H), k = by_head(k, H), v = by_head(v, H);
  if (add_zero_attn) {
    const Tensor nothing = zeros({N * H, 1, E / H}, {.dtype = k.dtype(), .device = k.device()});
    k = cat({k, nothing}, 1), v = cat({v, nothing}, 1);
    mask = one_more(mask), padding = one_more(padding);
  }
  mask = joined(mask, padding, H);
  const std::int64_t S = k.size(1);
  const double p = training ? dropout : 0;

  Tensor out, weights;
  if (need_weights) {
    const std::int64_t width = E / H;
    const Tensor scores = bmm(q * std::sqrt(1.0 / double(width)), k.transpose(1, 2));
    weights = neura::dropout(softmax(mask ? scores + mask : scores, -1), p, training);
    out = bmm(weights, v).transpose(0, 1).contiguous();
  } else {
    auto split = [&](const Tensor& x) { return x.view({N, H, x.size(1), x.size(2)}); };
    if (mask) mask = mask.size(0) == 1 ? mask.unsqueeze(0) : mask.view({N, H, mask.size(1), S});
    out = scaled_dot_product_attention(split(q.contiguous()), split(k.contiguous()), split(v.contiguous()),
                                       {.attn_mask = mask, .dropout_p = p, .scale = {}});
    out = out.permute({2, 0, 1, 3}).contiguous();
  }
  out = out_proj(out.view({L, N, E}));
  out = !batched ? out.squeeze(1) : batch_first ? out.transpose(0, 1) : out;
  if (!need_weights) return {out, std::nullopt};
  weights = weights.view({N, H, L, S});
  if (average_attn_weights) weights = mean(weights, 1);
  return {out, batched ? weights : weights.squeeze(0)};
}

}  // namespace neura::nn
