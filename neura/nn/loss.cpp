#include "neura/nn/loss.h"

#include "neura/ops/create/create.h"

namespace neura::nn {

#define FIELD(name) .name = name,
#define LOSS(Name, function, Taken, fields, ...) \
  NEURA_LAYER_BODY(Name)                         \
  Tensor Name::forward(const Tensor& input, const Tensor& target) const { return function(input, target, {fields}); }
#define LOSS3(Name, function, na, nb, nc, Taken, fields, ...) \
  NEURA_LAYER_BODY(Name)                                      \
  Tensor Name::forward(const Tensor& a, const Tensor& b, const Tensor& c) const { return function(a, b, c, {fields}); }
#include "neura/nn/losses.def"

NEURA_LAYER_BODY(CTCLoss)
NEURA_LAYER_BODY(CosineSimilarity)
NEURA_LAYER_BODY(PairwiseDistance)
Lengths::Lengths(const std::vector<std::int64_t>& v) : numbers(tensor(v)) {}
Tensor CTCLoss::forward(const Tensor& log_probs, const Tensor& targets, const Lengths& input_lengths,
                        const Lengths& target_lengths) const {
  return ctc_loss(log_probs, targets, input_lengths.numbers, target_lengths.numbers,
                  {blank_class, reduction, zero_infinity});
}
Tensor CosineSimilarity::forward(const Tensor& x1, const Tensor& x2) const {
  return cosine_similarity(x1, x2, dim, eps);
}
Tensor PairwiseDistance::forward(const Tensor& x1, const Tensor& x2) const {
  return pairwise_distance(x1, x2, norm, eps, keepdim);
}

}  // namespace neura::nn
