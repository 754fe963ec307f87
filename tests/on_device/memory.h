// What training takes of a device's memory, and gives back.
#pragma once
#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/core/memory.h"
#include "neura/graph/automatic_replay.h"
#include "neura/nn/activation.h"
#include "neura/nn/checkpoint.h"
#include "neura/nn/container.h"
#include "neura/nn/linear.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/optim/optimizers.h"
#include "tests/support/sample.h"

namespace neura::test {

// Between the inner values of 18 layers, and those of 4 segments with what goes from segment to segment.
inline void expect_checkpoints_take_less(Device device) {
  std::vector<Ref<nn::Module>> layers;
  for (int i = 0; i < 18; ++i) layers.push_back(nn::make<nn::Tanh>());
  nn::Sequential plain(layers);
  nn::CheckpointModule checked(nn::make<nn::Sequential>(layers), {.segments = 4});
  const auto peak = [&](auto& net) {  // in tensors of the input's size
    const Tensor x = sample({600000}).to(device).requires_grad_();
    reset_peak_memory_stats(device);
    const std::size_t before = memory_allocated(device);
    sum(net(x)).backward();
    return double(max_memory_allocated(device) - before) / double(x.nbytes());
  };
  EXPECT_GT(peak(plain), 18);
  EXPECT_LT(peak(checked), 13);
}

// Without automatic replay, whose graphs keep memory of their own.
inline void expect_steps_return_to_their_base(Device device) {
  graph::automatic_replay(false);
  nn::Sequential net{nn::Linear(300, 500), nn::ReLU(), nn::Linear(500, 10)};
  net.to(device);
  const Tensor x = sample({256, 300}).to(device), y = zeros({256}, {.dtype = int64, .device = device});
  optim::Adam adam(net.parameters(), {.lr = 1e-3});
  const auto step = [&] {
    adam.zero_grad();
    const Tensor loss = cross_entropy(net(x), y);
    loss.backward();
    adam.step();
    return loss.item<double>();  // waits
  };
  step();  // makes gradients and state, which stay
  const std::size_t base = memory_allocated(device);
  for (int i = 0; i < 5; ++i) {
    reset_peak_memory_stats(device);
    step();
    EXPECT_EQ(memory_allocated(device), base) << "after step " << i;
    EXPECT_GT(max_memory_allocated(device), base + x.nbytes());  // a step that keeps nothing is none
  }
  graph::automatic_replay(true);
}

}  // namespace neura::test
