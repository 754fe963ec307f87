// The device meta: tensors without bytes, how they are made, what they refuse.
#include "neura/core/meta.h"

#include "neura/core/device_scope.h"
#include "neura/core/memory.h"
#include "neura/core/print.h"
#include "neura/core/random.h"
#include "neura/neura.h"
#include "neura/op/apply.h"
#include "neura/op/registry.h"
#include "neura/ops/linalg/matrix_functions.h"
#include "tests/support/close.h"
#include "tests/support/refusals.h"

namespace neura::test {
namespace {

constexpr std::int64_t kLarge = sizeof(void*) == 8 ? 1 << 20 : 1 << 13;  // squared, more than there is
Tensor none(const Shape& s, DType d = DType::float32) { return empty(s, {.dtype = d, .device = "meta"}); }

TEST(Meta, IsADeviceOfOneName) {
  const Device d = "meta";
  EXPECT_TRUE(is_meta(d));
  EXPECT_FALSE(d.is_cpu() || d.is_cuda() || is_meta(Device()));
  EXPECT_EQ(d.str(), "meta");
  EXPECT_EQ(Device("meta:0"), d);
  for (const char* text : {"meta:1", "meta:", "Meta"}) EXPECT_THROW((void)Device(text), DeviceError) << text;
  EXPECT_EQ(device_types()[2], "meta");
}

TEST(Meta, TakesNoMemoryWhateverTheSize) {
  const Tensor warm = none({2}) + none({2});
  const std::size_t before = memory_allocated(Device());
  Tensor x = none({kLarge, kLarge}).requires_grad_(), w = none({kLarge, kLarge / 2});
  const Tensor y = relu(matmul(x, w)) * 2 + none({kLarge / 2});
  y.sum().backward();
  EXPECT_EQ(y.shape(), (Shape{kLarge, kLarge / 2}));
  EXPECT_EQ(y.nbytes(), std::size_t(kLarge) * std::size_t(kLarge) * 2);
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_TRUE(is_meta(x.grad().device()));
  EXPECT_LT(memory_allocated(Device()) - before, std::size_t{1} << 16);
  EXPECT_EQ(memory_allocated("meta"), 0u);
}

TEST(Meta, StoragesDoNotSeemToOverlap) {
  const Tensor a = none({100}), b = none({100}), v = a.slice(0, 50);
  const auto at = [](const Tensor& t) { return static_cast<const char*>(t.const_raw_data()); };
  EXPECT_TRUE(at(a) + a.nbytes() <= at(b) || at(b) + b.nbytes() <= at(a));
  EXPECT_EQ(at(v), at(a) + 200);
  EXPECT_EQ(a.version(), v.version());
  v.detach().fill_(1);
  EXPECT_EQ(a.version(), v.version());
}

TEST(Meta, EveryMakerMakesThem) {
  const DeviceScope on("meta");
  for (const Tensor& t : {ones({2, 3}), rand({2, 3}), full({2, 3}, 4.0), zeros({2, 3}), randn({2, 3})}) {
    EXPECT_TRUE(is_meta(t.device()));
    EXPECT_EQ(t.shape(), (Shape{2, 3}));
  }
  EXPECT_TRUE(is_meta(arange(5).device()));
  EXPECT_TRUE(is_meta(eye(3).device()));
  EXPECT_TRUE(is_meta(linspace(0, 1, 5).device()));
  EXPECT_TRUE(is_meta(randperm(5).device()));
  EXPECT_TRUE(is_meta(tensor(2.5).device()));
  nn::Linear layer(3, 4);
  EXPECT_TRUE(is_meta(layer.weight.device()));
}

TEST(Meta, DrawsNoRandomNumbers) {
  manual_seed(7);
  const Tensor want = rand({4});
  manual_seed(7);
  Tensor x = rand({3}, {.device = "meta"});
  normal_(x, 0, 1), bernoulli(x), dropout(x, 0.5, true), multinomial(x, 2), randperm(9, {.device = "meta"});
  nn::Linear layer(3, 4, {.device = "meta"});
  Tensor square = none({4, 4});
  nn::init::orthogonal_(square), nn::init::sparse_(square, 0.5), nn::init::xavier_normal_(square);
  expect_close(rand({4}), want);
}

TEST(Meta, CopiesGoInAndNeverOut) {
  const Tensor x = ones({2, 3}).t();
  const Tensor y = x.to("meta");
  EXPECT_EQ(y.strides(), x.strides());
  Tensor in = none({3, 2});
  in.copy_(x), in.copy_(y), in.fill_(2), in[0].copy_(x[1]);
  EXPECT_TRUE(empty_like(y, {.device = Device()}).device().is_cpu());
  Tensor here = zeros({3, 2});
  const std::uint32_t version = here.version();
  expect_refusals<NotImplementedError>({
      {"to: expected a tensor with values, got float32 [3, 2] on meta, where there are none", [&] { y.to("cpu"); }},
      {"copy: expected a tensor with values, got float32 [3, 2] on meta", [&] { here.copy_(y); }},
      {"to: expected a tensor with values, got float32 [0] on meta", [&] { none({0}).to("cpu"); }},
      {"to: expected a tensor with values",
       [&] {
         none({kLarge, kLarge}).to("cpu");
       }},
  });
  EXPECT_EQ(here.version(), version);
  expect_close(here, zeros({3, 2}));
}

TEST(Meta, WhatNeedsValuesIsRefused) {
  const Tensor x = none({4}), one = none({}), mask = none({4}, DType::boolean), whole = none({4}, DType::int64);
  expect_refusals<NotImplementedError>({
      {"item: expected a tensor with values, got float32 [] on meta", [&] { one.item(); }},
      {"item: ", [&] { (void)one.item<bool>(); }},
      {"data: expected a tensor with values", [&] { x.data<float>(); }},
      {"to: expected a tensor with values", [&] { x.to_vector<float>(); }},
      {"nonzero: expected a tensor with values", [&] { nonzero(x); }},
      {"nonzero: ", [&] { masked_select(x, mask); }},
      {"nonzero: ", [&] { x.clone(), index(x, {mask}); }},
      {"", [&] { unique(x); }},
      {"", [&] { bincount(whole); }},
      {"", [&] { repeat_interleave(x, whole); }},
      {"", [&] { one_hot(whole); }},
      {"", [&] { equal(x, x); }},
      {"", [&] { allclose(x, x); }},
      {"", [&] { histc(x); }},
  });
}

TEST(Meta, ANumberOfTheHostsIsNeverMadeUp) {
  const Tensor x = none({4});
  const char no_attributes = 0;
  Operand in[] = {x};
  Tensor count;
  Call call{find_operation("count_nonzero"), &no_attributes, in, 1, &count};
  expect_refusals<NotImplementedError>({{"count_nonzero: expected a tensor with values", [&] { apply(call); }}});
}

TEST(Meta, ValuesAreNotChecked) {
  const Tensor whole = none({4}, DType::int64), x = none({4});
  EXPECT_EQ(floor_divide(whole, whole).shape(), (Shape{4}));
  EXPECT_EQ(binary_cross_entropy(x, x).dim(), 0);
  EXPECT_EQ(bernoulli(x).shape(), (Shape{4}));
  EXPECT_EQ(quantile(x, none({2})).shape(), (Shape{2}));
  EXPECT_EQ(linalg::cholesky(none({3, 3})).shape(), (Shape{3, 3}));
  EXPECT_EQ(linalg::inv(none({3, 3})).shape(), (Shape{3, 3}));
  EXPECT_EQ(matrix_exp(none({3, 3})).shape(), (Shape{3, 3}));
  EXPECT_EQ(embedding(whole, none({7, 2})).shape(), (Shape{4, 2}));
  EXPECT_EQ(cross_entropy(none({4, 3}), whole).dim(), 0);
}

TEST(Meta, MeetsOtherDevicesAsCudaDoes) {
  const Tensor x = none({3}), number = tensor(2.0);
  EXPECT_TRUE(is_meta((x + number).device()));
  EXPECT_TRUE(is_meta((number * x).device()));
  expect_refusals<DeviceError>({
      {"add: expected all tensors on the same device, got meta and cpu", [&] { x + ones({3}); }},
      {"matmul: expected all tensors on the same device",
       [&] {
         matmul(none({2, 2}), ones({2, 2}));
       }},
      {"add: expected all tensors on the same device, got cpu and meta",
       [&] {
         Tensor y = ones({3});
         add_(y, number.to("meta"));
       }},
  });
  EXPECT_THROW(x + none({4}), ShapeError);
}

TEST(Meta, IsPrintedWithoutValues) {
  EXPECT_EQ(none({3}).str(), "tensor(..., device='meta', size=(3,))");
  EXPECT_EQ(none({}).str(), "tensor(..., device='meta', size=())");
  EXPECT_EQ(none({0, 2}, DType::int64).str(), "tensor(..., device='meta', size=(0, 2), dtype=int64)");
  EXPECT_EQ(none({2}).requires_grad_().str(), "tensor(..., device='meta', size=(2,), requires_grad=True)");
  EXPECT_EQ((none({2}).requires_grad_() * 2).str(), "tensor(..., device='meta', size=(2,), grad_fn=<MulBackward0>)");
}

TEST(Meta, ANetworkIsTrainedThereOnPaper) {
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  net.to("meta");
  for (const Tensor& p : net.parameters()) EXPECT_TRUE(is_meta(p.device()));
  optim::AdamW optimizer(net.parameters(), {});
  optim::SGD other(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  for (int i = 0; i < 2; ++i) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(net.forward(none({5, 4})), none({5}, DType::int64));
    EXPECT_EQ(loss.dim(), 0);
    loss.backward();
    for (const Tensor& p : net.parameters()) EXPECT_EQ(p.grad().shape(), p.shape());
    EXPECT_EQ(nn::utils::clip_grad_norm_(net.parameters(), 1.0).dim(), 0);
    const std::uint32_t version = net.parameters()[0].version();
    optimizer.step(), other.step();
    EXPECT_GT(net.parameters()[0].version(), version);
  }
  EXPECT_THROW(net.to("cpu"), NotImplementedError);
}

TEST(Meta, ResizesAndClones) {
  Tensor x = none({2, 3});
  resize_(x, {kLarge, kLarge});
  EXPECT_EQ(x.shape(), (Shape{kLarge, kLarge}));
  EXPECT_EQ(lazy_clone(x).shape(), x.shape());
  EXPECT_EQ(x.clone().version(), 0u);
}

}  // namespace
}  // namespace neura::test
