// Checkpointed modules: the numbers, names and randomness of the plain ones, for less memory and a second forward.
#include "neura/nn/checkpoint.h"

#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/core/memory.h"
#include "neura/core/random.h"
#include "neura/nn/nn.h"
#include "neura/op/autocast.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/optim/optimizers.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::nn {
namespace {

using test::error_of;
using test::sample;

Ref<Sequential> network() {
  return make<Sequential>(std::vector<std::pair<std::string, Ref<Module>>>{
      {"first", make<Linear>(6, 16)},
      {"norm", make<BatchNorm1d>(16)},
      {"act", make<GELU>()},
      {"drop", make<Dropout>(0.3)},
      {"block", make<Sequential>(Linear(16, 16), Tanh(), Dropout(0.2))},
      {"last", make<Linear>(16, 1)}});
}
template <class Net> std::vector<float> losses(Net& net, int steps = 20) {
  optim::Adam adam(net.parameters(), {.lr = 0.01});
  const Tensor x = sample({32, 6}), y = sin(sum(x, 1, true));
  std::vector<float> all;
  manual_seed(3);
  for (int i = 0; i < steps; ++i) {
    adam.zero_grad();
    const Tensor loss = mse_loss(net(x), y);
    loss.backward();
    adam.step();
    all.push_back(loss.item<float>());
  }
  return all;
}

TEST(CheckpointModule, TrainsAsThePlainOneBitForBit) {
  for (const std::int64_t segments : {1, 2, 3, 6}) {
    SCOPED_TRACE(segments);
    manual_seed(1);
    const Ref<Sequential> plain = network();
    manual_seed(1);
    CheckpointModule checked(network(), {.segments = segments});
    const std::vector<float> want = losses(*plain);
    EXPECT_LT(want.back(), want.front());
    EXPECT_EQ(losses(checked), want);
    const StateDict a = checked.state_dict(), b = plain->state_dict();
    ASSERT_EQ(a.keys(), b.keys());
    for (const auto& [name, t] : b) test::expect_same(a.at(name), t);  // running statistics, too: counted once
  }
}

TEST(CheckpointModule, ShowsTheMembersOfItsSequential) {
  const Ref<Sequential> plain = network();
  CheckpointModule checked(plain, {.segments = 2});
  const auto names = [](const auto& named) {
    std::vector<std::string> all;
    for (const auto& [name, unused] : named) all.push_back(name);
    return all;
  };
  EXPECT_EQ(names(checked.named_parameters()), names(plain->named_parameters()));
  EXPECT_EQ(names(checked.named_buffers()), names(plain->named_buffers()));
  EXPECT_EQ(names(checked.named_modules()), names(plain->named_modules()));
  EXPECT_EQ(names(checked.named_children()), names(plain->named_children()));
  EXPECT_TRUE(checked.get_parameter("block.0.weight").is_same(plain->get_parameter("block.0.weight")));
  checked.eval();
  EXPECT_FALSE(plain->get_submodule("block.2")->is_training());
  test::expect_same(checked(sample({2, 6})).detach(), (*plain)(sample({2, 6})).detach());
  EXPECT_EQ(checked.str().find("CheckpointModule(\n  segments=2\n  (first): Linear("), 0u);
  const auto copy = checked.clone();
  EXPECT_EQ(copy->segments, 2);
  EXPECT_FALSE(copy->get_parameter("first.bias").is_same(checked.get_parameter("first.bias")));
}

const Tensor& first_of(const Value& v) { return std::get<Tensor>(v.get<List>()->items[0].v); }
TEST(CheckpointModule, TakesAnyModule) {
  manual_seed(1);
  const Ref<LSTM> lstm = make<LSTM>(3, 4);
  const Ref<MultiheadAttention> attention = make<MultiheadAttention>(4, 2);
  CheckpointModule a(lstm), b(attention);
  EXPECT_EQ(a.named_children()[0].first, "module");
  const Tensor x = sample({5, 2, 3}).requires_grad_();
  Tensor gradients[2];
  for (const bool checked : {false, true}) {
    Module& first = checked ? static_cast<Module&>(a) : *lstm;
    Module& second = checked ? static_cast<Module&>(b) : *attention;
    const Tensor h = first_of(first.call({{x}, {}}));
    sum(square(first_of(second.call({{h, h}, {{"value", h}, {"need_weights", false}}})))).backward();
    gradients[checked] = x.grad();
    Tensor(x).set_grad({});
  }
  test::expect_same(gradients[1], gradients[0]);
}

TEST(CheckpointModule, NestsAndKeepsRegionsOfAutocast) {
  manual_seed(1);
  const Ref<Sequential> plain = network();
  const Ref<Module> inner = make<CheckpointModule>(plain, CheckpointModuleOptions{.segments = 3});
  CheckpointModule outer(inner);
  std::vector<Tensor> want;
  for (Module* net : {static_cast<Module*>(plain.get()), static_cast<Module*>(&outer)}) {
    manual_seed(2);
    Tensor y;
    {
      const amp::Autocast region(Device(), DType::bfloat16);
      y = unbox<Tensor>(net->call({{sample({8, 6})}, {}}));
    }
    sum(square(y.to(DType::float32))).backward();
    std::size_t i = 0;
    for (const Tensor& p : plain->parameters()) {
      if (want.size() < plain->parameters().size()) want.push_back(p.grad());
      else test::expect_same(p.grad(), want[i++]);
      Tensor(p).set_grad({});
    }
  }
}

TEST(CheckpointModule, TakesLessMemoryForADeepNetwork) {
  std::vector<Ref<Module>> layers;
  for (int i = 0; i < 24; ++i) layers.push_back(make<Tanh>());
  Sequential plain(layers);
  CheckpointModule checked(make<Sequential>(layers), {.segments = 5});
  const auto peak = [&](auto& net) {
    const Tensor x = sample({1 << 20}).requires_grad_();
    reset_peak_memory_stats();
    const std::size_t before = memory_allocated();
    sum(net(x)).backward();
    return double(max_memory_allocated() - before) / double(x.nbytes());
  };
  EXPECT_GT(peak(plain), 24);
  EXPECT_LT(peak(checked), 15);
}

TEST(CheckpointModule, NamesMistakes) {
  EXPECT_EQ(error_of<ValueError>([] { CheckpointModule(Ref<Module>()); }),
            "CheckpointModule: expected a module, got none");
  EXPECT_EQ(error_of<ValueError>([] { CheckpointModule(network(), {.segments = 7}); }),
            "CheckpointModule: expected 1 to 6 segments, got 7");
}

}  // namespace
}  // namespace neura::nn
