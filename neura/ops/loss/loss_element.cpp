// Losses that compare input and target element by element.
#include <cmath>
#include <limits>

#include "neura/backend/kernels/loss.h"
#include "neura/core/wrapped.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/loss/loss_common.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// The loss of each element and its derivative by the input, of differentiable operations.
Tensor value_of(ElementLoss kind, double parameter, const Tensor& x, const Tensor& t) {
  const Tensor d = x - t;
  switch (kind) {
    case ElementLoss::mse:
      return d * d;
    case ElementLoss::l1:
      return abs(d);
    case ElementLoss::smooth_l1:
      return where(abs(d) < parameter, d * d / (2 * parameter), abs(d) - parameter / 2);
    case ElementLoss::huber:
      return where(abs(d) <= parameter, d * d / 2, (abs(d) - parameter / 2) * parameter);
    case ElementLoss::bce:
      return -(t * clamp_min(log(x), -100) + (1 - t) * clamp_min(log1p(-x), -100));
    default:
      return (1 - t) * x - logsigmoid(x);
  }
}
Tensor slope_of(ElementLoss kind, double parameter, const Tensor& x, const Tensor& t) {
  const Tensor d = x - t;
  switch (kind) {
    case ElementLoss::mse:
      return d * 2;
    case ElementLoss::l1:
      return sgn(d);
    case ElementLoss::smooth_l1:
      return where(abs(d) >= parameter, sgn(d), d / parameter);
    case ElementLoss::huber:
      return where(abs(d) > parameter, sgn(d) * parameter, d);
    case ElementLoss::bce:
      return d / clamp_min((1 - x) * x, 1e-12);
    default:
      return sigmoid(x) - t;
  }
}
Tensor spread(const Tensor& g, const Tensor& x, Reduction reduction) {  // of the reduced loss, to each element
  return reduction == Reduction::mean ? g / double(x.numel()) : g;
}

struct LossBackward {
  NEURA_OPERANDS(grad_output, input, target)
  static constexpr Operation op =
      operation("loss_backward").saves(every_input, in(In::grad_output, In::input, In::target));
  ElementLoss kind;
  double parameter;
  Reduction reduction;
  NEURA_FIELDS(kind, parameter, reduction)
  void infer(const Spec&, const Spec& x, const Spec&, Spec& gx) const {
    gx = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View g, View x, View t, View gx) const {
    c.backend.loss->element_loss_backward(c, g, x, t, kind, parameter, reduction, gx);
  }
  Tensor define(const Tensor& g, const Tensor& x, const Tensor& t) const {
    return spread(g, x, reduction) * slope_of(kind, parameter, x, t);
  }
};

constexpr const char* kNames[] = {
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"};

// Fused with its reduction. Operands of one floating dtype and shape, contiguous.
template <ElementLoss kind> struct ElementLossOp {
  NEURA_OPERANDS(input, target)
  static constexpr Operation op = operation(kNames[int(kind)]).saves(every_input, in(In::input, In::target)).closed();
  double parameter;
  Reduction reduction;
  NEURA_FIELDS(parameter, reduction)
  void infer(const Spec& x, const Spec& t, Spec& loss) const {
    check<DTypeError>(is_floating(x.dtype) && t.dtype == x.dtype, [&] {
      return std::string(op.name) + ": expected operands of one floating dtype, got " + x.str() + " and " + t.str();
    });
    check<ShapeError>(x.same_shape(t), [&] {
      return std::string(op.name) + ": expected operands of one shape, got " + x.str() + " and " + t.str();
    });
    loss = Spec::dense(x.dtype, reduction == Reduction::none ? x.sizes() : Shape{}, x.device);
  }
  void run(Context& c, View x, View t, View loss) const {
    c.backend.loss->element_loss(c, x, t, kind, parameter, reduction, loss);
  }
  Tensor define(const Tensor& x, const Tensor& t) const { return reduced(value_of(kind, parameter, x, t), reduction); }
  void gradient(Gradient& g) const {
    const Tensor &x = g.input(In::input), &t = g.input(In::target);
    constexpr bool of_difference = kind < ElementLoss::bce;  // then the target's gradient is the other's negative
    if (g.needs(In::input) || (of_difference && g.needs(In::target))) {
      const Tensor gx = apply(LossBackward{kind, parameter, reduction}, contiguous(g.g[0]), x, t);
      if (g.needs(In::input)) g.result[In::input] = gx;
      if (of_difference && g.needs(In::target)) g.result[In::target] = -gx;
    }
    if (!of_difference && g.needs(In::target))
      g.result[In::target] = spread(g.g[0], x, reduction) * (kind == ElementLoss::bce ? log1p(-x) - log(x) : -x);
  }
};

// The two operands, of one shape and dtype.
struct Pair {
  Tensor x, t;
  Pair(const char* op, const Tensor& input, const Tensor& target) : x(input), t(target) {
    if (x.shape() != t.shape()) {
      warn_of_sizes(op, x, t);
      const Shape both = broadcast_shapes(op, x.shape(), t.shape());
      x = expand(x, both), t = expand(t, both);
    }
    const DType d = promote(x.dtype(), t.dtype());
    x = to(x, d), t = to(t, d);
  }
  bool fused() const { return is_floating(x.dtype()); }
};
template <ElementLoss kind> Tensor element_loss(const Pair& p, double parameter, Reduction reduction) {
  return apply(ElementLossOp<kind>{parameter, reduction}, contiguous(p.x), contiguous(p.t));
}
void check_weight(const char* op, const Tensor& weight, const Tensor& input) {
  check<ValueError>(weight.shape() == input.shape(), [&] {
    return std::string(op) + ": expected a weight of the input's sizes " + input.shape().str() + ", got " +
           weight.shape().str();
  });
}
// A weight must broadcast to the input: a larger one would enlarge the loss.
void check_fits(const char* op, const char* what, const Tensor& weight, const Tensor& input) {
  const Shape w = weight.shape(), x = input.shape();
  bool fits = w.size() <= x.size();
  for (int d = 1; fits && d <= w.size(); ++d) fits = w[w.size() - d] == 1 || w[w.size() - d] == x[x.size() - d];
  check<ShapeError>(fits, [&] {
    return std::string(op) + ": expected " + what + " that broadcasts to the input's sizes " + x.str() + ", got " +
           w.str();
  });
}
// The weighted mean of mse_loss and l1_loss divides by the weights.
Tensor weighted(const Tensor& loss, const Tensor& weight, Reduction reduction) {
  const Tensor product = loss * weight;
  return reduction == Reduction::mean ? sum(product) / sum(weight) : reduced(product, reduction);
}
void check_real(const char* op, const Tensor& x, const Tensor& t) {
  check<DTypeError>(is_floating(x.dtype()) && is_floating(t.dtype()), [&] {
    return std::string(op) + ": expected a floating input and target, got " + x.spec().str() + " and " + t.spec().str();
  });
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, ReductionOptions o, const Tensor& weight) {
  if (const amp::CastScope cast{amp::Name::mse_loss, input, target})
    return mse_loss(cast(input), cast(target), o, cast(weight));
  const Pair p("mse_loss", input, target);
  if (weight) {
    check_weight("mse_loss", weight, input);
    return weighted(mse_loss(p.x, p.t, {Reduction::none}), weight, o.reduction);
  }
  if (p.fused()) return element_loss<ElementLoss::mse>(p, 0, o.reduction);
  const Tensor d = p.x - p.t;
  return reduced(d * d, o.reduction);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, ReductionOptions o, const Tensor& weight) {
  if (const amp::CastScope cast{amp::Name::l1_loss, input, target})
    return l1_loss(cast(input), cast(target), o, cast(weight));
  const Pair p("l1_loss", input, target);
  if (weight) {
    check_weight("l1_loss", weight, input);
    return weighted(l1_loss(p.x, p.t, {Reduction::none}), weight, o.reduction);
  }
  if (p.fused()) return element_loss<ElementLoss::l1>(p, 0, o.reduction);
  return reduced(abs(p.x - p.t), o.reduction);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, SmoothL1LossOptions o) {
  if (const amp::CastScope cast{amp::Name::smooth_l1_loss, input, target})
    return smooth_l1_loss(cast(input), cast(target), o);
  check<ValueError>(o.beta >= 0,
                    [&] { return "smooth_l1_loss: expected beta of at least 0, got " + Scalar(o.beta).str(); });
  const Pair p("smooth_l1_loss", input, target);
  check_real("smooth_l1_loss", p.x, p.t);
  if (o.beta == 0) return element_loss<ElementLoss::l1>(p, 0, o.reduction);
  return element_loss<ElementLoss::smooth_l1>(p, o.beta, o.reduction);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossOptions& o) {
  if (const amp::CastScope cast{amp::Name::huber_loss, input, target})
    return huber_loss(cast(input), cast(target), cast.options(o));
  check<ValueError>(o.delta > 0, [&] { return "huber_loss: expected a positive delta, got " + Scalar(o.delta).str(); });
  const Pair p("huber_loss", input, target);
  check_real("huber_loss", p.x, p.t);
  if (!o.weight) return element_loss<ElementLoss::huber>(p, o.delta, o.reduction);
  check_weight("huber_loss", o.weight, input);
  return reduced(element_loss<ElementLoss::huber>(p, o.delta, Reduction::none) * o.weight, o.reduction);
}

static void check_unit(const char* what, const Tensor& values, const char* advice) {
  const auto range = aminmax(innermost(values).detach());
  const double low = range.min.item<double>(), high = range.max.item<double>();
  check<ValueError>(low >= 0 && high <= 1, [&] {  // false for NaN as well
    return std::string("binary_cross_entropy: expected ") + what + " between 0 and 1, got elements from " +
           Scalar(low).str() + " to " + Scalar(high).str() + advice;
  });
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const WeightedLossOptions& o) {
  if (const amp::CastScope cast{amp::Name::binary_cross_entropy, input, target})
    return binary_cross_entropy(cast(input), cast(target), cast.options(o));
  check_real("binary_cross_entropy", input, target);
  check<ValueError>(input.shape() == target.shape(), [&] {
    return "binary_cross_entropy: expected a target of the input's sizes " + input.shape().str() + ", got " +
           target.shape().str();
  });
  if (!host_looks(input)) {
    const Tensor x = innermost(input).detach();
    expect(Rule::unit_inputs, ge(x, 0) & le(x, 1));
  } else if (input.numel()) {
    check_unit("an input", input, "; for any numbers use binary_cross_entropy_with_logits");
    if (host_looks(target)) check_unit("a target", target, "");
  }
  if (o.weight) check_fits("binary_cross_entropy", "a weight", o.weight, input);
  const Pair p("binary_cross_entropy", input, target);
  if (!o.weight) return element_loss<ElementLoss::bce>(p, 0, o.reduction);
  return reduced(element_loss<ElementLoss::bce>(p, 0, Reduction::none) * o.weight, o.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const BceWithLogitsOptions& o) {
  if (const amp::CastScope cast{amp::Name::binary_cross_entropy_with_logits, input, target})
    return binary_cross_entropy_with_logits(cast(input), cast(target), cast.options(o));
  check_real("binary_cross_entropy_with_logits", input, target);
  check<ValueError>(input.shape() == target.shape(), [&] {
    return "binary_cross_entropy_with_logits: expected a target of the input's sizes " + input.shape().str() +
           ", got " + target.shape().str();
  });
  if (o.weight) check_fits("binary_cross_entropy_with_logits", "a weight", o.weight, input);
  if (o.pos_weight) check_fits("binary_cross_entropy_with_logits", "a pos_weight", o.pos_weight, input);
  const Pair p("binary_cross_entropy_with_logits", input, target);
  const Reduction inner = o.weight ? Reduction::none : o.reduction;
  Tensor loss;
  if (o.pos_weight) {  // the positive part, weighted
    const Tensor factor = (o.pos_weight - 1) * p.t + 1;
    loss = reduced((1 - p.t) * p.x - factor * logsigmoid(p.x), inner);
  } else {
    loss = element_loss<ElementLoss::bce_logits>(p, 0, inner);
  }
  return o.weight ? reduced(loss * o.weight, o.reduction) : loss;
}

Tensor kl_div(const Tensor& input, const Tensor& target, KlDivOptions o) {
  if (const amp::CastScope cast{amp::Name::kl_div, input, target}) return kl_div(cast(input), cast(target), o);
  check_pair("kl_div", input, target);
  Tensor loss;
  if (o.log_target) {  // targets of 0 add nothing, where the formula would be 0 * -inf
    const Tensor none = target == -std::numeric_limits<double>::infinity(), there = masked_fill(target, none, 0);
    loss = masked_fill(exp(there) * (there - input), none, 0);
  } else {
    loss = xlogy(target, target) - target * input;
  }
  if (!o.batchmean) return reduced(loss, o.reduction);
  const std::int64_t samples = input.dim() ? input.shape()[0] : 1;
  return sum(loss) / double(std::max<std::int64_t>(samples, 1));  // of no samples 0, as in torch
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, PoissonNllLossOptions o) {
  if (const amp::CastScope cast{amp::Name::poisson_nll_loss, input, target})
    return poisson_nll_loss(cast(input), cast(target), o);
  check_pair("poisson_nll_loss", input, target);
  Tensor loss = o.log_input ? exp(input) - target * input : input - target * log(input + o.eps);
  if (o.full) {  // Stirling's formula for log(target!)
    const Tensor stirling = target * log(target) - target + log(target * (2 * M_PI)) * 0.5;
    loss = loss + masked_fill(stirling, target <= 1, 0);
  }
  return reduced(loss, o.reduction);
}

namespace {
// Of x's sizes except for one dimension of 1: what torch broadcasts of a Gaussian's target and variance.
bool fits_but_one(const Tensor& t, const Tensor& x) {
  int other = 0;
  for (int k = 0; k < t.dim() && t.dim() == x.dim(); ++k)
    if (t.size(k) != x.size(k)) other += t.size(k) == 1 ? 1 : 2;
  return other == 1;
}
}  // namespace

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, GaussianNllLossOptions o) {
  if (!fits_but_one(target, input)) check_pair("gaussian_nll_loss", input, target);
  Tensor v = var;
  if (v.dim() && v.shape() != input.shape()) {
    Shape without = input.shape();
    if (!without.empty()) without.erase(without.size() - 1);
    if (v.shape() == without) v = unsqueeze(v, -1);
    else
      check<ValueError>(fits_but_one(v, input), [&] {
        return "gaussian_nll_loss: expected a var of the input's sizes " + input.shape().str() +
               ", or of these with the last one left out or one of them 1, got " + var.shape().str();
      });
  }
  expect(Rule::variances, logical_not(lt(v.detach(), 0)));
  v = v + (clamp_min(v.detach(), o.eps) - v.detach());  // the clamp passes gradients on
  const Tensor d = input - target;
  Tensor loss = (log(v) + d * d / v) * 0.5;
  if (o.full) loss = loss + 0.5 * std::log(2 * M_PI);
  return reduced(loss, o.reduction);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(loss_backward, LossBackward);
NEURA_DEFINE_OPERATION(mse_loss, ElementLossOp<ElementLoss::mse>);
NEURA_DEFINE_OPERATION(l1_loss, ElementLossOp<ElementLoss::l1>);
NEURA_DEFINE_OPERATION(smooth_l1_loss, ElementLossOp<ElementLoss::smooth_l1>);
NEURA_DEFINE_OPERATION(huber_loss, ElementLossOp<ElementLoss::huber>);
NEURA_DEFINE_OPERATION(binary_cross_entropy, ElementLossOp<ElementLoss::bce>);
NEURA_DEFINE_OPERATION(binary_cross_entropy_with_logits, ElementLossOp<ElementLoss::bce_logits>);
