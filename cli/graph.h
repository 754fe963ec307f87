// The device's part of a training step, forward and backward, as one CUDA graph: a launch instead of hundreds.
#pragma once
#include <functional>
#include <optional>

#include "neura/cuda/graph.h"
#include "neura/nn/module.h"

namespace neura::cli {

enum class GraphMode { automatic, on, off };

class StepGraph {
 public:
  using Work = std::function<void(const Tensor& images, const Tensor& labels)>;
  // `work` clears the gradients of `model`, computes them for a batch, and waits for nothing.
  StepGraph(nn::Module& model, Device, std::int64_t batch_size, Work work);
  // Does the work of a batch; false where it must be done without the graph: until libraries and memory are warm, and
  // for a batch of another size. Throws what ends the capture; nothing was computed then.
  bool run(const Tensor& images, const Tensor& labels);

 private:
  void capture(const Tensor& images, const Tensor& labels);

  cuda::Graph graph_;
  std::int64_t batch_size_;
  Work work_;
  std::vector<Tensor> parameters_, gradients_;  // gradients: those that the graph writes
  Tensor images_, labels_;                      // that it reads
  int warm_ = 0;
};

}  // namespace neura::cli
