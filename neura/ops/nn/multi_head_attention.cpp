#include "neura/ops/nn/multi_head_attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "neura/core/error_details.h"
#include "neura/op/call_error.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/attention.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/dropout.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

constexpr const char* kName = "multi_head_attention";
using Arguments = MultiHeadAttentionArguments;

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value, const Arguments& a) {
  check<AssertedError<ValueError>>(a.embed_dim > 0 && a.num_heads > 0 && a.embed_dim % a.num_heads == 0, [&] {
    return std::string(kName) + ": expected embed_dim divisible by num_heads, got " + std::to_string(a.embed_dim) +
           " and " + std::to_string(a.num_heads);
  });
  const int rank = query.dim();
  check<AssertedError<ShapeError>>((rank == 2 || rank == 3) && key.dim() == rank && value.dim() == rank, [&] {
    return std::string(kName) + ": expected query, key and value of 2 or 3 dimensions alike, got " +
           query.shape().str() + ", " + key.shape().str() + " and " + value.shape().str();
  });
  check<AssertedError<ShapeError>>(query.size(-1) == a.embed_dim, [&] {
    return std::string(kName) + ": expected a query of width " + std::to_string(a.embed_dim) + ", got " +
           query.shape().str();
  });
  const bool alike = a.q_proj_weight ? key.size(0) == value.size(0) && (rank == 2 || key.size(1) == value.size(1))
                                     : key.shape() == value.shape();
  check<AssertedError<ShapeError>>(alike, [&] {
    return std::string(kName) + ": expected key and value of the same sizes" +
           (a.q_proj_weight ? " but the last" : "") + ", got " + key.shape().str() + " and " + value.shape().str();
  });
  check<ValueError>(!a.is_causal || a.attn_mask,
                    [] { return std::string(kName) + ": expected attn_mask with is_causal, got none"; });
  check_given(kName, "out_proj_weight", a.out_proj_weight);
  if (!a.q_proj_weight) check_given(kName, "in_proj_weight", a.in_proj_weight);
  if (a.q_proj_weight)
    check_given(kName, "k_proj_weight", a.k_proj_weight), check_given(kName, "v_proj_weight", a.v_proj_weight);
  if (a.bias_k) check_given(kName, "bias_v beside bias_k", a.bias_v);
}

// A mask of one of these sizes, to be added to the scores.
Tensor additive(const char* name, const Tensor& mask, const std::vector<Shape>& allowed, DType dtype) {
  if (!mask) return mask;
  bool fits = false;
  for (const Shape& s : allowed) fits = fits || mask.shape() == s;
  check<AssertedError<ShapeError>>(fits, [&] {
    return std::string(kName) + ": expected " + name + " of shape " + allowed[0].str() + ", got " + mask.shape().str();
  });
  check<AssertedError<DTypeError>>(mask.dtype() == DType::boolean || is_floating(mask.dtype()), [&] {
    return std::string(kName) + ": expected " + name + " of dtype bool or a floating one, got " + mask.spec().str();
  });
  if (mask.dtype() != DType::boolean) return mask;
  return masked_fill(zeros(mask.shape(), {.dtype = dtype, .device = mask.device()}), mask,
                     -std::numeric_limits<double>::infinity());
}
Tensor one_more(const Tensor& mask) { return mask ? pad(mask, {0, 1}) : mask; }

// Both masks as one that broadcasts to [N * heads, L, S].
Tensor joined(const Tensor& attention, const Tensor& padding, std::int64_t heads) {
  Tensor a = attention && attention.dim() == 2 ? attention.unsqueeze(0) : attention;
  if (!padding) return a;
  const std::int64_t n = padding.size(0), s = padding.size(1);
  const Tensor p = padding.view({n, 1, 1, s}).expand({n, heads, 1, s}).reshape({n * heads, 1, s});
  return a ? a + p : p;
}

// [T, N, E] -> [N * heads, T, E / heads]
Tensor by_head(const Tensor& x, std::int64_t heads) {
  const Shape s = x.shape();
  return x.contiguous().view({s[0], s[1] * heads, s[2] / heads}).transpose(0, 1);
}
Tensor project(const Tensor& x, const Tensor& own, int part, const Arguments& a) {
  const std::int64_t E = a.embed_dim;
  const Tensor w = own ? own : a.in_proj_weight.slice(0, part * E, (part + 1) * E);
  return linear(x, w, a.in_proj_bias ? a.in_proj_bias.slice(0, part * E, (part + 1) * E) : Tensor());
}

// Of heads [N * heads, T, width] -> [L, N * heads, width], and the weights where they are wanted.
std::pair<Tensor, Tensor> attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                 const Arguments& a) {
  const double p = a.training ? a.dropout_p : 0;
  if (a.need_weights) {
    const Tensor scores = bmm(q * std::sqrt(1.0 / double(q.size(2))), k.transpose(1, 2));
    const Tensor weights = dropout(mask ? _safe_softmax(scores + mask, -1) : softmax(scores, -1), p, a.training);
    return {bmm(weights, v).transpose(0, 1).contiguous(), weights};
  }
  const std::int64_t H = a.num_heads, N = q.size(0) / H;
  const auto split = [&](const Tensor& x) { return x.contiguous().view({N, H, x.size(1), x.size(2)}); };
  Tensor m = mask;
  if (m) m = m.size(0) == 1 ? m.unsqueeze(0) : m.view({N, H, m.size(1), m.size(2)});
  const Tensor out =
      scaled_dot_product_attention(split(q), split(k), split(v), {.attn_mask = m, .dropout_p = p, .scale = {}});
  return {out.permute({2, 0, 1, 3}).contiguous(), Tensor()};
}

}  // namespace

std::pair<Tensor, Tensor> multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                               const Arguments& a) {
  check_inputs(query, key, value, a);
  const bool batched = query.dim() == 3;
  const auto with_batch = [&](const Tensor& x) { return batched ? x : x.unsqueeze(1); };
  Tensor q = with_batch(query), k = with_batch(key), v = with_batch(value);
  const std::int64_t L = q.size(0), N = q.size(1), E = a.embed_dim, H = a.num_heads, keys = k.size(0);
  Tensor mask = additive("attn_mask", a.attn_mask, {{L, keys}, {N * H, L, keys}}, q.dtype());
  const Tensor& hidden = a.key_padding_mask;
  Tensor padding =
      additive("key_padding_mask", batched || !hidden ? hidden : hidden.unsqueeze(0), {{N, keys}}, q.dtype());
  q = project(q, a.q_proj_weight, 0, a), k = project(k, a.k_proj_weight, 1, a), v = project(v, a.v_proj_weight, 2, a);
  if (a.bias_k) {
    k = cat({k, a.bias_k.expand({1, N, E})}), v = cat({v, a.bias_v.expand({1, N, E})});
    mask = one_more(mask), padding = one_more(padding);
  }
  q = by_head(q, H), k = by_head(k, H), v = by_head(v, H);
  if (a.add_zero_attn) {
    const Tensor nothing = zeros({N * H, 1, E / H}, {.dtype = k.dtype(), .device = k.device()});
    k = cat({k, nothing}, 1), v = cat({v, nothing}, 1);
    mask = one_more(mask), padding = one_more(padding);
  }
  auto [out, weights] = attend(q, k, v, joined(mask, padding, H), a);
  out = linear(out.view({L, N, E}), a.out_proj_weight, a.out_proj_bias);
  if (weights) weights = weights.view({N, H, L, k.size(1)});
  if (weights && a.average_attn_weights) weights = mean(weights, 1);
  return {batched ? out : out.squeeze(1), batched || !weights ? weights : weights.squeeze(0)};
}

}  // namespace neura
