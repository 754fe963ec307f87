#include "neura/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "neura/ops/copy.h"
#include "neura/ops/create.h"
#include "neura/ops/dropout.h"
#include "neura/ops/join.h"
#include "neura/ops/matmul.h"
#include "neura/ops/product.h"
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

// softmax(scale * q k^T, masked) v; `first` is the place of the first query among all of a causal one.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const AttentionOptions& o,
              std::int64_t first = 0) {
  Tensor scores = apply(AddmmOp{0, scale}, Operand(), q, mT(k));
  if (o.is_causal) {
    const Tensor rows = unsqueeze(arange(first, first + q.size(-2)), 1), columns = arange(0, k.size(-2));
    scores = masked_fill(scores, columns > rows, kNothing);
  }
  if (o.attn_mask)
    scores = o.attn_mask.dtype() == DType::boolean ? where(o.attn_mask, scores, kNothing)
                                                   : scores + to(o.attn_mask, scores.dtype());
  Tensor weights = o.attn_mask || o.is_causal ? _safe_softmax(scores, -1) : softmax(scores, -1);
  if (o.dropout_p > 0) weights = dropout(weights, o.dropout_p, true);
  return matmul(weights, v);
}

// A block of queries sees no key behind its last one: nearly half of the products need not be made.
constexpr std::int64_t kQueries = 128, kBlocks = 16;
Tensor attend_causal(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const AttentionOptions& o) {
  const std::int64_t queries = q.size(-2), count = std::clamp<std::int64_t>(queries / kQueries, 1, kBlocks);
  std::vector<Tensor> blocks;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = queries * i / count, end = queries * (i + 1) / count, keys = std::min(end, k.size(-2));
    blocks.push_back(
        attend(narrow(q, -2, begin, end - begin), narrow(k, -2, 0, keys), narrow(v, -2, 0, keys), scale, o, begin));
  }
  return cat(blocks, -2);
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
  const double scale = o.scale ? *o.scale : width ? 1 / std::sqrt(double(width)) : 1;
  if (o.is_causal && query.size(-2) >= 2 * kQueries) return attend_causal(query, k, v, scale, o);
  return attend(query, k, v, scale, o);
}

}  // namespace neura
