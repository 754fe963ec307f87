// Losses. `reduction`: none keeps the elements, sum and mean make a 0-d tensor; the mean of nothing is NaN.
#pragma once
#include <cstdint>
#include <string_view>

#include "neura/core/reduction.h"
#include "neura/core/tensor.h"

namespace neura {

Reduction to_reduction(std::string_view text);  // "none", "mean" or "sum"; ValueError otherwise

struct ReductionOptions {
  Reduction reduction = Reduction::mean;
};
struct CrossEntropyOptions {
  Tensor weight = {};  // [C]
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0;
};
struct NllLossOptions {
  Tensor weight = {};  // [C]
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
struct SmoothL1LossOptions {
  Reduction reduction = Reduction::mean;
  double beta = 1;
};
struct HuberLossOptions {
  Reduction reduction = Reduction::mean;
  double delta = 1;
  Tensor weight = {};
};
struct WeightedLossOptions {
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
};
struct BceWithLogitsOptions {
  Tensor weight = {};
  Reduction reduction = Reduction::mean;
  Tensor pos_weight = {};
};
struct KlDivOptions {
  Reduction reduction = Reduction::mean;
  bool log_target = false;
  bool batchmean = false;  // the sum over the first size, instead of `reduction`
};
struct PoissonNllLossOptions {
  bool log_input = true, full = false;
  double eps = 1e-8;
  Reduction reduction = Reduction::mean;
};
struct GaussianNllLossOptions {
  bool full = false;
  double eps = 1e-6;
  Reduction reduction = Reduction::mean;
};
struct MarginLossOptions {
  double margin = 0;
  Reduction reduction = Reduction::mean;
};
struct HingeEmbeddingLossOptions {
  double margin = 1;
  Reduction reduction = Reduction::mean;
};
struct TripletMarginLossOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
struct MultiMarginLossOptions {
  int p = 1;
  double margin = 1;
  Tensor weight = {};  // [C]
  Reduction reduction = Reduction::mean;
};

// Of scores [C], [N, C] or [N, C, d1, …] and classes [], [N] or [N, d1, …] (integers), or probabilities of the input's
// shape. IndexError for a class outside [0, C) that is not ignore_index; ShapeError where the shapes do not agree.
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& = {});
// The same of logarithms of probabilities; classes only.
Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& = {});

// Of two tensors of one shape, or one of a single element; ShapeError otherwise.
Tensor mse_loss(const Tensor& input, const Tensor& target, ReductionOptions = {}, const Tensor& weight = {});
Tensor l1_loss(const Tensor& input, const Tensor& target, ReductionOptions = {}, const Tensor& weight = {});
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, SmoothL1LossOptions = {});
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossOptions& = {});
Tensor kl_div(const Tensor& input, const Tensor& target, KlDivOptions = {});
// Probabilities and targets of one shape; logarithms are at least -100. ValueError for other shapes.
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const WeightedLossOptions& = {});
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const BceWithLogitsOptions& = {});

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, PoissonNllLossOptions = {});
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, GaussianNllLossOptions = {});
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, HingeEmbeddingLossOptions = {});
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, MarginLossOptions = {});
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, MarginLossOptions = {});
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           TripletMarginLossOptions = {});
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, ReductionOptions = {});
Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossOptions& = {});
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, ReductionOptions = {});
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, const WeightedLossOptions& = {});

// Distances
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int dim = 1, double eps = 1e-8);
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6, bool keepdim = false);
Tensor normalize(const Tensor& input, double p = 2, const Dims& dim = 1, double eps = 1e-12);

}  // namespace neura
