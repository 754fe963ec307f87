// Every layer and loss on another device: made there, moved there and back, with the members, results and gradients
// that it has on the cpu; and refused where its operands are apart.
#include "neura/autograd/autograd.h"
#include "neura/core/device_scope.h"
#include "neura/core/random.h"
#include "neura/nn/nn.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "tests/contract/row_case.h"
#include "tests/device/device.h"
#include "tests/nn/every_layer.h"

namespace neura::test {
namespace {

// What a module tells of itself: a line for each member, in its order, by its path.
std::vector<std::string> members(const nn::Module& m) {
  std::vector<std::string> all;
  for (const auto& [name, t] : m.named_parameters()) all.push_back("parameter " + name + " " + t.shape().str());
  for (const auto& [name, t] : m.named_buffers()) all.push_back("buffer " + name + " " + t.shape().str());
  for (const auto& [name, c] : m.named_children()) all.push_back("child " + name + " " + c->text());
  for (const auto& [name, c] : m.named_modules()) all.push_back("module " + name + " " + c->type_name());
  return all;
}
// All of `got` is on `device`, listed as `want`'s are, with the same bits.
void expect_members(const nn::Module& got, const nn::Module& want, Device device) {
  EXPECT_EQ(members(got), members(want));
  EXPECT_EQ(got.children().size(), want.children().size());
  EXPECT_EQ(got.modules().size(), want.modules().size());
  const auto tensors = [](const nn::Module& m) {
    std::vector<Tensor> all = m.parameters();
    for (const Tensor& t : m.buffers()) all.push_back(t);
    return all;
  };
  const std::vector<Tensor> a = tensors(got), b = tensors(want);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].device(), device);
    EXPECT_EQ(a[i].requires_grad(), b[i].requires_grad());
    expect_same(a[i].detach().to(Device()), b[i].detach());
  }
}

class DeviceLayers : public ::testing::TestWithParam<LayerCase> {
 protected:
  const LayerCase& c = GetParam();
  Ref<nn::Module> made(Device device) const {
    manual_seed(7);
    return with_device(device, [&] { return c.make(); });
  }
  // Results, then gradients of their sum in every parameter and floating operand.
  std::vector<Tensor> differentiated(nn::Module& layer, Device device) const {
    std::vector<Tensor> in, wanted = layer.parameters();
    for (const Tensor& t : c.batch(3)) {
      in.push_back(t.to(device));
      if (is_floating(t.dtype())) wanted.push_back(in.back().requires_grad_());
    }
    manual_seed(8);
    std::vector<Tensor> all = results_of(layer, in);
    const std::vector<Tensor> roots = differentiable_of(all);
    std::vector<Tensor> seeds;
    for (const Tensor& t : roots) seeds.push_back(ones_like(t));
    if (roots.empty() || wanted.empty()) return all;
    for (const Tensor& g : grad(roots, wanted, seeds, {.allow_unused = true})) all.push_back(g);
    return all;
  }
};

TEST_P(DeviceLayers, HaveTheirMembersWhereTheyAreMadeOrMoved) {
  const Ref<nn::Module> here = made(Device()), there = made(kDevice);
  expect_members(*there, *here, kDevice);
  there->to(kOther);
  expect_members(*there, *here, kOther);
  there->to(Device());
  expect_members(*there, *here, Device());
  count_case();
}

TEST_P(DeviceLayers, HaveTheirMembersWithinContainers) {
  const auto nested = [&](Device device) {
    const Ref<nn::Module> layer = made(device);
    return nn::make<nn::Sequential>(nn::ModuleList(layer, nn::Identity()), nn::ModuleDict({{"again", layer}}));
  };
  const auto here = nested(Device()), there = nested(kDevice);
  expect_members(*there, *here, kDevice);
  here->to(kDevice), there->to(Device());
  expect_members(*here, *there, kDevice);
  count_case();
}

TEST_P(DeviceLayers, ComputeThereWhatTheyDoOnTheCpu) {
  const Ref<nn::Module> here = made(Device()), there = made(kDevice);
  for (const bool training : {true, false}) {
    here->train(training), there->train(training);
    const std::vector<Tensor> want = differentiated(*here, Device()), got = differentiated(*there, kDevice);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].defined(), want[i].defined()) << i;
      if (!want[i]) continue;
      EXPECT_EQ(got[i].device(), kDevice) << i;
      expect_close(got[i].detach().to(Device()), want[i].detach());
    }
    expect_members(*there, *here, kDevice);  // running statistics, too
  }
  count_case();
}

TEST_P(DeviceLayers, RefuseOperandsThatAreApart) {
  const Ref<nn::Module> layer = made(kDevice);
  const std::vector<Tensor> batch = c.batch(3);
  if (batch.size() + layer->parameters().size() < 2) return;  // nothing to be apart from
  for (const Device elsewhere : {kOther, Device()})
    for (std::size_t k = 0; k < batch.size(); ++k) {
      if (c.name == "CTCLoss" && k >= 2) continue;  // lengths are read on the host, wherever they are
      std::vector<Tensor> in = moved(batch, kDevice);
      in[k] = batch[k].to(elsewhere);
      const std::string said = error_of<DeviceError>([&] { results_of(*layer, in); });
      EXPECT_NE(said.find("expected "), said.npos) << "operand " << k << " on " << elsewhere.str() << ": " << said;
      EXPECT_NE(said.find("cuda:0"), said.npos) << said;
      EXPECT_NE(said.find(elsewhere.str()), said.npos) << said;
    }
  count_case();
}

INSTANTIATE_TEST_SUITE_P(Table, DeviceLayers, ::testing::ValuesIn(layer_cases()),
                         [](const auto& i) { return i.param.name + "_" + std::to_string(i.index); });

}  // namespace
}  // namespace neura::test
