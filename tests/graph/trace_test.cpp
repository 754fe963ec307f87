// What was traced runs as it ran: the same bits, step after step.
#include "neura/graph/trace.h"

#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using graph::Program;
using graph::run;
using graph::trace;
using Tensors = std::vector<Tensor>;

struct Net : nn::Module {
  nn::Conv2d conv{2, 4, 3, {.padding = {1, 1}}};
  nn::BatchNorm2d norm{4};
  nn::Linear last{16, 3};
  nn::Dropout drop{0.5};
  NEURA_MODULE(Net, conv, norm, last, drop)
  Tensor forward(const Tensor& x) { return drop(last(flatten(max_pool2d(relu(norm(conv(x))), 2), 1))); }
};

struct Training {  // everything that a step changes
  Net net;
  optim::AdamW optimizer;
  Training() : optimizer(net.parameters(), {.lr = 1e-2}) {}
  Tensor step(const Tensor& x, const Tensor& labels) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net.forward(x), labels);
    loss.backward();
    nn::utils::clip_grad_norm_(net.parameters(), 1);
    optimizer.step();
    return loss.detach();
  }
  Tensors state() {
    Tensors all;
    for (auto& [name, t] : net.state_dict()) all.push_back(t);
    return all;
  }
};
Tensor images(std::uint64_t seed) { return sample({6, 2, 4, 4}, DType::float32, {.seed = seed}); }
Tensor labels(int seed) { return tensor({0, 1, (2 + seed) % 3, 2, seed % 3, 0}); }

TEST(Trace, OfATrainingStepTrainsOnAsEagerDoes) {
  manual_seed(1);
  Training eager;
  manual_seed(1);
  Training traced;
  Tensors want, got;
  manual_seed(2);
  for (int i = 0; i < 8; ++i) want.push_back(eager.step(images(i < 3 ? 0 : unsigned(i)), labels(i < 3 ? 0 : i)));
  manual_seed(2);
  int calls = 0;
  const Tensors example{images(0), labels(0)};
  const Program p = trace([&](auto in) { return ++calls, Tensors{traced.step(in[0], in[1])}; }, example);
  ASSERT_EQ(calls, 3);
  for (int i = calls; i < 8; ++i) {
    const Tensors in{images(unsigned(i)), labels(i)};
    expect_same(run(p, in)[0], want[std::size_t(i)]);
  }
  const Tensors a = eager.state(), b = traced.state();
  for (std::size_t i = 0; i < a.size(); ++i) expect_same(b[i], a[i]);
}

}  // namespace
}  // namespace neura::test
