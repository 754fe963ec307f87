// A program on a device: a training step continues there as eager does.
#include "neura/graph/trace.h"
#include "neura/neura.h"
#include "tests/device/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

TEST(DeviceGraph, ATrainingStepTrainsOnAsEagerDoes) {
  const auto make = [] {
    manual_seed(1);
    auto net = std::make_unique<nn::Linear>(3, 2);
    net->to(kDevice);
    return net;
  };
  const auto eager = make(), traced = make();
  optim::Adam a(eager->parameters(), {.lr = 0.1}), b(traced->parameters(), {.lr = 0.1});
  const auto step = [](nn::Linear& net, optim::Optimizer& o, const Tensor& x) {
    o.zero_grad();
    const Tensor loss = square(dropout(net(x), 0.5)).mean();
    loss.backward(), o.step();
    return loss.detach();
  };
  const Tensor x = sample({4, 3}).to(kDevice);
  int calls = 0;
  manual_seed(2);
  const graph::Program p = graph::trace([&](auto in) { return ++calls, std::vector{step(*traced, b, in[0])}; }, {{x}});
  std::vector<Tensor> got;
  for (int i = 0; i < 3; ++i) got.push_back(run(p, {{x}})[0]);
  manual_seed(2);
  for (int i = 0; i < calls; ++i) step(*eager, a, x);
  for (const Tensor& y : got) expect_there(y, step(*eager, a, x).to(Device()));
  expect_there(traced->weight, eager->weight.to(Device()));
  EXPECT_NE(graph::to_dot(p).find("linear  cuda:0"), std::string::npos);
  EXPECT_EQ(str(graph::parse(str(p))), str(p));
}

}  // namespace
}  // namespace neura::test
