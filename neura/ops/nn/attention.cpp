#include "neura/ops/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "neura/backend/kernels/attention.h"
#include "neura/op/apply.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/product/matmul_ops.h"
#include "neura/ops/random/dropout.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {

NEURA_FIELDS_OF(AttentionShape, scale, causal)

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

void check_operands(const Spec& q, const Spec& k, const Spec& v) {
  const auto sizes = [&] { return q.str() + ", " + k.str() + " and " + v.str(); };
  check<ShapeError>(q.rank >= 2 && k.rank >= 2 && v.rank >= 2, [&] {
    return "scaled_dot_product_attention: expected query, key and value of at least two dimensions, got " + sizes();
  });
  check<DTypeError>(q.dtype == k.dtype && q.dtype == v.dtype && is_floating(q.dtype), [&] {
    return "scaled_dot_product_attention: expected query, key and value of one floating dtype, got " + sizes();
  });
  const bool fit = q.shape[q.rank - 1] == k.shape[k.rank - 1] && k.shape[k.rank - 2] == v.shape[v.rank - 2];
  check<ShapeError>(fit, [&] {
    return "scaled_dot_product_attention: expected query [..., L, E], key [..., S, E] and value [..., S, V], got " +
           sizes();
  });
}
void check_mask(const AttentionOptions& o) {
  check<ValueError>(!o.is_causal || !o.attn_mask, [&] {
    return std::string(
        "scaled_dot_product_attention: expected attn_mask or is_causal, got both; put the triangle into the mask");
  });
  check<DTypeError>(!o.attn_mask || o.attn_mask.dtype() == DType::boolean || is_floating(o.attn_mask.dtype()), [&] {
    return "scaled_dot_product_attention: expected a bool or floating attn_mask, got " + o.attn_mask.spec().str();
  });
}

// Grouped queries: each head of key or value is repeated for the heads of query that share it.
Tensor repeat_heads(const Tensor& x, std::int64_t heads) {
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

// softmax(scale * q k^T, masked); `first` is the place of the first query among all of a causal one.
Tensor weights_of(const Tensor& q, const Tensor& k, double scale, const AttentionOptions& o, std::int64_t first = 0) {
  Tensor scores = apply(AddmmOp{0, scale}, Operand(), q, mT(k));
  if (o.is_causal) {
    const TensorOptions there{.device = q.device()};
    const Tensor rows = unsqueeze(arange(first, first + q.size(-2), there), 1), columns = arange(0, k.size(-2), there);
    scores = masked_fill(scores, columns > rows, kMinusInfinity);
  }
  if (o.attn_mask)
    scores = o.attn_mask.dtype() == DType::boolean ? where(o.attn_mask, scores, kMinusInfinity)
                                                   : scores + to(o.attn_mask, scores.dtype());
  return o.attn_mask || o.is_causal ? _safe_softmax(scores, -1) : softmax(scores, -1);
}

// Whether a has sizes that broadcast to those of the scores.
bool broadcasts_to_scores(const Tensor& a, const Tensor& q, const Tensor& k) {
  if (a.dim() > q.dim()) return false;
  for (int d = 1; d <= a.dim(); ++d) {
    const std::int64_t full = d == 1 ? k.size(-2) : q.size(-d);
    if (a.size(-d) != 1 && a.size(-d) != full) return false;
  }
  return true;
}
// True if the sizes suit a fused kernel; `accepts` asks the back end whether it has one.
bool suits_kernel(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  if (k.device() != q.device() || v.device() != q.device()) return false;
  if (o.dropout_p != 0 || !q.numel() || !k.numel() || !v.numel()) return false;
  if (q.dim() != k.dim() || q.dim() != v.dim()) return false;
  for (int d = 0; d + 2 < q.dim(); ++d)
    if (q.size(d) != k.size(d) || q.size(d) != v.size(d)) return false;
  const Tensor& mask = o.attn_mask;
  return !mask ||
         (!mask.requires_grad() && mask.device() == q.device() && mask.numel() && broadcasts_to_scores(mask, q, k));
}
// A mask to add to the scores, its columns side by side or all the same; not rounded to a half.
Tensor added_mask(const Tensor& mask, DType dtype) {
  if (!mask) return {};
  const bool exact = mask.dtype() == DType::boolean || mask.dtype() == dtype;
  const Tensor numbers = mask.dtype() == DType::boolean ? where(mask, 0.0, kMinusInfinity) : mask;
  const Tensor x = to(numbers, exact ? dtype : accumulation(dtype));
  return !x.dim() || x.size(-1) == 1 || x.spec().strides[x.dim() - 1] == 1 ? x : contiguous(x);
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, double scale, const AttentionOptions& o,
              std::int64_t first = 0) {
  const Tensor weights = weights_of(q, k, scale, o, first);
  return matmul(o.dropout_p > 0 ? dropout(weights, o.dropout_p, true) : weights, v);
}

// A block of queries sees no key after its last query: nearly half of the products are skipped.
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

Tensor attention_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionShape& shape,
                    const AttentionOptions& o);
// Of products and softmax. Halves are computed in float32 (torch): their scores would lose too much.
Tensor compose(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionShape& shape,
               const AttentionOptions& o) {
  const DType wide = accumulation(q.dtype());
  if (wide != q.dtype()) return to(attention_of(to(q, wide), to(k, wide), to(v, wide), shape, o), q.dtype());
  if (o.is_causal && q.size(-2) >= 2 * kQueries) return attend_causal(q, k, v, shape.scale, o);
  return attend(q, k, v, shape.scale, o);
}

struct ScaledDotProductAttentionBackward {
  NEURA_OPERANDS(grad_output, query, key, value, attn_mask, output, sums)
  static constexpr Operation op = operation("scaled_dot_product_attention_backward").optional(in(In::attn_mask));
  AttentionShape shape;
  NEURA_FIELDS(shape)
  void infer(const Spec&, const Spec& q, const Spec& k, const Spec& v, const Spec&, const Spec&, const Spec&, Spec& gq,
             Spec& gk, Spec& gv) const {
    gq = Spec::dense(q.dtype, q.sizes(), q.device);
    gk = Spec::dense(k.dtype, k.sizes(), k.device), gv = Spec::dense(v.dtype, v.sizes(), v.device);
  }
  void run(Context& c, View g, View q, View k, View v, View mask, View y, View sums, View gq, View gk, View gv) const {
    if (c.backend.attention->supports(*q.spec, *k.spec, *v.spec, bool(mask), shape) != AttentionSupport::with_sums)
      y = sums = View();
    c.backend.attention->backward(c, g, q, k, v, mask, y, sums, shape, gq, gk, gv);
  }
};

bool is_safe_mask(const Spec& mask, const Spec& q, const Spec& k) {
  if (mask.rank > q.rank || !mask.numel || (mask.dtype != q.dtype && mask.dtype != accumulation(q.dtype))) return false;
  for (int d = 1; d <= mask.rank; ++d) {
    const std::int64_t size = mask.shape[mask.rank - d], full = d == 1 ? k.shape[k.rank - 2] : q.shape[q.rank - d];
    if (size != 1 && size != full) return false;
  }
  return !mask.rank || mask.shape[mask.rank - 1] == 1 || mask.strides[mask.rank - 1] == 1;
}

// The fused operation, of operands as attention_kernels takes them. The mask has no gradient. `sums`: see
// AttentionSupport::with_sums.
struct ScaledDotProductAttention {
  NEURA_OPERANDS(query, key, value, attn_mask)
  NEURA_RESULTS(y, sums)
  static constexpr Operation op =
      operation("scaled_dot_product_attention")
          .optional(in(In::attn_mask))
          .saves(every_input, in(In::query, In::key, In::value, In::attn_mask), out(Out::y, Out::sums));
  AttentionShape shape;
  NEURA_FIELDS(shape)
  void infer(const Spec& q, const Spec& k, const Spec& v, const Spec&, Spec& y, Spec& sums) const {
    check_operands(q, k, v);
    Shape sizes = q.sizes();
    sizes[q.rank - 1] = v.shape[v.rank - 1];
    y = Spec::dense(q.dtype, sizes, q.device);
    sums = Spec::dense(DType::float32, {q.shape, std::size_t(q.rank - 1)}, q.device);
  }
  bool is_safe(const Spec& q, const Spec& k, const Spec& v, const Spec& mask) const {
    if (q.rank < 2 || k.rank != q.rank || v.rank != q.rank || !q.numel || !k.numel || !v.numel) return false;
    for (int d = 0; d + 2 < q.rank; ++d)
      if (k.shape[d] != q.shape[d] || v.shape[d] != q.shape[d]) return false;
    return !safe::is_given(mask) || is_safe_mask(mask, q, k);
  }
  bool accepts(const Backend& b, const Spec& q, const Spec& k, const Spec& v, const Spec& mask) const {
    return b.attention->supports(q, k, v, mask.rank != kAbsent, shape) != AttentionSupport::none;
  }
  void run(Context& c, View q, View k, View v, View mask, View y, View sums) const {
    const bool kept =
        c.backend.attention->supports(*q.spec, *k.spec, *v.spec, bool(mask), shape) == AttentionSupport::with_sums;
    c.backend.attention->forward(c, q, k, v, mask, shape, y, kept ? sums : View());
  }
  std::array<Tensor, 2> define(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) const {
    return {compose(q, k, v, shape, {.attn_mask = mask, .is_causal = shape.causal}), Tensor()};
  }
  void gradient(Gradient& g) const {
    auto r = apply(ScaledDotProductAttentionBackward{shape}, g.g[Out::y], g.input(In::query), g.input(In::key),
                   g.input(In::value), g.input(In::attn_mask), g.output(Out::y), g.output(Out::sums));
    for (const int i : {In::query, In::key, In::value}) g.result[i] = r[std::size_t(i)];
  }
};

Tensor attention_of(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionShape& shape,
                    const AttentionOptions& o) {
  if (!suits_kernel(q, k, v, o)) return compose(q, k, v, shape, o);
  return std::move(apply(ScaledDotProductAttention{shape}, q, k, v, added_mask(o.attn_mask, q.dtype()))[0]);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& o) {
  if (const amp::CastScope cast{amp::Name::scaled_dot_product_attention, query, key, value})
    return scaled_dot_product_attention(cast(query), cast(key), cast(value), o);
  check_operands(query.spec(), key.spec(), value.spec()), check_mask(o);
  Tensor k = key, v = value;
  if (o.enable_gqa) {
    check<ShapeError>(query.dim() >= 3 && key.dim() >= 3 && value.dim() >= 3, [&] {
      return "scaled_dot_product_attention: expected heads in dimension -3 for enable_gqa, got query " +
             query.shape().str();
    });
    const std::int64_t heads = query.shape()[query.dim() - 3];
    k = repeat_heads(k, heads), v = repeat_heads(v, heads);
  }
  const std::int64_t width = query.shape().back();
  const AttentionShape shape{o.scale ? *o.scale : width ? 1 / std::sqrt(double(width)) : 1, o.is_causal};
  return attention_of(query, k, v, shape, o);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(scaled_dot_product_attention_backward, ScaledDotProductAttentionBackward);
NEURA_DEFINE_OPERATION(scaled_dot_product_attention, ScaledDotProductAttention);
