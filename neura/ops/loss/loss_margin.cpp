// Losses with a margin, and the distances they are made of. All composed.
#include <cmath>
#include <limits>

#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/loss/loss_common.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int dim, double eps) {
  if (const amp::CastScope cast{amp::Name::cosine_similarity, x1, x2})
    return cosine_similarity(cast(x1), cast(x2), dim, eps);
  const DType d = promote(x1.dtype(), x2.dtype());
  check<DTypeError>(differentiable(d), [&] {
    return "cosine_similarity: expected floating operands, got " + x1.spec().str() + " and " + x2.spec().str();
  });
  const Shape both = broadcast_shapes("cosine_similarity", x1.shape(), x2.shape());
  const Tensor a = expand(to(x1, d), both), b = expand(to(x2, d), both);
  const auto direction = [&](const Tensor& x) {  // the least norm is no part of the derivative
    const Tensor n = vector_norm(x, 2, dim, true);
    return x / (n + (clamp_min(n.detach(), eps) - n.detach()));
  };
  const Tensor cosine = sum(direction(a) * direction(b), dim), value = cosine.detach();
  return cosine + (clamp(value, {.min = -1, .max = 1}) - value);  // rounding may leave [-1, 1]; not differentiated
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return vector_norm(x1 - x2 + eps, p, -1, keepdim);
}

Tensor normalize(const Tensor& input, double p, const Dims& dim, double eps) {
  return input / clamp_min(vector_norm(input, p, dim, true), eps);
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, HingeEmbeddingLossOptions o) {
  if (const amp::CastScope cast{amp::Name::hinge_embedding_loss, input, target})
    return hinge_embedding_loss(cast(input), cast(target), o);
  check_pair("hinge_embedding_loss", input, target);
  const Tensor far = clamp_min(o.margin - input, 0);
  return reduced(masked_fill(far, target == 1, 0) + masked_fill(input, target == -1, 0), o.reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, MarginLossOptions o) {
  if (const amp::CastScope cast{amp::Name::margin_ranking_loss, input1, input2, target})
    return margin_ranking_loss(cast(input1), cast(input2), cast(target), o);
  check<ShapeError>(input1.dim() == input2.dim() && input1.dim() == target.dim(), [&] {
    return "margin_ranking_loss: expected operands of one number of dimensions, got " + input1.shape().str() + ", " +
           input2.shape().str() + " and " + target.shape().str();
  });
  return reduced(clamp_min(-target * (input1 - input2) + o.margin, 0), o.reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, MarginLossOptions o) {
  if (const amp::CastScope cast{amp::Name::cosine_embedding_loss, input1, input2, target})
    return cosine_embedding_loss(cast(input1), cast(input2), cast(target), o);
  const int rank = target.dim();
  check<ShapeError>(rank <= 1 && input1.dim() == rank + 1 && input2.dim() == rank + 1, [&] {
    return "cosine_embedding_loss: expected inputs [N, D] with a target [N], or [D] with a single number, got " +
           input1.shape().str() + ", " + input2.shape().str() + " and " + target.shape().str();
  });
  // x over the root of its squares' sum and 10^-12
  const auto direction = [&](const Tensor& input) {
    const Tensor x = is_integral(input.dtype()) ? to(input, default_dtype()) : input;
    const Tensor size = vector_norm(x, 2, rank, true);
    return x / hypot(size, full_like(size, 1e-6));
  };
  const Tensor cosine = sum(direction(input1) * direction(input2), rank);
  const Tensor zeros = zeros_like(cosine);
  const Tensor near = where(target == 1, 1 - cosine, zeros),
               far = where(target == -1, clamp_min(cosine - o.margin, 0), zeros);
  return reduced(near + far, o.reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           TripletMarginLossOptions o) {
  if (const amp::CastScope cast{amp::Name::triplet_margin_loss, anchor, positive, negative})
    return triplet_margin_loss(cast(anchor), cast(positive), cast(negative), o);
  check<ValueError>(o.margin > 0,
                    [&] { return "triplet_margin_loss: expected a positive margin, got " + Scalar(o.margin).str(); });
  check<ShapeError>(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(), [&] {
    return "triplet_margin_loss: expected operands of one number of dimensions, got " + anchor.shape().str() + ", " +
           positive.shape().str() + " and " + negative.shape().str();
  });
  const Tensor near = pairwise_distance(anchor, positive, o.p, o.eps);
  Tensor far = pairwise_distance(anchor, negative, o.p, o.eps);
  if (o.swap) far = minimum(far, pairwise_distance(positive, negative, o.p, o.eps));
  return reduced(clamp_min(near - far + o.margin, 0), o.reduction);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, ReductionOptions o) {
  if (const amp::CastScope cast{amp::Name::soft_margin_loss, input, target})
    return soft_margin_loss(cast(input), cast(target), o);
  const Shape both = broadcast_shapes("soft_margin_loss", input.shape(), target.shape());
  check<ShapeError>(both == input.shape() || input.numel() == 1, [&] {  // torch refuses a larger target as well
    return "soft_margin_loss: expected a target that broadcasts to the input's sizes " + input.shape().str() +
           ", got " + target.shape().str() + "; reshape() one of them";
  });
  check_pair("soft_margin_loss", input, target);
  return reduced(log1p(exp(-target * input)), o.reduction);
}

namespace {
// [N, C] of a batch, or [C] or a single number of one sample, and targets of `rank` dimensions with it.
void check_scores(const char* op, const Tensor& input, const Tensor& target, bool one_class) {
  const int rank = input.dim();
  bool fits = rank <= 2 && (rank == 0 || input.shape().back() > 0);
  if (fits && !one_class) fits = target.shape() == input.shape();
  if (fits && one_class)
    fits = rank == 2 ? target.shape() == Shape{input.shape()[0]} : target.numel() == 1 && target.dim() <= 1;
  check<ShapeError>(fits, [&] {
    return std::string(op) + ": expected an input [N, C] or [C] with a target of " +
           (one_class ? "one class for each sample" : "the same sizes") + ", got " + input.shape().str() + " and " +
           target.shape().str();
  });
  check<DTypeError>(target.dtype() == DType::int64,
                    [&] { return std::string(op) + ": expected a target of dtype int64, got " + target.spec().str(); });
}
}  // namespace

Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossOptions& o) {
  if (const amp::CastScope cast{amp::Name::multi_margin_loss, input})
    return multi_margin_loss(cast(input), target, cast.options(o));
  check<ValueError>(o.p == 1 || o.p == 2,
                    [&] { return "multi_margin_loss: expected p = 1 or 2, got " + std::to_string(o.p); });
  check<ValueError>(!o.weight || o.weight.dim() == 1, [&] {
    return "multi_margin_loss: expected a weight of one dimension, got " + o.weight.shape().str();
  });
  check_scores("multi_margin_loss", input, target, true);
  const std::int64_t classes = input.dim() ? input.shape().back() : 1;
  check<ShapeError>(!o.weight || o.weight.numel() == classes, [&] {
    return "multi_margin_loss: expected a weight of one value per class [" + std::to_string(classes) + "], got " +
           o.weight.shape().str();
  });
  const Tensor x = input.dim() == 2 ? input : reshape(input, {1, classes}),
               hot = one_hot(reshape(target, {-1}), classes);
  const Tensor mask = to(hot, x.dtype()), right = sum(x * mask, 1, true);
  Tensor terms = relu(x - right + o.margin);
  if (o.p == 2) terms = terms * terms;
  if (o.weight) terms = terms * sum(mask * o.weight, 1, true);
  const Tensor loss = sum(masked_fill(terms, hot == 1, 0), 1) / double(classes);
  return reduced(target.dim() ? loss : squeeze(loss, 0), o.reduction);
}

namespace {
// Where a sample has a label: before its first -1.
Tensor labelled(const Tensor& target) { return eq(cumsum(lt(target, 0).to(DType::int64), 1), 0); }
void check_labels(const Tensor& target, const Tensor& there, std::int64_t classes) {
  if (!target.numel() || !host_looks(target)) return;  // otherwise gather reports them
  const auto most = max(where(there, target, 0)).item<std::int64_t>();
  check<IndexError>(most < classes, [&] {
    return "multilabel_margin_loss: expected labels from 0 to " + std::to_string(classes - 1) + ", got " +
           std::to_string(most);
  });
}
// The sum over the labels' scores s of max(0, 1 + x - s), for each x: by those s that are below 1 + x, which begin the
// sorted ones. C log C steps for C classes, and no memory of C x C.
Tensor hinges(const Tensor& x, const Tensor& scores) {
  const Tensor sorted = sort(scores, 1).values;  // infinity where there is no label
  const Tensor sums = constant_pad_nd(cumsum(where(lt(sorted, kInfinity), sorted, 0), 1), {1, 0});
  const Tensor reach = x + 1, below = searchsorted(sorted.detach(), contiguous(reach.detach()));
  return reach * to(below, x.dtype()) - gather(sums, 1, below);
}
}  // namespace

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, ReductionOptions o) {
  if (const amp::CastScope cast{amp::Name::multilabel_margin_loss, input})
    return multilabel_margin_loss(cast(input), target, o);
  check_scores("multilabel_margin_loss", input, target, false);
  if (bit(input.dtype()) & dtypes::halves)
    return to(multilabel_margin_loss(to(input, DType::float32), target, o), input.dtype());
  const bool batch = input.dim() == 2;
  const Shape rows = batch ? input.shape() : Shape{1, input.numel()};
  const Tensor x = reshape(input, rows), labels = reshape(target, rows), there = labelled(labels);
  check_labels(labels, there, rows[1]);
  const Tensor at = contiguous(where(there, labels, 0)), scores = where(there, gather(x, 1, at), kInfinity);
  const Tensor named = scatter_add(zeros_like(at), 1, at, to(there, DType::int64));
  Tensor loss = sum(masked_fill(hinges(x, scores), gt(named, 0), 0), 1) / double(rows[1]);
  loss = masked_fill(loss, any(isnan(scores), 1), NAN);
  return reduced(batch ? loss : squeeze(loss, 0), o.reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const WeightedLossOptions& o) {
  check_pair("multilabel_soft_margin_loss", input, target);
  Tensor loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input));
  if (o.weight) loss = loss * o.weight;
  return reduced(mean(loss, -1), o.reduction);
}

}  // namespace neura
