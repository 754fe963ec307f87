// Networks, losses, optimizers, clipping, checkpoints and files on another device: the numbers of the cpu, and errors
// where tensors are apart.
#include <memory>

#include "neura/neura.h"
#include "tests/device/device.h"
#include "tests/optim/kinds.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

struct Net : nn::Module {
  nn::Conv2d conv{2, 4, 3, {.padding = {1, 1}}};
  nn::BatchNorm2d norm{4};
  nn::Linear last{64, 3};
  NEURA_MODULE(Net, conv, norm, last)
  Tensor forward(const Tensor& x) { return last(relu(norm(conv(x))).flatten(1)); }
};

Tensor images(Device d) { return sample({6, 2, 4, 4}).to(d); }
Tensor labels(Device d) { return tensor({0, 1, 2, 2, 1, 0}).to(d); }

class DeviceTraining : public testing::TestWithParam<optim::Kind> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, DeviceTraining, testing::ValuesIn(optim::kKinds),
                         [](const auto& i) { return i.param.name; });

// Losses of four steps; after two, the network moves to another device with its optimizer.
std::vector<float> losses(const optim::Kind& kind, Device first, Device then) {
  manual_seed(5);
  Net net;
  net.to(first);
  const std::unique_ptr<optim::Optimizer> optimizer = kind.make({optim::ParamGroup(net.parameters())});
  std::vector<float> all;
  for (int i = 0; i < 4; ++i) {
    const Device now = i < 2 ? first : then;
    net.to(now);
    const Tensor loss = cross_entropy(net.forward(images(now)), labels(now));
    EXPECT_EQ(loss.device(), now);
    optimizer->zero_grad();
    loss.backward();
    for (const Tensor& p : net.parameters()) EXPECT_EQ(p.grad().device(), now);
    const Tensor norm = nn::utils::clip_grad_norm_(net.parameters(), 1);
    EXPECT_EQ(norm.device(), now);
    optimizer->step();
    all.push_back(loss.item<float>());
  }
  return all;
}
TEST_P(DeviceTraining, GivesTheCpusLossesThereAndAcrossAMove) {
  const std::vector<float> want = losses(GetParam(), Device(), Device());
  EXPECT_NE(want[3], want[0]);
  EXPECT_EQ(losses(GetParam(), kDevice, kDevice), want);
  EXPECT_EQ(losses(GetParam(), kDevice, Device()), want);
  EXPECT_EQ(losses(GetParam(), Device(), kOther), want);
}

TEST(DeviceNetworks, RefuseInputFromElsewhere) {
  Net net;
  net.to(kDevice);
  const Tensor x = images(Device());
  for (const auto& [op, call] : std::vector<std::pair<std::string, std::function<void()>>>{
           {"conv2d", [&] { net.forward(x); }},
           {"linear",
            [&] {
              net.last(ones({1, 64}));
            }},
           {"cross_entropy", [&] { cross_entropy(net.forward(images(kDevice)), labels(Device())); }},
           {"mse_loss", [&] { mse_loss(ones({2}).to(kDevice), ones({2})); }},
           {"embedding",
            [&] {
              embedding(tensor({0, 1}), ones({3, 2}).to(kDevice));
            }},
           {"layer_norm",
            [&] {
              layer_norm(ones({2, 3}).to(kDevice), {3}, ones({3}));
            }},
           {"matmul",
            [&] {
              matmul(ones({2, 2}).to(kDevice), ones({2, 2}));
            }},
           {"cat",
            [&] {
              cat({ones({2}).to(kDevice), ones({2})});
            }},
           {"where", [&] { where(ones({2}).to(kDevice) > 0, ones({2}), ones({2})); }},
           {"add_", [&] {
              Tensor t = ones({2});
              add_(t, ones({2}).to(kDevice));
            }}}) {
    const std::string said = error_of<DeviceError>(call);
    EXPECT_NE(said.find("expected all tensors on the same device, got c"), said.npos) << op << ": " << said;
    EXPECT_NE(said.find("cuda:0"), said.npos) << said;
    EXPECT_NE(said.find(".to()"), said.npos) << said;
  }
}

TEST(DeviceNetworks, StateGoesToWhereTheNetworkIs) {
  manual_seed(1);
  Net there, here;
  there.to(kDevice);
  here.load_state_dict(there.state_dict());
  for (std::size_t i = 0; i < here.parameters().size(); ++i) {
    EXPECT_TRUE(here.parameters()[i].device().is_cpu());
    expect_there(there.parameters()[i], here.parameters()[i]);
  }
  const std::string file = testing::TempDir() + "device.safetensors";
  save(file, there.state_dict());
  Net again;
  again.load_state_dict(load(file));
  expect_same(again.last.weight.detach(), here.last.weight.detach());
}

TEST(DeviceNetworks, CheckpointsRunAgainThere) {
  const Tensor x = images(kDevice).requires_grad_(), y = images(kDevice).requires_grad_();
  const auto f = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{dropout(tanh(in[0]), 0.5)}; };
  manual_seed(2);
  f({x})[0].sum().backward();
  manual_seed(2);
  checkpoint(f, {y})[0].sum().backward();
  expect_there(y.grad(), x.grad().to(Device()));
}

}  // namespace
}  // namespace neura::test
