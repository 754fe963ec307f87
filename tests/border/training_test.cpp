// Networks with every optimizer on registered devices, and many threads: the numbers of the cpu.
#include <memory>
#include <thread>

#include "neura/neura.h"
#include "tests/border/border.h"
#include "tests/optim/kinds.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

struct Net : nn::Module {
  nn::Conv2d conv{2, 4, 3, {.padding = {1, 1}, .bias = false}};  // a bias before the norm has noise as its gradient
  nn::BatchNorm2d norm{4};
  nn::Linear last{64, 3};
  NEURA_MODULE(Net, conv, norm, last)
  Tensor forward(const Tensor& x) { return last(relu(norm(conv(x))).flatten(1)); }
};

class BorderTraining : public testing::TestWithParam<optim::Kind> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, BorderTraining, testing::ValuesIn(optim::kKinds),
                         [](const auto& i) { return std::string(i.param.name); });

// Losses and parameters of four steps; after two, the network and its optimizer move to another device.
std::vector<Tensor> trained(const optim::Kind& kind, Device first, Device then) {
  manual_seed(5);
  Net net;
  net.to(first);
  const std::unique_ptr<optim::Optimizer> optimizer = kind.make({optim::ParamGroup(net.parameters())});
  std::vector<Tensor> all;
  for (int i = 0; i < 4; ++i) {
    const Device now = i < 2 ? first : then;
    net.to(now);
    const Tensor loss = cross_entropy(net.forward(sample({6, 2, 4, 4}).to(now)), tensor({0, 1, 2, 2, 1, 0}).to(now));
    EXPECT_EQ(loss.device(), now);
    optimizer->zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(net.parameters(), 1);
    optimizer->step();
    all.push_back(loss.detach().to(Device()));
  }
  for (const Tensor& p : net.parameters()) {
    EXPECT_EQ(p.device(), then);
    all.push_back(p.detach().to(Device()));
  }
  return all;
}
TEST_P(BorderTraining, IsTheCpusAndMayMove) {
  const std::vector<Tensor> want = trained(GetParam(), Device(), Device()), got = trained(GetParam(), "npu", "fpga");
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], tolerance(float32).times(20));
}

TEST(BorderThreads, UseOneDeviceAtOnce) {
  const Tensor a = sample({8, 8}), want = sin(matmul(a, a) + a);
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = a.to(t % 2 ? "npu:0" : "fpga");
        right[t] += bool(close(sin(matmul(x, x) + x).to(Device()), want));
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, std::vector<int>(4, 50));
}

}  // namespace
}  // namespace neura::test
