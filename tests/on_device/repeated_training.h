// A network that is trained with and without automatic replay.
#pragma once
#include <functional>

#include "neura/autograd/autograd.h"
#include "neura/graph/automatic_replay.h"
#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test::repeats {

struct Layers : nn::Module {
  nn::Linear first{6, 8};
  nn::BatchNorm1d norm{8};
  nn::Dropout drop{0.3};
  nn::Linear last{8, 3};
  NEURA_MODULE(Layers, first, norm, drop, last)
  Tensor forward(const Tensor& x) { return last(drop(norm(relu(first(x))))); }
};
struct Net {
  Layers layers;
  optim::AdamW optimizer;
  explicit Net(Device device) : optimizer((layers.to(device), layers.parameters()), {.lr = 0.05}) {}
  Tensor step(const Tensor& x, const Tensor& labels) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(layers.forward(x), labels);
    loss.backward();
    optimizer.step();
    return loss.detach();
  }
};

struct Batches {
  Device device;
  Tensor x(int i) const { return sample({4, 6}, float32, {.seed = std::uint64_t(i)}).to(device); }
  Tensor labels(int i) const { return tensor({i % 3, (i + 1) % 3, 0, 2}, {.dtype = int64}).to(device); }
};

inline void scale(Tensor t) { t *= 0.5; }

// Losses and the parameters after n steps; what a program does besides, by step.
inline std::vector<Tensor> trained(Device device, bool replayed, int n,
                                   const std::function<void(Net&, const Tensor& loss, int)>& besides = {}) {
  graph::automatic_replay(false);
  manual_seed(3);
  Net net(device);
  graph::automatic_replay(replayed);
  manual_seed(7);
  std::vector<Tensor> all;
  const Batches batches{device};
  for (int i = 0; i < n; ++i) {
    all.push_back(net.step(batches.x(i), batches.labels(i)));
    if (besides) besides(net, all.back(), i);
  }
  for (const Tensor& p : net.layers.parameters()) all.push_back(p.detach());
  for (const Tensor& b : net.layers.buffers()) all.push_back(b.detach());
  for (Tensor& t : all) t = t.to(Device());
  graph::automatic_replay(false);
  return all;
}
inline void expect_equal(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
}

}  // namespace neura::test::repeats
