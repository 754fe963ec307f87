// Forty steps of training, loss by loss as PyTorch had them (make_training.py).
#include <gtest/gtest.h>

#include <cstdlib>

#include "neura/io/safetensors.h"
#include "neura/nn/activation.h"
#include "neura/nn/clip.h"
#include "neura/nn/container.h"
#include "neura/nn/conv.h"
#include "neura/nn/linear.h"
#include "neura/nn/norm.h"
#include "neura/nn/pool.h"
#include "neura/ops/loss/loss.h"
#include "neura/optim/lr_scheduler.h"
#include "neura/optim/optimizers.h"
#include "tests/support/close.h"

namespace neura {
namespace {

TEST(Training, RepeatsPyTorchsLosses) {
  const char* source = std::getenv("NEURA_SOURCE");
  if (!source) GTEST_SKIP() << "NEURA_SOURCE is not set: run it by ctest";
  const nn::StateDict stored = load(std::string(source) + "/tests/golden/training.safetensors");
  auto net =
      nn::make<nn::Sequential>(nn::Conv2d(1, 4, 3, {.padding = 1}), nn::BatchNorm2d(4), nn::GELU(), nn::MaxPool2d(2),
                               nn::Flatten(), nn::Linear(64, 16), nn::LayerNorm({16}), nn::Tanh(), nn::Linear(16, 5));
  net->to(float64);
  nn::StateDict start, end = net->state_dict();
  for (const auto& [name, t] : end) start.set(name, stored.at(name));
  net->load_state_dict(start);
  optim::AdamW optimizer(net->parameters(), {.lr = 3e-3, .weight_decay = 0.1});
  optim::lr_scheduler::CosineAnnealingLR schedule(optimizer, 40);
  const std::vector<double> want = stored.at("losses").to_vector<double>();
  for (std::size_t i = 0; i < want.size(); ++i) {
    Tensor loss = cross_entropy((*net)(stored.at("x")), stored.at("y"), {.label_smoothing = 0.1});
    ASSERT_NEAR(loss.item<double>(), want[i], 1e-9) << "step " << i;
    optimizer.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(net->parameters(), 1.0);
    optimizer.step();
    schedule.step();
  }
  for (const auto& [name, t] : net->state_dict())
    EXPECT_TRUE(test::close(t, stored.at("after." + name), {1e-9, 1e-9})) << name;
}

}  // namespace
}  // namespace neura
