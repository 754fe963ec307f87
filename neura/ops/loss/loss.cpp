// Losses of classes: cross_entropy and nll_loss, forward and backward one pass each.
#include "neura/ops/loss/loss.h"

#include <algorithm>
#include <iterator>

#include "neura/backend/kernels/loss.h"
#include "neura/core/warning.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/index/index.h"
#include "neura/ops/loss/loss_common.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {

Reduction to_reduction(std::string_view text) {
  const auto* found = std::find(std::begin(kReductions), std::end(kReductions), text);
  check<ValueError>(found != std::end(kReductions), [&] {
    return "reduction: expected \"none\", \"mean\" or \"sum\", got \"" + std::string(text) + "\"";
  });
  return Reduction(found - kReductions);
}

Tensor reduced(const Tensor& loss, Reduction reduction) {
  return reduction == Reduction::none ? loss : reduction == Reduction::sum ? sum(loss) : mean(loss);
}

void check_pair(const char* op, const Tensor& input, const Tensor& target) {
  if (input.numel() != 1 && target.numel() != 1) warn_of_sizes(op, input, target);
}

void warn_of_sizes(const char* op, const Tensor& input, const Tensor& target) {
  const Shape x = input.shape(), t = target.shape();
  if (x == t) return;
  const Shape both = broadcast_shapes(op, x, t);
  // The beginning is torch's: programs filter warnings by it.
  warn("Using a target size (" + t.str() + ") that is different to the input size (" + x.str() + "): " + op +
       " broadcasts them to " + both.str() + ", which is rarely meant; reshape() one of them, or expand() it");
}

NEURA_FIELDS_OF(LossOptions, ignore, reduction, smoothing)

namespace {

int class_dim(const Spec& x) { return x.rank > 1 ? 1 : 0; }
// Floating scores [C], [N, C] or [N, C, d…], classes without that dimension, a weight [C] of the loss' dtype.
void check_classes(const char* op, const Spec& x, const Spec& target, const Spec& weight, DType loss) {
  check<DTypeError>(is_floating(x.dtype),
                    [&] { return std::string(op) + ": expected a floating input, got " + x.str(); });
  check<ShapeError>(x.rank > 0, [&] {
    return std::string(op) + ": expected an input [C], [N, C] or [N, C, d1, ...], got a single number";
  });
  Shape want = x.sizes();
  want.erase(class_dim(x));
  check<ShapeError>(target.sizes() == want, [&] {
    return std::string(op) + ": expected a target of sizes " + want.str() + " for an input " + x.sizes().str() +
           ", got " + target.sizes().str();
  });
  if (weight.rank == kAbsent) return;
  check<ShapeError>(weight.sizes() == Shape{x.shape[class_dim(x)]}, [&] {
    return std::string(op) + ": expected a weight of one value per class [" + std::to_string(x.shape[class_dim(x)]) +
           "], got " + weight.sizes().str();
  });
  check<DTypeError>(weight.dtype == loss, [&] {
    return std::string(op) + ": expected a weight of the input's dtype " + name(loss) + ", got " + name(weight.dtype);
  });
}
Spec loss_spec(const Spec& x, const Spec& target, DType dtype, Reduction r) {
  return Spec::dense(dtype, r == Reduction::none ? target.sizes() : Shape{}, x.device);
}

struct CrossEntropyBackward {
  NEURA_OPERANDS(grad_output, input, target, weight, stats)
  static constexpr Operation op = operation("cross_entropy_backward").optional(in(In::weight));
  LossOptions o;
  NEURA_FIELDS(o)
  void infer(const Spec&, const Spec& x, const Spec&, const Spec&, const Spec&, Spec& gx) const {
    gx = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View g, View x, View target, View weight, View stats, View gx) const {
    if (x.numel()) c.backend.loss->cross_entropy_backward(c, g, x, target, weight, stats, o, gx);
  }
};

// The weight of each sample's class, 0 for ignored ones: of target's shape.
Tensor weight_of_target(const Tensor& target, const Tensor& valid, const Tensor& weight) {
  if (!weight) return valid;
  return reshape(embedding(target, unsqueeze(weight.detach(), 1)), target.shape()) * valid;
}

struct CrossEntropy {
  NEURA_OPERANDS(input, target, weight)
  NEURA_RESULTS(loss, stats)
  static constexpr Operation op = operation("cross_entropy")
                                      .optional(in(In::weight))
                                      .saves(In::input, in(In::input, In::target, In::weight), out(Out::stats));
  LossOptions o;
  bool wide = false;  // of scores in halves, the loss is float32, in which it is computed
  NEURA_FIELDS(o, wide)
  DType dtype(DType scores) const { return wide ? accumulation(scores) : scores; }
  void infer(const Spec& x, const Spec& target, const Spec& weight, Spec& loss, Spec& stats) const {
    check_classes(op.name, x, target, weight, dtype(x.dtype));
    loss = loss_spec(x, target, dtype(x.dtype), o.reduction);
    stats = Spec::dense(accumulation(x.dtype), Shape{2 * target.numel + 1}, x.device);
  }
  void run(Context& c, View x, View target, View weight, View loss, View stats) const {
    c.backend.loss->cross_entropy(c, x, target, weight, o, loss, stats);
  }
  void gradient(Gradient& g) const {
    if (!g.needs(In::input)) return;
    g.result[In::input] = apply(CrossEntropyBackward{o}, contiguous(g.g[Out::loss]), g.input(In::input),
                                g.input(In::target), g.input(In::weight), g.output(Out::stats));
  }
  std::array<Tensor, 2> define(const Tensor& x, const Tensor& target, const Tensor& weight) const {
    const int dim = class_dim(x.spec());
    const Tensor logp = log_softmax(to(x, accumulation(x.dtype())), dim);
    const Tensor counts = target != o.ignore, valid = to(counts, logp.dtype()), there = where(counts, target, 0);
    const Tensor w = weight ? to(weight.detach(), logp.dtype()) : weight;
    const Tensor at_target = weight_of_target(there, valid, w);
    Tensor loss = -squeeze(gather(logp, dim, unsqueeze(there, dim)), dim) * at_target * (1 - o.smoothing);
    if (o.smoothing) {
      const std::int64_t classes = x.shape()[dim];
      Shape ones = Shape::filled(x.dim(), 1);
      ones[dim] = classes;
      loss = loss - sum(w ? logp * reshape(w, ones) : logp, dim) * valid * (o.smoothing / double(classes));
    }
    loss = where(counts, loss, 0.0);  // no gradient reaches an ignored one, not even the NaN of a mean of none
    if (o.reduction != Reduction::none) loss = sum(loss);
    if (o.reduction == Reduction::mean) loss = loss / sum(at_target);
    return {to(loss, dtype(x.dtype())), Tensor()};
  }
};

struct NllLossBackward {
  NEURA_OPERANDS(grad_output, target, weight, total)
  static constexpr Operation op =
      operation("nll_loss_backward").optional(in(In::weight)).saves(In::grad_output, in(In::target, In::weight));
  LossOptions o;
  Shape sizes;
  DType dtype;
  NEURA_FIELDS(o, sizes, dtype)
  void infer(const Spec& g, const Spec&, const Spec&, const Spec&, Spec& gx) const {
    gx = Spec::dense(dtype, sizes, g.device);
  }
  void run(Context& c, View g, View target, View weight, View total, View gx) const {
    c.backend.loss->nll_loss_backward(c, g, target, weight, total, o, gx);
  }
  void gradient(Gradient& g) const;
};
struct NllLoss {
  NEURA_OPERANDS(input, target, weight)
  NEURA_RESULTS(loss, total)
  static constexpr Operation op = operation("nll_loss")
                                      .optional(in(In::weight))
                                      .saves(In::input, in(In::target, In::weight), out(Out::total))
                                      .closed();
  LossOptions o;
  NEURA_FIELDS(o)
  void infer(const Spec& x, const Spec& target, const Spec& weight, Spec& loss, Spec& total) const {
    check_classes(op.name, x, target, weight, x.dtype);
    loss = loss_spec(x, target, x.dtype, o.reduction);
    total = Spec::dense(accumulation(x.dtype), Shape{}, x.device);
  }
  void run(Context& c, View x, View target, View weight, View loss, View total) const {
    c.backend.loss->nll_loss(c, x, target, weight, o, loss, total);
  }
  std::array<Tensor, 2> define(const Tensor& x, const Tensor& target, const Tensor& weight) const {
    const int dim = class_dim(x.spec());
    const Tensor counts = target != o.ignore, there = where(counts, target, 0), wide = to(x, accumulation(x.dtype()));
    const Tensor w = weight ? to(weight.detach(), wide.dtype()) : weight;
    const Tensor at_target = weight_of_target(there, to(counts, wide.dtype()), w), total = sum(at_target);
    Tensor loss = where(counts, -squeeze(gather(wide, dim, unsqueeze(there, dim)), dim) * at_target, 0.0);
    if (o.reduction != Reduction::none) loss = sum(loss);
    if (o.reduction == Reduction::mean) loss = loss / total;
    return {to(loss, x.dtype()), total};
  }
  void gradient(Gradient& g) const {
    if (!g.needs(In::input)) return;
    const GradientSpec& x = *g.meta[In::input];
    g.result[In::input] = apply(NllLossBackward{o, x.sizes(), x.dtype}, contiguous(g.g[Out::loss]), g.input(In::target),
                                g.input(In::weight), g.output(Out::total));
  }
};
void NllLossBackward::gradient(Gradient& g) const {  // linear in g: its derivative is the loss of the incoming gradient
  if (!g.needs(In::grad_output)) return;
  g.result[In::grad_output] = apply(NllLoss{o}, g.g[0], g.input(In::target), g.input(In::weight))[NllLoss::Out::loss];
}

// Classes as the kernels take them.
Tensor class_numbers(const char* op, const Tensor& target) {
  check<DTypeError>(is_integral(target.dtype()) && target.dtype() != DType::boolean, [&] {
    return std::string(op) + ": expected a target of integers, or of probabilities with the input's sizes, got " +
           target.spec().str();
  });
  return contiguous(to(target, DType::int64));
}
Tensor scores(const Tensor& x) { return x.dim() > 2 ? contiguous(x) : x; }

void check_smoothing(const CrossEntropyOptions& o) {
  check<ValueError>(o.label_smoothing >= 0 && o.label_smoothing <= 1, [&] {
    return "cross_entropy: expected label_smoothing between 0 and 1, got " + std::to_string(o.label_smoothing);
  });
}
Tensor entropy_of_classes(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o, bool wide) {
  check_smoothing(o);
  const CrossEntropy op{{o.ignore_index, o.reduction, o.label_smoothing}, wide};
  return std::move(apply(op, scores(input), class_numbers("cross_entropy", target), o.weight)[0]);
}
Tensor cross_entropy_of_probabilities(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  check_smoothing(o);
  const int dim = class_dim(input.spec());
  check<DTypeError>(is_floating(target.dtype()), [&] {
    return "cross_entropy: expected a floating target, since it has the input's sizes, got " + target.spec().str();
  });
  const std::int64_t classes = input.shape()[dim];
  Tensor t = target;
  if (o.label_smoothing) t = t * (1 - o.label_smoothing) + o.label_smoothing / double(classes);
  Tensor terms = log_softmax(input, dim) * t;
  if (o.weight) {
    Shape ones = Shape::filled(input.dim(), 1);
    ones[dim] = classes;
    terms = terms * reshape(o.weight, ones);
  }
  if (o.reduction == Reduction::none) return -sum(terms, dim);
  if (o.reduction == Reduction::sum) return -sum(terms);
  return -sum(terms) / (double(input.numel()) / double(classes));
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& o) {
  const bool of_classes = !input.dim() || target.shape() != input.shape();
  if (const amp::CastScope cast{amp::Name::cross_entropy, input, target}) {
    const bool wide = of_classes && bit(input.dtype()) & dtypes::halves;
    if (wide) return entropy_of_classes(input, target, cast.options(o), true);
    return cross_entropy(cast(input), cast(target), cast.options(o));
  }
  return of_classes ? entropy_of_classes(input, target, o, false) : cross_entropy_of_probabilities(input, target, o);
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& o) {
  if (const amp::CastScope cast{amp::Name::nll_loss, input}) return nll_loss(cast(input), target, cast.options(o));
  const NllLoss op{{o.ignore_index, o.reduction, 0}};
  return std::move(apply(op, input, class_numbers("nll_loss", target), o.weight)[0]);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(cross_entropy_backward, CrossEntropyBackward);
NEURA_DEFINE_OPERATION(cross_entropy, CrossEntropy);
NEURA_DEFINE_OPERATION(nll_loss_backward, NllLossBackward);
NEURA_DEFINE_OPERATION(nll_loss, NllLoss);
