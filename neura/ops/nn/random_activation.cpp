#include "neura/ops/nn/random_activation.h"

#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"

namespace neura {

Tensor rrelu(const Tensor& input, double lower, double upper, bool training) {
  check<ValueError>(lower <= upper, [&] {
    return "rrelu: expected lower <= upper, got " + Scalar(lower).str() + " and " + Scalar(upper).str();
  });
  if (!training) return leaky_relu(input, {(lower + upper) / 2});
  const Tensor slope = rand_like(input) * (upper - lower) + lower;
  return where(input > 0, input, input * slope);
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int dim) {
  check<ValueError>(tau > 0, [&] { return "gumbel_softmax: expected tau above 0, got " + Scalar(tau).str(); });
  Tensor waiting = empty_like(logits.detach());
  exponential_(waiting);
  const Tensor soft = softmax((logits - log(waiting)) / tau, dim);
  if (!hard) return soft;
  const Tensor best = argmax(soft.detach(), dim, true);
  return scatter(zeros_like(soft.detach()), dim, best, Scalar(1.0)) - soft.detach() + soft;
}

}  // namespace neura
