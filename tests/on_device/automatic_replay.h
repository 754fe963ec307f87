// Launches that repeat wait until all of them have come, and programs see what they see without. On a device that has
// no graphs a stretch that is complete runs launch by launch.
#pragma once
#include <thread>

#include "neura/op/launch.h"
#include "tests/on_device/repeated_training.h"

namespace neura::test::repeats {

inline std::int64_t apart(const std::string& why) {
  const auto all = graph::replay_counts().apart;
  const auto at = all.find(why);
  return at == all.end() ? 0 : at->second;
}
// Launches that waited until their stretch was complete.
inline std::int64_t complete() { return apart("the device has no graphs") + graph::replay_counts().launches; }

class Replayed {  // turns it on or off while it lives
 public:
  explicit Replayed(bool on = true) { graph::automatic_replay(on), graph::reset_replay_counts(); }
  Replayed(const Replayed&) = delete;
  ~Replayed() { graph::automatic_replay(true); }
};

inline void expect_training_repeats(Device device) {
  const auto want = trained(device, false, 12);
  EXPECT_EQ(graph::replay_counts().stretches, 0);
  const auto got = trained(device, true, 12);
  expect_equal(got, want);
  EXPECT_EQ(graph::replay_counts().stretches, 1);
  EXPECT_GT(complete(), 9 * 10) << "ten steps of at least nine launches";
  for (const auto& [why, launches] : graph::replay_counts().apart) EXPECT_EQ(why, "the device has no graphs");
}

inline void expect_changes_are_seen(Device device) {
  const auto besides = [](Net& net, const Tensor& loss, int i) {
    if (i == 5 || i == 9) loss.item();  // another boundary
    if (i == 6) net.layers.eval();      // other launches
    if (i == 7) net.layers.train();
    if (i == 8) scale(net.layers.parameters()[0].detach());             // memory that the stretch reads
    if (i == 10) net.optimizer.param_groups()[0].set_lr(0.01);          // other numbers
    if (i == 11) net.layers.parameters()[1].detach().copy_(ones({8}));  // from the host
  };
  expect_equal(trained(device, true, 20, besides), trained(device, false, 20, besides));
  EXPECT_GT(complete(), 0);
}

inline void expect_early_values(Device device) {
  Tensor w = sample({5, 5}, float32, {.seed = 2}).to(device), x = sample({5, 5}).to(device);
  const auto f = [&](int i) {
    Tensor y = w;
    for (int k = 0; k < 6; ++k) {
      y = tanh(matmul(y, x));
      if (i > 4 && k == i % 6) y.sum().item();
    }
    return y.sum().item<double>();
  };
  graph::automatic_replay(false);
  std::vector<double> want, got;
  for (int i = 0; i < 14; ++i) want.push_back(f(i));
  graph::automatic_replay(true);
  for (int i = 0; i < 14; ++i) got.push_back(f(i));
  EXPECT_EQ(got, want);
  EXPECT_GT(complete(), 0);
}

// While the launches of a stretch are written down for the first time, too.
inline void expect_addresses_early(Device device) {
  const Tensor x = sample({4, 4}).to(device);
  const auto chain = [&](bool asks) {
    Tensor y = x;
    for (int k = 0; k < 6; ++k) {
      y = sigmoid(y * 1.5);
      if (asks && k == 2) EXPECT_TRUE(y.const_raw_data());
    }
    return y.sum().item<double>();
  };
  const double want = chain(false);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(chain(i % 4 == 1), want);
}

// The same operand in storages of several sizes.
inline void expect_any_storage(Device device) {
  const Tensor own = sample({6, 4}).to(device), part = sample({9, 4}).to(device).narrow(0, 0, 6);
  const auto chain = [](Tensor y) {
    for (int k = 0; k < 4; ++k) y = sigmoid(y * 1.5) + 0.25;
    return y.sum().item<double>();
  };
  const double want[] = {chain(own), chain(part)};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(chain(i % 2 ? part : own), want[i % 2]) << i;
  EXPECT_GT(complete(), 0);
}

// Gradients are made in the first of three batches and added to in the others.
inline void expect_beginnings_are_shared(Device device) {
  const auto run = [&](bool replayed) {
    graph::automatic_replay(false);
    manual_seed(4);
    Net net(device);
    graph::automatic_replay(replayed);
    manual_seed(2);
    const Batches batches{device};
    std::vector<Tensor> all;
    for (int i = 0; i < 60; ++i) {
      if (i % 3 == 0) net.optimizer.zero_grad();
      const Tensor loss = cross_entropy(net.layers.forward(batches.x(i)), batches.labels(i));
      loss.backward();
      if (i % 3 == 2) net.optimizer.step();
      launch_boundary();
      if (i == 44) graph::reset_replay_counts();
      all.push_back(loss.detach());
    }
    for (const Tensor& p : net.layers.parameters()) all.push_back(p.detach());
    for (Tensor& t : all) t = t.to(Device());
    return all;
  };
  const auto got = run(true);
  EXPECT_GT(complete(), 15 * 9);
  for (const auto& [why, launches] : graph::replay_counts().apart) EXPECT_EQ(why, "the device has no graphs");
  expect_equal(got, run(false));
}

inline void expect_other_threads_read(Device device) {
  const Tensor x = sample({4, 4}).to(device);
  const auto chain = [&](const std::function<void(const Tensor&)>& middle) {
    Tensor y = x;
    for (int k = 0; k < 8; ++k) {
      y = sigmoid(y * 1.5);
      if (k == 3 && middle) middle(y);
    }
    return y.sum().item<double>();
  };
  const double want = chain({});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(chain({}), want);
  double seen = 0;
  EXPECT_EQ(chain([&](const Tensor& y) { std::thread([&] { seen = y.sum().item<double>(); }).join(); }), want);
  graph::automatic_replay(false);
  Tensor y = x;
  for (int k = 0; k < 4; ++k) y = sigmoid(y * 1.5);
  EXPECT_EQ(seen, y.sum().item<double>());
}

inline void expect_errors(Device device) {
  const Tensor x = sample({4, 4}).to(device), other = sample({3, 3}).to(device);
  const auto f = [&](bool bad) {
    Tensor y = x;
    for (int k = 0; k < 6; ++k) y = relu(matmul(y, bad && k == 3 ? other : x));
    return y.sum().item<double>();
  };
  const double want = f(false);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(f(false), want);
  EXPECT_THROW(f(true), ShapeError);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(f(false), want);
}

inline void expect_versions(Device device) {
  const auto f = [&](bool bad) {
    Tensor x = sample({4, 4}).to(device).requires_grad_();
    Tensor y = exp(x * 2.0) + 1.0, z = y * y;
    z = tanh(z) * 2.0;
    if (bad) y *= 2.0;
    z.sum().backward();
    return x.grad().sum().item<double>();
  };
  const double want = f(false);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(f(false), want);
  for (int i = 0; i < 4; ++i) EXPECT_THROW(f(true), Error);
  EXPECT_EQ(f(false), want);
}

}  // namespace neura::test::repeats
