// Attention, and the operators around it in language models.
#include <cmath>
#include <limits>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/conv.h"

namespace neura::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [B, T, heads * width] as [B, heads, T, width].
Tensor heads_of(const char* op, const Tensor& x, std::int64_t heads) {
  if (heads < 1 || x.dim() != 3 || x.size(2) % heads)
    throw ShapeError(std::string(op) + ": expected [batch, length, heads * width] of " + std::to_string(heads) +
                     " heads, got " + x.shape().str());
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}
Tensor joined_heads(const Tensor& x) {  // and back
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}
// Each head of keys and values for several of queries.
Tensor shared_heads(const char* op, const Tensor& x, std::int64_t heads) {
  if (x.size(1) == heads) return x;
  if (x.size(1) < 1 || heads % x.size(1))
    throw ShapeError(std::string(op) + ": expected a multiple of the key's heads, got " + std::to_string(heads));
  return repeat_interleave(x, heads / x.size(1), 1);
}
Tensor scaled_products(const Tensor& q, const Tensor& k, double scale) {
  const double root = std::sqrt(scale);
  return matmul(mul(q, root), transpose(mul(k, root), -1, -2));
}
// 0 where the condition holds, else -infinity.
Tensor bias_of(const Tensor& allowed, DType dtype) {
  const Tensor zero = zeros({}, {dtype, allowed.device(), false});
  return where(allowed, zero, full_like(zero, -kInfinity));
}

struct Attention {
  std::int64_t q_heads, kv_heads, mode, left, right;
  bool causal;
  double softcap;
  std::optional<double> scale;
  std::optional<DType> precision;

  explicit Attention(const Node& n)
      : q_heads(n.integer("q_num_heads", 0)),
        kv_heads(n.integer("kv_num_heads", 0)),
        mode(n.integer("qk_matmul_output_mode", 0)),
        left(n.integer("left_window_size", -1)),
        right(n.integer("right_window_size", -1)),
        causal(n.flag("is_causal")),
        softcap(n.real("softcap", 0)) {
    if (n.has("scale")) scale = n.real("scale", 1);
    if (n.has("softmax_precision")) precision = dtype_for(Type(n.integer("softmax_precision")));
    if (mode < 0 || mode > 3) refuse("Attention", "a qk_matmul_output_mode of 0 to 3", std::to_string(mode));
  }

  // What is added to the scores: where causality, windows, the mask and the lengths forbid, -infinity.
  Tensor bias(const Operands& x, const Tensor& q, std::int64_t length) const {
    const TensorOptions whole{int64, q.device(), false};
    const std::int64_t rows = q.size(2);
    Tensor out = zeros({rows, length}, {q.dtype(), q.device(), false});
    if (x.has(3)) {
      Tensor mask = x[3];
      if (mask.dim() < 1) throw ShapeError("Attention: expected a mask of keys in its last dimension, got []");
      const std::int64_t lacks = length - mask.shape().back();
      if (mask.dtype() == boolean) mask = bias_of(mask, q.dtype());
      out = add(out, lacks > 0 ? constant_pad_nd(mask, {0, lacks}, -kInfinity) : mask);
    }
    const Tensor column = arange(length, whole);
    Tensor offset = zeros({}, whole);  // keys before the first query
    if (x.has(4)) offset = add(offset, x[4].size(2));
    else if (x.has(6)) offset = sub(x[6].to(int64), rows).reshape({-1, 1, 1, 1});
    const Tensor distance = sub(column, add(arange(rows, whole).unsqueeze(1), offset));  // from the query's own place
    if (causal) out = add(out, bias_of(le(distance, 0), q.dtype()));
    if (left >= 0) out = add(out, bias_of(ge(distance, -left), q.dtype()));
    if (right >= 0) out = add(out, bias_of(le(distance, right), q.dtype()));
    if (x.has(6)) out = add(out, bias_of(lt(column, x[6].to(int64).reshape({-1, 1, 1, 1})), q.dtype()));
    return out;
  }

  Results operator()(const Operands& x) const {
    const bool flat = x[0].dim() == 3;
    Tensor q = flat ? heads_of("Attention", x[0], q_heads) : x[0];
    Tensor k = flat ? heads_of("Attention", x[1], kv_heads) : x[1],
           v = flat ? heads_of("Attention", x[2], kv_heads) : x[2];
    if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4)
      throw ShapeError("Attention: expected 3 or 4 dimensions, got " + q.shape().str());
    if (x.has(4)) k = cat({x[4], k}, 2), v = cat({x[5], v}, 2);
    const Tensor present_key = k, present_value = v;
    k = shared_heads("Attention", k, q.size(1)), v = shared_heads("Attention", v, q.size(1));
    Tensor scores = scaled_products(q, k, scale.value_or(1 / std::sqrt(double(q.size(3))))), shown = scores;
    if (softcap > 0) scores = mul(tanh(neura::div(scores, softcap)), softcap);
    if (mode == 1) shown = scores;
    const Tensor b = bias(x, q, k.size(2));
    scores = add(scores, b);
    if (mode == 2) shown = scores;
    Tensor p = _safe_softmax(precision ? scores.to(*precision) : scores, -1).to(q.dtype());
    const Tensor nothing = eq(amax(b, -1, true), -kInfinity);  // rows that may see no key
    p = where(nothing, zeros_like(p), p);
    if (mode == 3) shown = p;
    const Tensor y = matmul(p, v);
    return {Value(flat ? joined_heads(y) : y), Value(present_key), Value(present_value), Value(shown)};
  }
};
BoundNode attention(const Node& n) { return Attention(n); }

// Graphs may change scores and probabilities.
Tensor changed(const Branch& graph, const Tensor& x, const Operands& node) {
  const Results made = graph(x, node);
  if (made.empty() || !made[0].tensor)
    refuse("FlexAttention", "graphs that return a tensor", made.empty() ? "nothing" : made[0].str());
  return made[0].tensor;
}
BoundNode flexible(const Node& n) {
  std::optional<Branch> scores_graph, probabilities_graph;
  if (n.has("score_mod")) scores_graph = n.graph("score_mod");
  if (n.has("prob_mod")) probabilities_graph = n.graph("prob_mod");
  const bool given = n.has("scale"), precise = n.has("softmax_precision");
  const double scale = n.real("scale", 1);
  const DType precision = precise ? dtype_for(Type(n.integer("softmax_precision"))) : float32;
  return [=](const Operands& x) -> Results {
    const Tensor q = x[0], k = shared_heads("FlexAttention", x[1], q.size(1)),
                 v = shared_heads("FlexAttention", x[2], q.size(1));
    if (q.dim() != 4) throw ShapeError("FlexAttention: expected four dimensions, got " + q.shape().str());
    const DType wide = precise ? precision : accumulation(q.dtype());
    Tensor s = scaled_products(q, k, given ? scale : 1 / std::sqrt(double(q.size(3)))).to(wide);
    if (scores_graph) s = changed(*scores_graph, s, x).to(wide);
    Tensor p = softmax(s, -1);
    if (probabilities_graph) p = changed(*probabilities_graph, p, x).to(wide);
    return matmul(p, v.to(wide)).to(v.dtype());
  };
}

BoundNode rotated(const Node& n) {
  const bool interleaved = n.flag("interleaved");
  const std::int64_t heads = n.integer("num_heads", 0), part = n.integer("rotary_embedding_dim", 0);
  return [=](const Operands& x) -> Results {
    const bool flat = x[0].dim() == 3;
    const Tensor t = flat ? heads_of("RotaryEmbedding", x[0], heads) : x[0];  // [B, heads, T, width]
    Tensor c = x[1], s = x[2];
    if (x.has(3)) {
      const Tensor at = x[3].to(int64), places = at.reshape({at.numel()});
      const auto rows = [&](const Tensor& cache) {
        return reshape(index_select(cache, 0, places), {at.size(0), at.size(1), cache.size(1)});
      };
      c = rows(c), s = rows(s);
    }
    c = unsqueeze(c, 1), s = unsqueeze(s, 1);
    const std::int64_t width = part ? part : t.size(3), half = width / 2;
    const Tensor turned = narrow(t, 3, 0, width), rest = narrow(t, 3, width, t.size(3) - width);
    const Tensor a = interleaved ? slice(turned, 3, 0, INT64_MAX, 2) : narrow(turned, 3, 0, half);
    const Tensor b = interleaved ? slice(turned, 3, 1, INT64_MAX, 2) : narrow(turned, 3, half, half);
    const Tensor real = sub(mul(c, a), mul(s, b)), imaginary = add(mul(s, a), mul(c, b));
    Tensor y = interleaved ? reshape(stack({real, imaginary}, 4), turned.shape()) : cat({real, imaginary}, 3);
    y = cat({y, rest}, 3);
    return flat ? joined_heads(y) : y;
  };
}

// A state that is decayed, corrected and read at each step.
struct LinearAttention {
  std::int64_t q_heads, kv_heads;
  double scale;
  bool gated, corrected;

  explicit LinearAttention(const Node& n)
      : q_heads(n.integer("q_num_heads")), kv_heads(n.integer("kv_num_heads")), scale(n.real("scale", 0)) {
    const std::string rule = n.text("update_rule", "gated_delta");
    gated = rule == "gated" || rule == "gated_delta", corrected = rule == "delta" || rule == "gated_delta";
    if (!gated && !corrected && rule != "linear") refuse("LinearAttention", "an update_rule of ONNX", rule);
    if (kv_heads < 1 || q_heads % kv_heads) refuse("LinearAttention", "heads that divide", std::to_string(q_heads));
  }

  Results operator()(const Operands& x) const {
    const DType dtype = x[0].dtype();
    const auto wide = [](const Tensor& t) { return t.to(float32); };
    const Tensor q = wide(heads_of("LinearAttention", x[0], q_heads)),
                 k = wide(heads_of("LinearAttention", x[1], kv_heads));
    const Tensor v = wide(heads_of("LinearAttention", x[2], kv_heads));
    Tensor decay, beta;
    if (gated)
      decay = exp(wide(heads_of("LinearAttention", x[4], kv_heads)));  // one number per head or one per key dimension
    if (corrected) beta = wide(transpose(x[5].unsqueeze(3), 1, 2));
    Tensor state =
        x.has(3) ? wide(x[3]) : zeros({k.size(0), kv_heads, k.size(3), v.size(3)}, {float32, q.device(), false});
    const double factor = scale == 0 ? 1 / std::sqrt(double(k.size(3))) : scale;
    std::vector<Tensor> out;
    for (std::int64_t i = 0; i < q.size(2); ++i) {
      const Tensor key = select(k, 2, i);
      Tensor value = select(v, 2, i);
      if (gated) state = mul(state, select(decay, 2, i).unsqueeze(3));
      if (corrected) value = mul(select(beta, 2, i), sub(value, squeeze(matmul(key.unsqueeze(2), state), 2)));
      state = add(state, mul(key.unsqueeze(3), value.unsqueeze(2)));
      const Tensor seen = shared_heads("LinearAttention", state, q_heads);
      out.push_back(mul(squeeze(matmul(select(q, 2, i).unsqueeze(2), seen), 2), factor));
    }
    if (out.empty()) refuse("LinearAttention", "at least one step", "none");
    return {Value(joined_heads(stack(out, 2)).to(dtype)), Value(state.to(x.has(3) ? x[3].dtype() : dtype))};
  }
};
BoundNode linear_attention(const Node& n) { return LinearAttention(n); }

// A convolution per channel that sees only what came before, also in the call before.
BoundNode causal_convolution(const Node& n) {
  const std::string activation = n.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    refuse("CausalConvWithState", "none, silu or swish", activation);
  const bool activated = activation != "none";
  return [activated](const Operands& x) -> Results {
    const Tensor t = x[0], weight = x[1];
    if (t.dim() != 3 || weight.dim() != 3)
      throw ShapeError("CausalConvWithState: expected [N, C, L] and [C, 1, k], got " + t.shape().str());
    const std::int64_t before = weight.size(2) - 1;
    const Tensor past = x.has(3) ? x[3] : zeros({t.size(0), t.size(1), before}, {t.dtype(), t.device(), false});
    const Tensor whole = cat({past, t}, 2);
    ConvOptions o;
    o.groups = t.size(1);
    Tensor y = conv1d(whole, weight, x.maybe(2), o);
    if (activated) y = silu(y.to(accumulation(y.dtype()))).to(t.dtype());
    return {Value(y), Value(narrow(whole, 2, whole.size(2) - before, before))};
  };
}

}  // namespace

std::span<const Operator> attention_operators() {
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"Attention", 23, kNewest, attention, plain, never},
      {"RotaryEmbedding", 23, kNewest, rotated, plain, never},
      {"LinearAttention", 27, kNewest, linear_attention, plain, never},
      {"CausalConvWithState", 27, kNewest, causal_convolution, plain, never},
      {"FlexAttention", 1, kNewest, flexible, plain, never, "ai.onnx.preview"},
  };
  return rows;
}

}  // namespace neura::onnx
