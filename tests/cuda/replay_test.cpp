// Programs as one launch: the bits of run(), results that stay, random numbers and optimizers that continue.
#include "neura/graph/automatic_replay.h"
#include "neura/graph/replay.h"

#include <chrono>

#include "neura/cuda/device.h"
#include "neura/graph/passes.h"
#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/cuda/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using CudaReplay = CudaTest;

struct Net {
  nn::Linear first{32, 64}, second{64, 10};
  std::vector<Tensor> all;
  std::unique_ptr<optim::Adam> adam;
  Net() {
    for (nn::Linear* l : {&first, &second}) {
      l->to(kCuda);
      for (const Tensor& t : l->parameters()) all.push_back(t);
    }
    adam = std::make_unique<optim::Adam>(all, optim::AdamOptions{.lr = 0.01});
  }
  Tensor operator()(const Tensor& x) { return second(gelu(first(x))); }
  Tensor step(const Tensor& x, const Tensor& target) {
    adam->zero_grad();
    const Tensor loss = cross_entropy((*this)(dropout(x, 0.25)), target);
    loss.backward(), adam->step();
    return loss.detach();
  }
};

TEST_F(CudaReplay, ResultsStayAndAreThoseOfARun) {
  manual_seed(1);
  Net net;
  const auto f = [&](auto in) {
    const NoGrad off;
    const Tensor h = gelu(net.first(in[0]));
    return std::vector{net.second(h), h, in[0]};
  };
  const graph::Program p = optimized(graph::trace(f, {{there(sample({16, 32}))}}));
  graph::Replay replay{graph::Program(p)};
  std::vector<std::vector<Tensor>> got, want;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Tensor x = there(sample({16, 32}, float32, {.seed = i}));
    want.push_back(run(p, {{x}})), got.push_back(replay({{x}}));
    EXPECT_EQ(got[i][2].impl()->data(), x.impl()->data());
  }
  EXPECT_EQ(replay.captures(), 1);
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t k = 0; k < 3; ++k) expect_same(back(got[i][k]), back(want[i][k]));
  EXPECT_EQ(error_of<ShapeError>([&] {
              replay({{there(sample({8, 32}))}});
            }),
            "replay: expected float32 [16, 32] on cuda:0 as input 0, got float32 [8, 32] on cuda:0");
}

TEST_F(CudaReplay, ATrainingStepTrainsOn) {
  manual_seed(1);
  Net a;
  manual_seed(1);
  Net b;
  const auto batch = [](std::uint64_t i) {
    return std::vector{there(sample({16, 32}, float32, {.seed = i})), there(randint(10, {16}))};
  };
  const auto trace = [&](Net& net) {
    return optimized(graph::trace([&](auto in) { return std::vector{net.step(in[0], in[1])}; }, batch(0)));
  };
  manual_seed(2);
  const graph::Program p = trace(a);
  manual_seed(2);
  graph::Replay replay(trace(b));
  std::vector<Tensor> got, want;
  manual_seed(3);
  for (std::uint64_t i = 0; i < 8; ++i) {
    if (i == 5) a.adam->param_groups()[0].set_lr(0.5);
    want.push_back(run(p, batch(i))[0]);
  }
  manual_seed(3);
  for (std::uint64_t i = 0; i < 8; ++i) {
    if (i == 5) b.adam->param_groups()[0].set_lr(0.5);
    const std::uint32_t version = b.all[0].impl()->storage->version;
    got.push_back(replay(batch(i))[0]);
    EXPECT_NE(b.all[0].impl()->storage->version, version);
  }
  EXPECT_EQ(replay.captures(), 1);
  for (std::size_t i = 0; i < 8; ++i) expect_same(back(got[i]), back(want[i]));
  for (std::size_t i = 0; i < a.all.size(); ++i) expect_same(back(b.all[i].detach()), back(a.all[i].detach()));
}

TEST_F(CudaReplay, MemoryThatMovedIsCapturedAnew) {
  Tensor w = there(sample({1000})), count = zeros({1000}, {.device = kCuda});
  const auto f = [&](auto in) {
    add_(count, 1);
    return std::vector{in[0] * w + count};
  };
  const Tensor x = there(sample({1000}, float32, {.seed = 3}));
  const graph::Program p = graph::trace(f, {{x}});
  graph::Replay replay{graph::Program(p)};
  for (int i = 0; i < 3; ++i) replay({{x}});
  const Tensor before = count.clone();  // lazily: the next run gives it bytes of its own
  const Tensor y = replay({{x}})[0];
  expect_same(back(y), back(x * w + count));
  expect_same(back(count), back(before + 1));
  EXPECT_LE(replay.captures(), 2);
}

TEST_F(CudaReplay, AStepIsOneLaunch) {
  manual_seed(1);
  Net net;
  const std::vector<Tensor> in{there(sample({16, 32})), there(randint(10, {16}))};
  const auto time = [](const std::function<void()>& f) {  // the best of several: other programs use the device as well
    double least = 1e9;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 3; ++i) f();
      cuda::synchronize();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 50; ++i) f();
      cuda::synchronize();
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
      least = std::min(least, took.count() / 50);
    }
    return least;
  };
  graph::automatic_replay(false);
  const double eager = time([&] { net.step(in[0], in[1]); });
  graph::Replay replay(optimized(graph::trace([&](auto x) { return std::vector{net.step(x[0], x[1])}; }, in)));
  const double program = time([&] { run(replay.program(), in); }), replayed = time([&] { replay(in); });
  std::printf("training step: %.1f us eager, %.1f as a program, %.1f replayed\n", eager, program, replayed);
  graph::automatic_replay(true);
  const double by_itself = time([&] { net.step(in[0], in[1]); });
  std::printf("the same replayed by itself: %.1f us\n", by_itself);
  EXPECT_LT(replayed, 0.7 * eager);
  EXPECT_LT(by_itself, 0.7 * eager);
}

}  // namespace
}  // namespace neura::test
