// Losses, and steps of optimizers (ai.onnx.preview.training).
#include <cmath>

#include "neura/onnx/operators.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/view.h"

namespace neura::onnx {
namespace {

BoundNode likelihood(const Node& n) {
  NllLossOptions o;
  o.reduction = to_reduction(n.text("reduction", "mean"));
  o.ignore_index = n.integer("ignore_index", -100);
  const bool from_scores = n.op == "SoftmaxCrossEntropyLoss";
  return [o, from_scores](const Operands& x) -> Results {
    NllLossOptions with = o;
    if (x.has(2)) with.weight = x[2];
    const Tensor log_p = from_scores ? log_softmax(x[0], 1) : x[0];
    return {Value(nll_loss(log_p, x[1].to(int64), with)), Value(log_p)};
  };
}

// Several tensors share one rate and one count of steps: rate, count, then all tensors, all gradients, all states.
template <class Step> Results each(const Operands& x, int states, Step step) {
  const std::size_t n = (x.size() - 2) / std::size_t(2 + states);
  if (n == 0 || 2 + n * std::size_t(2 + states) != x.size())
    refuse("optimizer", "a tensor, a gradient and states each", std::to_string(x.size()) + " operands");
  std::vector<Results> all;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<Tensor> t;
    for (int k = 0; k < 2 + states; ++k) t.push_back(x[2 + std::size_t(k) * n + i]);
    all.push_back(step(x.real(0), x.integer(1), t));
  }
  Results out;
  for (std::size_t k = 0; k < all[0].size(); ++k)
    for (const Results& r : all) out.push_back(r[k]);
  return out;
}
Tensor regularised(const Tensor& x, const Tensor& g, double by) { return by == 0 ? g : add(g, mul(x, by)); }

BoundNode momentum(const Node& n) {
  const double alpha = n.real("alpha", 0), beta = n.real("beta", 0), decay = n.real("norm_coefficient", 0);
  const bool nesterov = n.text("mode", "standard") == "nesterov";
  return [=](const Operands& x) {
    return each(x, 1, [&](double rate, std::int64_t count, const std::vector<Tensor>& t) -> Results {
      const Tensor g = regularised(t[0], t[1], decay), v = add(mul(t[2], alpha), mul(g, count > 0 ? beta : 1));
      return {Value(sub(t[0], mul(nesterov ? add(g, mul(v, alpha)) : v, rate))), Value(v)};
    });
  };
}
BoundNode adagrad(const Node& n) {
  const double slower = n.real("decay_factor", 0), eps = n.real("epsilon", 1e-6), decay = n.real("norm_coefficient", 0);
  return [=](const Operands& x) {
    return each(x, 1, [&](double rate, std::int64_t count, const std::vector<Tensor>& t) -> Results {
      const Tensor g = regularised(t[0], t[1], decay), h = add(t[2], mul(g, g));
      const double r = rate / (1 + double(count) * slower);
      return {Value(sub(t[0], neura::div(mul(g, r), add(sqrt(h), eps)))), Value(h)};
    });
  };
}
BoundNode adam(const Node& n) {
  const double alpha = n.real("alpha", 0.9), beta = n.real("beta", 0.999), eps = n.real("epsilon", 1e-6);
  const double decay = n.real("norm_coefficient", 0), after = n.real("norm_coefficient_post", 0);
  return [=](const Operands& x) {
    return each(x, 2, [&](double rate, std::int64_t count, const std::vector<Tensor>& t) -> Results {
      const Tensor g = regularised(t[0], t[1], decay);
      const Tensor v = add(mul(t[2], alpha), mul(g, 1 - alpha)), h = add(mul(t[3], beta), mul(mul(g, g), 1 - beta));
      const double steps = double(count);
      const double r = count > 0 ? rate * std::sqrt(1 - std::pow(beta, steps)) / (1 - std::pow(alpha, steps)) : rate;
      const Tensor moved = sub(t[0], mul(neura::div(v, add(sqrt(h), eps)), r));
      return {Value(mul(moved, 1 - after)), Value(v), Value(h)};
    });
  };
}

}  // namespace

std::span<const Operator> loss_operators() {
  constexpr const char* training = "ai.onnx.preview.training";
  constexpr Types plain = Types::plain;
  constexpr Folding never = Folding::never;
  static const Operator rows[] = {
      {"NegativeLogLikelihoodLoss", 12, kNewest, likelihood},
      {"SoftmaxCrossEntropyLoss", 12, kNewest, likelihood},
      {"Momentum", 1, kNewest, momentum, plain, never, training},
      {"Adagrad", 1, kNewest, adagrad, plain, never, training},
      {"Adam", 1, kNewest, adam, plain, never, training},
  };
  return rows;
}

}  // namespace neura::onnx
