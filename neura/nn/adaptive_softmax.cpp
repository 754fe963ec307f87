#include "neura/nn/adaptive_softmax.h"

#include <cmath>

#include "neura/op/call_error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"

namespace neura::nn {
namespace {

constexpr const char* kName = "AdaptiveLogSoftmaxWithLoss";

void check_cutoffs(const std::vector<std::int64_t>& cutoffs, std::int64_t classes) {
  bool rising = !cutoffs.empty() && cutoffs.back() < classes;
  for (std::size_t i = 0; i < cutoffs.size(); ++i) rising &= cutoffs[i] > (i ? cutoffs[i - 1] : 0);
  check<ValueError>(rising, [&] {
    return std::string(kName) + ": expected cutoffs that rise from above 0 to below n_classes " +
           std::to_string(classes) + ", got " + Shape(cutoffs.data(), cutoffs.size()).str();
  });
}

void check_operands(const Tensor& input, const Tensor& target) {
  check_given(kName, "input", input), check_given(kName, "target", target);
  check<ShapeError>(target.dim() <= 1 && input.dim() == target.dim() + 1, [&] {
    return std::string(kName) + ": expected an input [N, in_features] and a target [N], or both without N, got " +
           input.shape().str() + " and " + target.shape().str();
  });
  check<ShapeError>(target.dim() == 0 || input.size(0) == target.size(0), [&] {
    return std::string(kName) + ": expected an input and a target of one batch size, got " +
           std::to_string(input.size(0)) + " and " + std::to_string(target.size(0));
  });
}
void check_classes(const Tensor& target, std::int64_t classes) {
  if (!target.numel() || !target.device().is_cpu()) return;  // a device reports them: by gather
  const auto least = amin(target).item<std::int64_t>(), most = amax(target).item<std::int64_t>();
  check<IndexError>(least >= 0 && most < classes, [&] {
    return std::string(kName) + ": expected targets from 0 to " + std::to_string(classes - 1) + ", got " +
           std::to_string(least < 0 ? least : most);
  });
}

// The only wait for the device: the host must know the sizes of what each cluster computes.
std::vector<std::int64_t> count_each(const Tensor& x, std::int64_t kinds) {
  const Tensor kind = arange(kinds, {.device = x.device()});
  return sum(eq(unsqueeze(x, 1), kind), 0).to(Device()).to_vector<std::int64_t>();
}

}  // namespace

NEURA_LAYER_BODY(AdaptiveLogSoftmaxWithLoss)

AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(std::int64_t in_features, std::int64_t n_classes,
                                                       const std::vector<std::int64_t>& bounds,
                                                       const AdaptiveLogSoftmaxOptions& o)
    : in_features(in_features), n_classes(n_classes), cutoffs(bounds), div_value(o.div_value), head_bias(o.head_bias) {
  check_cutoffs(bounds, n_classes);
  check<ValueError>(div_value > 0, [&] {
    return std::string(kName) + ": expected a positive div_value, got " + Scalar(div_value).str();
  });
  cutoffs.push_back(n_classes);
  shortlist_size = cutoffs[0], n_clusters = std::int64_t(cutoffs.size()) - 1, head_size = shortlist_size + n_clusters;
  head = make<Linear>(in_features, head_size, LinearOptions{.bias = head_bias, .device = o.device, .dtype = o.dtype});
  const LinearOptions plain{.bias = false, .device = o.device, .dtype = o.dtype};
  tail = make<ModuleList>();
  for (std::int64_t i = 0; i < n_clusters; ++i) {
    const auto width = std::int64_t(std::floor(double(in_features) / std::pow(div_value, double(i + 1))));
    tail->append(make<Sequential>(Linear(in_features, width, plain),
                                  Linear(width, cutoffs[std::size_t(i) + 1] - cutoffs[std::size_t(i)], plain)));
  }
}
AdaptiveLogSoftmaxWithLoss::AdaptiveLogSoftmaxWithLoss(Blank) : head(make<Linear>(1, 1)), tail(make<ModuleList>()) {}

// Members may have been taken away.
void AdaptiveLogSoftmaxWithLoss::check_members() const {
  bool whole = head.get() && tail.get() && std::int64_t(tail->size()) == n_clusters;
  if (whole)
    for (const Ref<Module>& cluster : *tail.get()) whole = whole && cluster.get();
  check<ValueError>(whole, [&] {
    return std::string(kName) + ": expected a head, and a tail of " + std::to_string(n_clusters) + " modules, got " +
           (head.get() ? "another tail" : "no head");
  });
}

void AdaptiveLogSoftmaxWithLoss::reset_parameters() {
  check_members();
  head->reset_parameters();
  for (const Ref<Module>& cluster : *tail.get())
    if (auto* layers = cluster->as<Sequential>())
      for (const Ref<Module>& layer : *layers)
        if (auto* linear = layer.get() ? layer->as<Linear>() : nullptr) linear->reset_parameters();
}

Tensor AdaptiveLogSoftmaxWithLoss::of_cluster(std::int64_t i, const Tensor& input) {
  return log_softmax(tail->at<Sequential>(i)(input), 1);
}

std::tuple<Tensor, Tensor> AdaptiveLogSoftmaxWithLoss::forward(const Tensor& input, const Tensor& target) {
  check_members();
  check_operands(input, target);
  check_classes(target, n_classes);
  const bool batched = target.dim() == 1;
  const Tensor x = batched ? input : unsqueeze(input, 0), classes = batched ? target : unsqueeze(target, 0);
  // How many cutoffs a class reaches: 0 for the shortlist, i + 1 for cluster i. A class that does not exist thus gets
  // an index outside the head, which gather refuses.
  const Tensor cluster = bucketize(classes, tensor(cutoffs, {.device = x.device()}), false, true);
  const Tensor place = where(lt(cluster, 1), classes, cluster + (shortlist_size - 1));
  const Tensor order = argsort(cluster, 0, false, true);
  const std::vector<std::int64_t> counts = count_each(cluster, n_clusters + 1);
  Tensor output = new_zeros(x, {x.size(0)});
  std::int64_t begin = counts[0];
  for (std::int64_t i = 0; i < n_clusters; ++i) {
    const Tensor rows = narrow(order, 0, begin, counts[std::size_t(i) + 1]);
    begin += rows.numel();
    if (!rows.numel()) continue;
    const Tensor own = unsqueeze(index_select(classes, 0, rows) - cutoffs[std::size_t(i)], 1);
    output = index_add(output, 0, rows, squeeze(gather(of_cluster(i, index_select(x, 0, rows)), 1, own), 1));
  }
  output = output + squeeze(gather(log_softmax(head(x), 1), 1, unsqueeze(place, 1)), 1);
  const Tensor loss = mean(-output);
  return {batched ? output : squeeze(output, 0), loss};
}

Tensor AdaptiveLogSoftmaxWithLoss::all_log_probs(const Tensor& input, const Tensor& head_scores) {
  const Tensor of_head = log_softmax(head_scores, 1);
  std::vector<Tensor> parts{narrow(of_head, 1, 0, shortlist_size)};
  for (std::int64_t i = 0; i < n_clusters; ++i)
    parts.push_back(of_cluster(i, input) + narrow(of_head, 1, shortlist_size + i, 1));
  return cat(parts, 1);
}
Tensor AdaptiveLogSoftmaxWithLoss::log_prob(const Tensor& input) {
  check_members();
  return all_log_probs(input, head(input));
}

// Evaluates clusters only for the samples for which one of them, as a whole, is likelier than every class of the head.
Tensor AdaptiveLogSoftmaxWithLoss::predict(const Tensor& input) {
  check_members();
  const Tensor scores = head(input), best = argmax(scores, 1);
  const Tensor rows = nonzero_as_tuple(best >= shortlist_size)[0];
  if (!rows.numel()) return best;
  const Tensor all = all_log_probs(index_select(input, 0, rows), index_select(scores, 0, rows));
  return index_copy(best, 0, rows, argmax(all, 1));
}

}  // namespace neura::nn
