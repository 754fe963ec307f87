#include "neura/ops/attention.h"

#include <cmath>
#include <limits>
#include <string>

#include "neura/ops/copy.h"
#include "neura/ops/create.h"
#include "neura/ops/dropout.h"
#include "neura/ops/matmul.h"
#include "neura/ops/reduce.h"
#include "neura/ops/rows.h"
#include "neura/ops/rows_more.h"
#include "neura/ops/softmax.h"
#include "neura/ops/view.h"

namespace neura {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

void check_operands(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  const auto sizes = [&] { return q.spec().str() + ", " + k.spec().str() + " and " + v.spec().str(); };
  check<ShapeError>(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, [&] {
    return "scaled_dot_product_attention: expected query, key and value of at least two dimensions, got " + sizes();
  });
  check<DTypeError>(q.dtype() == k.dtype() && q.dtype() == v.dtype() && is_floating(q.dtype()), [&] {
    return "scaled_dot_product_attention: expected query, key and value of one floating dtype, got " + sizes();
  });
  check<ShapeError>(q.shape().back() == k.shape().back() && k.shape()[k.dim() - 2] == v.shape()[v.dim() - 2], [&] {
    return "scaled_dot_product_attention: expected query [..., L, E], key [..., S, E] and value [..., S, V], got " +
           sizes();
  });
  check<ValueError>(!o.is_causal || !o.attn_mask, [&] {
    return std::string(
        "scaled_dot_product_attention: expected attn_mask or is_causal, got both; put the triangle into the mask");
  });
  check<DTypeError>(!o.attn_mask || o.attn_mask.dtype() == DType::boolean || is_floating(o.attn_mask.dtype()), [&] {
    return "scaled_dot_product_attention: expected a bool or floating attn_mask, got " + o.attn_mask.spec().str();
  });
}

// Every head of key or value as often as query has heads for it.
Tensor spread_heads(const Tensor& x, std::int64_t heads) {
  const Shape sizes = x.shape();
  const int dim = x.dim() - 3;
  const std::int64_t have = sizes[dim];
  check<ShapeError>(have > 0 && heads % have == 0, [&] {
    return "scaled_dot_product_attention: expected the heads of query to be a multiple of those of key and value, "
           "got " +
           std::to_string(heads) + " and " + std::to_string(have);
  });
  if (have == heads) return x;
  Shape wide = sizes, joined = sizes;
  wide.insert(dim + 1, heads / have), joined[dim] = heads;
  return reshape(expand(unsqueeze(x, dim + 1), wide), joined);
}

Tensor below_diagonal(std::int64_t rows, std::int64_t columns) {  // bool: column <= row
  return arange(0, columns) <= unsqueeze(arange(0, rows), 1);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& o) {
  check_operands(query, key, value, o);
  if (bit(query.dtype()) & dtypes::halves) {  // computed in float32 (torch); the scores of halves would lose too much
    const DType f = DType::float32;
    return to(scaled_dot_product_attention(to(query, f), to(key, f), to(value, f), o), query.dtype());
  }
  Tensor k = key, v = value;
  if (o.enable_gqa) {
    check<ShapeError>(query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3, [&] {
      return "scaled_dot_product_attention: expected heads in dimension -3 for enable_gqa, got query " +
             query.shape().str();
    });
    const std::int64_t heads = query.shape()[query.dim() - 3];
    k = spread_heads(k, heads), v = spread_heads(v, heads);
  }
  const std::int64_t width = query.shape().back();
  // Both factors carry the root of the scale, so that halves do not overflow in the product.
  const double scale = o.scale ? *o.scale : width ? 1 / std::sqrt(double(width)) : 1, root = std::sqrt(std::abs(scale));
  Tensor scores = matmul(query * (scale < 0 ? -root : root), mT(k * root));
  if (o.is_causal)
    scores = masked_fill(scores, ~below_diagonal(query.shape()[query.dim() - 2], k.shape()[k.dim() - 2]), kNothing);
  if (o.attn_mask)
    scores = o.attn_mask.dtype() == DType::boolean ? where(o.attn_mask, scores, kNothing)
                                                   : scores + to(o.attn_mask, scores.dtype());
  Tensor weights = o.attn_mask || o.is_causal ? _safe_softmax(scores, -1) : softmax(scores, -1);
  if (o.dropout_p > 0) weights = dropout(weights, o.dropout_p, true);
  return matmul(weights, v);
}

}  // namespace neura
