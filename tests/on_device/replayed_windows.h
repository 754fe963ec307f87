// Compiled functions among launches that are replayed.
#pragma once
#include "neura/graph/window.h"
#include "tests/on_device/repeated_training.h"

namespace neura::test::repeats {

// The launches by which a window ends are no stretch: their results are needed at once. Special functions are not
// fused.
inline void expect_windows(Device device) {
  const Tensor x = sample({7, 5}).to(device);
  const auto chain = [](Tensor y) {
    for (int k = 0; k < 8; ++k) y = lgamma(y + 3.5);
    return y;
  };
  auto f = graph::compile(chain);
  const Tensor want = chain(chain(x)).to(Device());
  for (int i = 0; i < 8; ++i) expect_same(chain(f(x)).to(Device()), want);
}

inline void expect_compiled_and_accumulated(Device device) {
  const auto run = [&](bool replayed) {
    graph::automatic_replay(false);
    manual_seed(5);
    Net net(device);
    graph::automatic_replay(replayed);
    auto forward = graph::compile([&](const Tensor& x) { return tanh(net.layers.forward(x) * 0.5) + 1.0; });
    manual_seed(1);
    const Batches batches{device};
    for (int i = 0; i < 18; ++i) {
      if (i % 3 == 0) net.optimizer.zero_grad();
      const Tensor y = i % 6 < 3 ? net.layers.forward(batches.x(i)) : forward(batches.x(i));
      cross_entropy(y, batches.labels(i)).backward();
      nn::utils::clip_grad_norm_(net.layers.parameters(), 0.5);
      if (i % 3 == 2) net.optimizer.step();
    }
    std::vector<Tensor> all;
    for (const Tensor& p : net.layers.parameters()) all.push_back(p.detach().to(Device()));
    graph::automatic_replay(false);
    return all;
  };
  expect_equal(run(true), run(false));
}

}  // namespace neura::test::repeats
