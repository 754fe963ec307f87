// A training step gives back all that it took, and its backward gives back what it has used while it goes on.
#include <gtest/gtest.h>

#include <memory>

#include "neura/autograd/autograd.h"
#include "neura/core/memory.h"
#include "neura/nn/nn.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/optim/optimizers.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::optim {
namespace {

struct Network {
  Ref<nn::Module> net;
  Tensor input, labels;
};
Network mlp() {
  std::int64_t i = 0;
  return {nn::make<nn::Sequential>(nn::Linear(300, 500), nn::ReLU(), nn::Linear(500, 500), nn::Tanh(), nn::Dropout(0.2),
                                   nn::Linear(500, 10)),
          test::sample({1000, 300}), test::from_loop({1000}, int64, [&](const Shape&) { return i++ % 10; })};
}
Network cnn() {
  std::int64_t i = 0;
  return {nn::make<nn::Sequential>(nn::Conv2d(3, 8, 3, {.padding = 1}), nn::BatchNorm2d(8), nn::ReLU(),
                                   nn::MaxPool2d(2), nn::Conv2d(8, 16, 3), nn::GroupNorm(4, 16), nn::GELU(),
                                   nn::AdaptiveAvgPool2d(4), nn::Flatten(), nn::Linear(256, 10)),
          test::sample({32, 3, 32, 32}), test::from_loop({32}, int64, [&](const Shape&) { return i++ % 10; })};
}
Tensor output(const Network& n) { return nn::unbox<Tensor>(n.net->call({{n.input}, {}})); }

void expect_base(const Network& n) {
  Adam adam(n.net->parameters(), {.lr = 1e-3});
  const auto step = [&] {
    adam.zero_grad();
    const Tensor loss = cross_entropy(output(n), n.labels);
    loss.backward();
    adam.step();
    return loss.item<double>();
  };
  step();  // makes gradients and state, which stay
  const std::size_t base = memory_allocated();
  std::size_t first = 0;
  for (int i = 0; i < 5; ++i) {
    reset_peak_memory_stats();
    EXPECT_TRUE(std::isfinite(step()));
    EXPECT_EQ(memory_allocated(), base) << "after step " << i;
    const std::size_t peak = max_memory_allocated();
    EXPECT_GT(peak, base + n.input.nbytes());  // a step that keeps nothing is none
    if (i == 0) first = peak;
    EXPECT_LE(peak, first + memory::kHuge) << "step " << i << " takes more than the first";
  }
}
TEST(TrainingMemory, OfAPerceptronReturnsToItsBase) { expect_base(mlp()); }
TEST(TrainingMemory, OfAConvolutionalNetworkReturnsToItsBase) { expect_base(cnn()); }

TEST(TrainingMemory, AForwardWithoutRecordKeepsOneResult) {
  const Network n = mlp();
  const NoGrad off;
  output(n);
  const std::size_t base = memory_allocated();
  {
    const Tensor y = output(n);
    EXPECT_LE(memory_allocated(), base + 2 * y.nbytes());
  }
  EXPECT_EQ(memory_allocated(), base);
}

TEST(TrainingMemory, BackwardReleasesWhatItHasUsed) {
  Tensor h = test::sample({300000}).requires_grad_();
  std::vector<std::size_t> seen;  // when the gradient of each layer's result arrives, from the last to the first
  for (int layer = 0; layer < 8; ++layer) {
    h = sin(h);
    register_hook(h, [&](const Tensor&) { return seen.push_back(memory_allocated()), Tensor(); });
  }
  Tensor loss = sum(h);
  h = {};
  loss.backward();
  ASSERT_EQ(seen.size(), 8u);
  for (std::size_t i = 2; i < seen.size(); ++i) EXPECT_LT(seen[i] + 1000000, seen[i - 1]) << "layer " << 8 - i;
}

}  // namespace
}  // namespace neura::optim
