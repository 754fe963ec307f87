// Operations on registered device types: the back end's kernels, definitions, and the host where there are neither.
#include "neura/autograd/autograd.h"
#include "neura/data/loader.h"
#include "neura/neura.h"
#include "tests/border/border.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

Device kNpu() { return "npu"; }
void expect_on(Device device, const Tensor& got, const Tensor& want) {
  EXPECT_EQ(got.device(), device);
  expect_close(got.detach().to(Device()), want.detach());
}

struct Mlp : nn::Module {
  nn::Linear first{5, 16}, last{16, 3};
  NEURA_MODULE(Mlp, first, last)
  Tensor forward(const Tensor& x) { return last(relu(first(x))); }
};
std::vector<Tensor> trained(Device device) {
  manual_seed(3);
  Mlp net;
  net.to(device);
  optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  std::vector<Tensor> all;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Tensor x = sample({8, 5}, float32, {.seed = i}).to(device),
                 y = sample({8, 3}, float32, {.seed = 9}).to(device);
    const Tensor loss = mse_loss(net.forward(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    all.push_back(loss.detach());
  }
  for (const Tensor& p : net.parameters()) all.push_back(p.detach()), all.push_back(p.grad());
  return all;
}
TEST(Border, TrainingOfAnMlpEqualsTheCpus) {
  const std::vector<Tensor> want = trained(Device());
  for (const char* name : {"npu:1", "fpga"}) {
    const long long before = kernel_calls();
    const std::vector<Tensor> got = trained(name);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) expect_on(name, got[i], want[i]);
    if (Device(name) == Device("npu:1")) EXPECT_GT(kernel_calls(), before + 3 * 8) << "its own kernels ran";
    else EXPECT_EQ(kernel_calls(), before);
  }
}

TEST(Border, WhatTheBackEndHasRunsThereAndNothingElse) {
  const Tensor a = sample({3, 4}), b = sample({4, 3}), x = a.to(kNpu()), y = b.to(kNpu());
  reset_host_fallbacks();
  const long long before = kernel_calls();
  expect_on(kNpu(), matmul(x, y), matmul(a, b));
  expect_on(kNpu(), x + y.t(), a + b.t());
  expect_on(kNpu(), x * 2, a * 2);
  expect_on(kNpu(), relu(x), relu(a));
  expect_on(kNpu(), x.sum(Dims{1}, true), a.sum(Dims{1}, true));
  expect_on(kNpu(), x + full({}, 0.5), a + 0.5);
  EXPECT_EQ(kernel_calls(), before + 6);
  EXPECT_TRUE(host_fallbacks().empty());
}

TEST(Border, TheRestIsTheHostsAndCounted) {
  const Tensor a = sample({3, 4}), x = a.to(kNpu());
  reset_host_fallbacks();
  expect_on(kNpu(), sin(x), sin(a));
  expect_on(kNpu(), sin(x), sin(a));
  expect_on(kNpu(), softmax(x, 1), softmax(a, 1));
  EXPECT_EQ(fallbacks("npu", "sin"), 2);
  EXPECT_EQ(fallbacks("fpga", "sin"), 0);
  // Of these operands: batches, whole numbers, dtypes that meet.
  const Tensor batch = sample({2, 3, 3});
  expect_on(kNpu(), matmul(batch.to(kNpu()), batch.to(kNpu())), matmul(batch, batch));
  EXPECT_EQ(fallbacks("npu", "matmul"), 1);
  expect_on(kNpu(), arange(4).to(kNpu()) + 1, arange(4) + 1);
  expect_on(kNpu(), x + ones({3, 4}, {.dtype = float16, .device = kNpu()}), a + 1);
  EXPECT_EQ(fallbacks("npu", "add"), 2);
  reset_host_fallbacks();
  EXPECT_TRUE(host_fallbacks().empty());
}

TEST(Border, ALayerIsMadeOfItsKernels) {
  nn::Linear there(4, 3);
  const Tensor a = sample({2, 4}), want = there.forward(a);
  there.to(kNpu());
  reset_host_fallbacks();
  expect_on(kNpu(), there.forward(a.to(kNpu())), want);
  EXPECT_TRUE(host_fallbacks().empty());
}

TEST(Border, ADefinitionGoesBeforeTheHost) {
  const Tensor a = sample({4, 6}), x = a.to(kNpu());
  reset_host_fallbacks();
  const long long before = kernel_calls();
  expect_on(kNpu(), layer_norm(x, {6}), layer_norm(a, {6}));
  EXPECT_EQ(fallbacks("npu", "layer_norm"), 0);
  EXPECT_GT(kernel_calls(), before);
}

TEST(Border, AForbiddenFallbackIsASentence) {
  const Tensor x = ones({2}, {.device = kNpu()});
  const bool before = forbid_host_fallback(true);
  const std::string said = error_of<NotImplementedError>([&] { cos(x); });
  EXPECT_EQ(said.find("cos: expected a kernel of the back end of npu for these operands, got none, and that the host "
                      "computes instead is forbidden; add a kernel, or call forbid_host_fallback(false)"),
            0u)
      << said;
  Tensor y = ones({2}, {.device = kNpu()});
  EXPECT_THROW(cos_(y), NotImplementedError);
  const Tensor sum = x + y;
  EXPECT_TRUE(forbid_host_fallback(before));
  EXPECT_FALSE(before);
  expect_on(kNpu(), sum, full({2}, 2.0));
  expect_on(kNpu(), y, ones({2}));
}

TEST(Border, TwoDeviceTypesLiveBesideEachOtherAndDoNotMeet) {
  const Tensor a = sample({2, 3}), x = a.to("npu:0"), y = a.to("fpga");
  expect_on("npu", x + x, a + a), expect_on("fpga", y + y, a + a);
  const std::string said = error_of<DeviceError>([&] { x + y; });
  EXPECT_EQ(said.find("add: expected all tensors on the same device, got npu:0 and fpga:0; move one with .to()"), 0u)
      << said;
  EXPECT_THROW(x + a.to("npu:1"), DeviceError);
  EXPECT_THROW(matmul(x, a.t()), DeviceError);
}

TEST(Border, CopiesGoBetweenAllDevicesInEveryLayoutAndDType) {
  const Tensor a = sample({4, 6});
  const char* names[] = {"cpu", "npu:0", "npu:1", "fpga", "cuda:1"};  // cuda: the device for tests, a Plugin
  for (const char* from : names)
    for (const char* to : names) {
      SCOPED_TRACE(std::string(from) + " " + to);
      const Tensor x = a.to(from);
      expect_on(to, x.to(to), a);
      expect_on(to, x.t().to(to), a.t());
      expect_on(to, x.slice(1, 1, 6, 2).to(to), a.slice(1, 1, 6, 2));
      Tensor y = zeros({4, 12}, {.dtype = float64, .device = to}), part = y.slice(1, 0, 12, 2);
      part.copy_(x);
      expect_on(to, part, a.to(float64));
      expect_on(to, y.slice(1, 1, 12, 2), zeros({4, 6}, {.dtype = float64}));
      expect_on(to, neura::to(x, {.dtype = float16, .device = to}), a.to(float16));
    }
}

TEST(Border, ViewsWritesInPlaceAndDestinations) {
  const Tensor a = sample({4, 6});
  for (const char* name : {"npu", "fpga"}) {
    SCOPED_TRACE(name);
    Tensor want = a.clone(), x = a.to(name), row = x.select(0, 1);
    EXPECT_TRUE(row.impl()->storage == x.impl()->storage);
    add_(row, 1), mul_(x, 2);
    Tensor wanted_row = want.select(0, 1);
    add_(wanted_row, 1), mul_(want, 2);
    expect_on(name, x, want);
    Tensor column = x.slice(1, 0, 6, 3), wanted_column = want.slice(1, 0, 6, 3);
    exp_(column), exp_(wanted_column);
    column.fill_(3.0).select(0, 0).zero_(), wanted_column.fill_(3.0).select(0, 0).zero_();
    expect_on(name, x, want);
    Tensor left = x.slice(1, 0, 5), wanted_left = want.slice(1, 0, 5);
    add_(left, x.slice(1, 1, 6)), add_(wanted_left, want.slice(1, 1, 6));  // what it reads lies where it writes
    expect_on(name, x, want);
    Tensor out = zeros({6, 4}, {.device = name}).t();
    add_out(out, x, x);
    expect_on(name, out, want + want);
    Tensor elsewhere = zeros({4, 6});
    EXPECT_THROW(add_out(elsewhere, x, x), DeviceError);
  }
}

TEST(Border, RandomNumbersAreTheCpus) {
  manual_seed(4);
  const Tensor want = randn({100}), dropped = dropout(ones({50}), 0.5, true);
  manual_seed(4);
  expect_on(kNpu(), randn({100}, {.device = kNpu()}), want);
  expect_on(kNpu(), dropout(ones({50}, {.device = kNpu()}), 0.5, true), dropped);
}

TEST(Border, RunningStatisticsAreWrittenThere) {
  const Tensor a = sample({6, 3, 2, 2});
  nn::BatchNorm2d here(3), there(3);
  there.to(kNpu());
  expect_on(kNpu(), there(a.to(kNpu())), here(a));
  const std::vector<Tensor> got = there.buffers(), want = here.buffers();
  for (std::size_t i = 0; i < want.size(); ++i) expect_on(kNpu(), got[i], want[i]);
}

TEST(Border, IndicesOutOfRangeAreAnError) {
  const Tensor x = ones({3}, {.device = kNpu()}), at = arange(4).to(kNpu());
  EXPECT_NE(error_of<IndexError>([&] { index_select(x, 0, at); }).find("expected indices from 0 to 2, got 3"),
            std::string::npos);
}

TEST(Border, ValuesAreReadAndPrinted) {
  const Tensor x = full({2}, 1.5, {.device = "npu:1"});
  EXPECT_EQ(x.sum().item<float>(), 3);
  EXPECT_NE(x.str().find("device='npu:1'"), std::string::npos) << x.str();
  EXPECT_THROW((void)x.data<float>(), DeviceError);
  EXPECT_EQ(nonzero(x).device(), Device("npu:1"));
}

TEST(Border, AutocastLeavesThemAlone) {
  const Tensor a = sample({2, 3}), x = a.to(kNpu());
  {
    const amp::Autocast on(Device{});
    EXPECT_EQ(matmul(a, a.t()).dtype(), bfloat16);
    EXPECT_EQ(matmul(x, x.t()).dtype(), float32);
    EXPECT_FALSE(amp::is_autocast_enabled(kNpu().type));
  }
  EXPECT_EQ(error_of<NotImplementedError>([] { const amp::Autocast on(kNpu()); }),
            "autocast: expected the cpu or cuda, got npu; cast its tensors by .to(dtype)");
  EXPECT_EQ(matmul(a, a.t()).dtype(), float32);
}

TEST(Border, LoadersAndScopesTakeThem) {
  const DeviceScope on("npu");
  EXPECT_EQ(zeros({2}).device(), kNpu());
  const data::TensorDataset<1> set(arange(6, {.device = Device()}));
  data::DataLoader loader(set, {.batch_size = 4, .num_workers = 1, .device = kNpu()});
  std::int64_t sum = 0;
  for (const auto& batch : loader) {
    EXPECT_EQ(batch[0].device(), kNpu());
    sum += batch[0].sum().item<std::int64_t>();
  }
  EXPECT_EQ(sum, 15);
}

TEST(Border, FailuresAreTypedAndNamed) {
  const Tensor x = ones({2}, {.device = kNpu()});
  Tensor y = ones({2}, {.device = kNpu()});
  let_npu_fail(true);
  const std::string full = error_of<OutOfMemoryError>([&] { x + x; }),
                    broken = error_of<DeviceError>([&] { add_(y, x); });
  let_npu_fail(false);
  EXPECT_EQ(full.find("add: expected 8 bytes on device 0, got none"), 0u) << full;
  EXPECT_EQ(broken.find("add: expected the device to work, got a failure that a test asked for"), 0u) << broken;
  expect_on(kNpu(), x + x, neura::full({2}, 2.0));
}

}  // namespace
}  // namespace neura::test
