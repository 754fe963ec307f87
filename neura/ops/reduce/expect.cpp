#include "neura/ops/reduce/expect.h"

#include <cstdio>
#include <cstring>
#include <memory>

#include "neura/backend/kernels/index.h"
#include "neura/core/wrapped.h"
#include "neura/op/apply.h"
#include "neura/op/defer.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

const char* sentence(Rule rule) {
  switch (rule) {
    case Rule::divisors:
      return "division: expected integers other than 0 to divide by, got 0";
    case Rule::unit_inputs:
      return "binary_cross_entropy: expected an input between 0 and 1, got other elements; for any numbers use "
             "binary_cross_entropy_with_logits";
    case Rule::variances:
      return "gaussian_nll_loss: expected a var of at least 0, got a negative element";
    case Rule::probabilities:
      return "bernoulli: expected values of at least 0 and at most 1, got others";
    case Rule::rates:
      return "poisson: expected values of at least 0, got others";
    case Rule::deviations:
      return "normal: expected std of at least 0, got a negative element";
    case Rule::weights:
      return "multinomial: expected finite weights of at least 0, got others";
    case Rule::enough_weights:
      return "multinomial: expected a weight above 0 in every row, got none in one";
    case Rule::quantiles:
      return "quantile: expected q between 0 and 1";
    case Rule::observation_weights:
      return "cov: expected fweights and aweights that are not negative";
    case Rule::weight_sum:
      return "cov: expected weights that do not sum to 0";
    case Rule::windows:
      return "istft: expected windows whose squares add up to more than 0 everywhere; take a smaller hop_length, "
             "another window or a shorter length";
    case Rule::phase:
      return "backward: expected a function of eigenvectors or singular vectors that does not depend on their phase, "
             "got one that does, and has no derivative";
    case Rule::lengths:
      return "ctc_loss: expected input_lengths and target_lengths within the sizes of log_probs and targets, got "
             "others";
    case Rule::offsets:
      return "embedding_bag: expected offsets that begin with 0, never fall and stay within the numbers, got others";
    case Rule::pieces:
      return "segment_reduce: expected pieces within the elements of the axis, one after the other, which lengths fill "
             "up if unsafe is not set";
    case Rule::samples:
      return "fractional_max_pool: expected _random_samples within [0, 1], got others";
    case Rule::bytes:
      return "view: expected bytes 0 and 1 for bool, got others; use to()";
    case Rule::fillers:
      return "masked_fill: expected a value that the dtype of input holds, got another";
    case Rule::zero_points:
      return "quantize: expected zero_point within quant_min and quant_max, got another";
    case Rule::coordinates:
      return "GatherND, ScatterND: expected coordinates within the sizes, got others; the model or its input is "
             "damaged";
  }
  return "";
}

// The operand: int64 [1], 1 where the rule is broken. That is an index out of a vector of one element, which every back
// end knows how to report; the report bears the sentence as the operation's name.
struct Expect {
  static constexpr Operation op = operation("expect");
  Rule rule;
  NEURA_FIELDS(rule)
  void infer(const Spec& broken, Spec& same) const { same = Spec::dense(broken.dtype, broken.sizes(), broken.device); }
  void run(Context& c, View broken, View same) const {
    Context told(c.backend, c.device, sentence(rule));
    c.backend.index->select(told, broken, broken, same, 0);
    hand_on(c, told);
  }
};

}  // namespace

void hand_on(Context& call, const Context& told) {
  call.fail(told.failure);
  if (!told.failed) return;
  // On the heap: a library's thread-local data must fit into a block of fixed size.
  thread_local const auto kept = std::make_unique<DeviceFailure>();
  DeviceFailure& failure = *kept;
  failure.kind = DeviceFailure::index, failure.op[0] = '\0';
  if (std::strchr(told.op, ' ')) {  // a sentence
    std::snprintf(failure.text, sizeof failure.text, "%s", told.op);
  } else {
    std::snprintf(failure.op, sizeof failure.op, "%s", told.op);
    std::snprintf(failure.text, sizeof failure.text, "expected indices from 0 to %lld, got %lld",
                  static_cast<long long>(told.bound() - 1), static_cast<long long>(told.value()));
  }
  call.fail(&failure);
}

void expect(Rule rule, const Tensor& holds) {
  if (!holds.numel()) return;
  const Tensor broken = logical_not(all(innermost(holds).detach()));  // of a batch, too
  apply(Expect{rule}, reshape(broken.to(DType::int64), {1}));
}

bool host_looks(const Tensor& t) { return t.device().is_cpu() && !is_traced(); }

}  // namespace neura

NEURA_DEFINE_OPERATION(expect, Expect);
