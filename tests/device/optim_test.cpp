// Optimizers on a device: one kernel for many parameters, and the cpu's answer where their memory overlaps or an error
// comes in between.
#include "neura/nn/clip.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/device/device.h"
#include "tests/optim/kinds.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

Tensor leaf(const Tensor& t) { return t.detach().requires_grad_(); }
Tensor with_gradient(const Tensor& t, std::uint64_t seed = 2) {
  Tensor p = leaf(t);
  p.set_grad(sample(p.shape(), p.dtype(), {.seed = seed}).to(p.device()));
  return p;
}

class DeviceSteps : public testing::TestWithParam<optim::Kind> {};
INSTANTIATE_TEST_SUITE_P(Table, DeviceSteps, testing::ValuesIn(optim::kKinds),
                         [](const auto& i) { return i.param.name; });

TEST_P(DeviceSteps, TakeOneKernelForEachDtype) {
  std::vector<Tensor> here, there;
  for (const DType d : {float32, float64})
    for (std::int64_t n = 1; n < 20; n += 3) {
      here.push_back(with_gradient(sample({n}, d)));
      there.push_back(with_gradient(sample({n}, d).to(kDevice)));
    }
  const auto a = GetParam().make({optim::ParamGroup(here)}), b = GetParam().make({optim::ParamGroup(there)});
  a->step(), b->step();
  const std::int64_t before = host_device().kernels;
  a->step(), b->step();
  EXPECT_EQ(host_device().kernels - before, 2);
  for (std::size_t i = 0; i < here.size(); ++i) expect_there(there[i], here[i]);
}

TEST_P(DeviceSteps, FollowOneAnotherWhereMemoryOverlaps) {
  const Tensor h = sample({30}), d = h.to(kDevice);
  std::vector<Tensor> here, there;
  for (const auto& [begin, end] : {std::pair{0, 10}, {5, 20}, {20, 30}}) {
    here.push_back(with_gradient(h.slice(0, begin, end))), there.push_back(with_gradient(d.slice(0, begin, end)));
  }
  const auto a = GetParam().make({optim::ParamGroup(here)}), b = GetParam().make({optim::ParamGroup(there)});
  a->step(), b->step();
  const std::int64_t before = host_device().kernels;
  a->step(), b->step();
  EXPECT_EQ(host_device().kernels - before, 3);
  expect_there(d, h);
}

TEST_P(DeviceSteps, TakeParametersOfTwoDevices) {
  const Tensor a = sample({7}), b = sample({5}, float32, {.seed = 8});
  const std::vector<Tensor> apart = {with_gradient(a.clone()), with_gradient(b.clone())},
                            mixed = {with_gradient(a.clone()), with_gradient(b.to(kDevice))};
  const auto one = GetParam().make({optim::ParamGroup(apart)}), two = GetParam().make({optim::ParamGroup(mixed)});
  for (int i = 0; i < 3; ++i) {
    const auto& d = host_device();
    const std::int64_t copies = d.to_device + d.from_device + d.between_devices;
    one->step(), two->step();
    EXPECT_EQ(d.to_device + d.from_device + d.between_devices, copies) << "step " << i;
  }
  EXPECT_TRUE(mixed[0].device().is_cpu());
  expect_same(mixed[0].detach(), apart[0].detach());
  expect_there(mixed[1], apart[1]);
  for (const auto& [name, value] : two->state(mixed[1]).values.items)
    if (const Tensor* t = value.get<Tensor>()) EXPECT_EQ(t->device(), kDevice) << name;
}

TEST(DeviceClipping, TakesParametersOfTwoDevices) {
  const Tensor a = sample({7}), b = sample({5}, float32, {.seed = 8});
  const std::vector<Tensor> apart = {with_gradient(a.clone()), with_gradient(b.clone())},
                            mixed = {with_gradient(a.clone()), with_gradient(b.to(kDevice))};
  const double norm = nn::utils::clip_grad_norm_(apart, 0.1).item<double>();
  const std::int64_t waits = host_device().from_device;
  const Tensor joint = nn::utils::clip_grad_norm_(mixed, 0.1);
  EXPECT_LE(host_device().from_device, waits + 1) << "the host waits for the device more than once";
  EXPECT_NEAR(joint.item<double>(), norm, 1e-6 * norm);
  expect_close(mixed[0].grad(), apart[0].grad());
  expect_close(mixed[1].grad().to(Device()), apart[1].grad());
  EXPECT_EQ(mixed[1].grad().device(), kDevice);
}

TEST(DeviceClipping, OnOneDeviceTheHostDoesNotWait) {
  std::vector<Tensor> all;
  for (std::int64_t n = 1; n < 40; n += 7) all.push_back(with_gradient(sample({n}).to(kDevice)));
  const std::int64_t waits = host_device().from_device;
  const Tensor norm = nn::utils::clip_grad_norm_(all, 0.1);
  nn::utils::clip_grad_value_(all, 0.01);
  EXPECT_EQ(host_device().from_device, waits);
  EXPECT_EQ(norm.device(), kDevice);
}

TEST(DeviceOptimizers, TakeViewsThatLieSideBySideTogether) {
  const Tensor t = sample({30}).to(kDevice);
  optim::SGD optimizer({with_gradient(t.slice(0, 10, 20)), with_gradient(t.slice(0, 0, 10))});
  const std::int64_t before = host_device().kernels;
  optimizer.step();
  EXPECT_EQ(host_device().kernels - before, 1);
}

TEST(DeviceOptimizers, ReadAGradientThatIsAParameterInOrder) {
  const Tensor h = sample({6}), d = h.to(kDevice);
  std::vector<Tensor> all[2];
  int side = 0;
  for (const Tensor& t : {h, d}) {
    Tensor p = with_gradient(t), q = leaf(clone(t));
    q.set_grad(p.detach());  // as it is after p's step
    all[side++] = {p, q};
    const std::int64_t before = host_device().kernels;
    optim::SGD({p, q}, {.lr = 0.5}).step();
    EXPECT_EQ(host_device().kernels - before, t.device().is_cpu() ? 0 : 2);
  }
  for (int i = 0; i < 2; ++i) expect_there(all[1][i], all[0][i]);
}

TEST(DeviceOptimizers, DoWhatCameBeforeAnError) {
  std::vector<Tensor> first;
  for (const Device device : {Device(), kDevice}) {
    const Tensor p = with_gradient(sample({4}).to(device)), q = with_gradient(sample({5}).to(device));
    optim::SGD optimizer({p, q}, {.lr = 0.5, .momentum = 0.9});
    optimizer.state(q).values["momentum_buffer"] = sample({7}).to(device);
    EXPECT_EQ(error_of<ShapeError>([&] { optimizer.step(); }), "optimizer: expected state like its parameter, " +
                                                                   q.spec().str() + ", got float32 [7]" +
                                                                   (device.is_cpu() ? "" : " on cuda:0"));
    first.push_back(p);
  }
  expect_there(first[1], first[0]);
}

TEST(DeviceOptimizers, SayWhatADeviceCouldNotDo) {
  const Tensor p = with_gradient(sample({4}).to(kDevice));
  optim::SGD optimizer({p});
  host_device().kernels_fail = true;
  const std::string said = error_of<CudaError>([&] { optimizer.step(); });
  host_device().kernels_fail = false;
  EXPECT_EQ(said.find("sgd_step: expected the device to work"), 0u) << said;
}

}  // namespace
}  // namespace neura::test
