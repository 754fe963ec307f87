// A softmax over many classes, most of them rare.
#pragma once
#include "neura/core/device_scope.h"
#include "neura/nn/container.h"
#include "neura/nn/linear.h"

namespace neura::nn {

struct AdaptiveLogSoftmaxOptions {
  double div_value = 4;    // cluster i projects the input to in_features / div_value^(i + 1) features
  bool head_bias = false;  // of the head
  Device device = default_device();
  std::optional<DType> dtype = {};
  NEURA_ARGUMENTS(div_value, head_bias, device, dtype)
};
// Classes are numbered from frequent to rare, and cut into clusters before those of `cutoffs`. The head scores the
// classes of the first one and the other clusters, each of which scores its own classes only where it is needed (Grave
// et al., 2017). input [N, in_features] and target [N], or [in_features] and one number -> the logarithms of the
// targets' probabilities, and the mean of their negatives.
struct AdaptiveLogSoftmaxWithLoss final : Module {
  NEURA_INIT(AdaptiveLogSoftmaxWithLoss, std::int64_t in_features, std::int64_t n_classes,
             const std::vector<std::int64_t>& cutoffs, const AdaptiveLogSoftmaxOptions& = {});
  explicit AdaptiveLogSoftmaxWithLoss(Blank);
  std::tuple<Tensor, Tensor> forward(const Tensor& input, const Tensor& target);
  Tensor log_prob(const Tensor& input);  // [N, n_classes]
  Tensor predict(const Tensor& input);   // the likeliest class of each, [N]
  void reset_parameters();

  std::int64_t in_features = 0, n_classes = 0;
  std::vector<std::int64_t> cutoffs;  // and n_classes
  double div_value = 4;
  bool head_bias = false;
  std::int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
  Child<Linear> head;
  Child<ModuleList> tail;  // of each cluster Sequential(Linear, Linear)
  NEURA_LAYER(AdaptiveLogSoftmaxWithLoss, in_features, n_classes, cutoffs, div_value, head_bias, shortlist_size,
              n_clusters, head_size, head, tail)
  NEURA_FORWARD("input", "target")

 private:
  void check_members() const;
  Tensor of_cluster(std::int64_t i, const Tensor& input);
  Tensor all_log_probs(const Tensor& input, const Tensor& head_scores);
};

}  // namespace neura::nn
