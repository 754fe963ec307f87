#include "cli/graph.h"

namespace neura::cli {
namespace {

constexpr int kWarmSteps = 3;  // optimizers make their states, libraries choose their kernels

}  // namespace

StepGraph::StepGraph(nn::Module& model, Device device, std::int64_t batch_size, Work work)
    : graph_(device), batch_size_(batch_size), work_(std::move(work)), parameters_(model.parameters()) {}

void StepGraph::capture(const Tensor& images, const Tensor& labels) {
  images_ = images.clone(), labels_ = labels.clone();
  graph_.capture([this] { work_(images_, labels_); });
  for (const Tensor& p : parameters_) gradients_.push_back(p.grad());
}

bool StepGraph::run(const Tensor& images, const Tensor& labels) {
  if (images.size(0) != batch_size_) return false;
  if (warm_ < kWarmSteps) return ++warm_, false;
  if (gradients_.empty()) {
    capture(images, labels);
  } else {
    images_.copy_(images), labels_.copy_(labels);
    for (std::size_t i = 0; i < parameters_.size(); ++i)  // a step without the graph had others
      if (!parameters_[i].grad().is_same(gradients_[i])) parameters_[i].set_grad(gradients_[i]);
  }
  graph_.replay();
  return true;
}

}  // namespace neura::cli
