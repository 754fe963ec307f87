// Memory of another device, what crosses, and creation.
#include "neura/core/memory.h"

#include "neura/autograd/autograd.h"
#include "neura/autograd/gradcheck.h"
#include "neura/core/storage.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/create/to.h"
#include "neura/ops/index/index.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "tests/device/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

TEST(DeviceStorage, KnowsItsKindAndKeepsItsPointerToItself) {
  const Ref<Storage> s = Ref<Storage>::adopt(Storage::make(100, kOther));
  EXPECT_TRUE(s->device == kOther && s->bytes == 100 && s->capacity >= 100);
  const Tensor x = ones({2}).to(kDevice);
  EXPECT_EQ(error_of<DeviceError>([&] { (void)x.data<float>(); }),
            "data: expected a tensor on the cpu, got float32 [2] on cuda:0; move it with .to(\"cpu\")");
  EXPECT_THROW((void)x.const_data<float>(), DeviceError);
  EXPECT_EQ(error_of<DeviceError>([] { zeros({1}, {.device = "cuda:2"}); }),
            "device: expected cuda:0 to cuda:1, got cuda:2");
}

TEST(DeviceMemory, AllocatedGrowsAndShrinksWithTensors) {
  const std::size_t before = memory_allocated(kDevice);
  Tensor x = zeros({1000}, {.device = kDevice});
  EXPECT_EQ(memory_allocated(kDevice), before + 4032);
  EXPECT_GE(max_memory_allocated(kDevice), before + 4032);
  const Tensor view = x.slice(0, 0, 5);
  EXPECT_EQ(memory_allocated(kDevice), before + 4032);
  x = {};
  EXPECT_EQ(memory_allocated(kDevice), before + 4032) << "the view keeps its bytes";
  EXPECT_GE(memory_reserved(kDevice), memory_allocated(kDevice));
}

TEST(DeviceMemory, EmptyCacheIsForAllDevicesAndPinnedMemory) {
  const Tensor x = zeros({1}, {.device = kDevice});  // a back end that nobody asked for is not loaded for it
  const std::int64_t before = host_device().emptied;
  empty_cache();
  EXPECT_EQ(host_device().emptied - before, 2);
}

TEST(Transfer, EveryDtypeInEveryDirectionAndLayout) {
  const Tensor wide = sample({5, 6, 7}, float32);
  for (int i = 0; i < kDTypes; ++i) {
    SCOPED_TRACE(name(DType(i)));
    const Tensor h = wide.to(DType(i));
    for (const Tensor& t : {h, h.transpose(0, 2), h.slice(1, 1, 6, 2), h.select(0, 3), h.narrow(2, 0, 0)}) {
      const Tensor d = t.to(kDevice), e = d.to(kOther), back = e.to("cpu");
      EXPECT_TRUE(d.device() == kDevice && e.device() == kOther && back.device().is_cpu());
      EXPECT_TRUE(d.dtype() == t.dtype() && d.shape() == t.shape());
      expect_same(back, t);
      Tensor target = zeros(t.shape());
      expect_same(target.copy_(d), t.to(float32));  // converts on the way
    }
  }
  EXPECT_EQ(ones({2, 3}).t().to(kDevice).strides(), (Shape{1, 3}));
}

TEST(Transfer, HasAGradientThatComesBack) {
  Tensor x = sample({3}).requires_grad_();
  const Tensor y = x.to(kDevice) * 2, z = y.to(kOther) * 3;
  z.backward(ones({3}, {.device = kOther}));
  expect_same(x.grad(), full({3}, 6.0));
  Tensor wide = sample({2}).requires_grad_();
  wide.to(kDevice).to(float64).backward(ones({2}, {.dtype = float64, .device = kDevice}));
  EXPECT_TRUE(wide.grad().dtype() == float32 && wide.grad().device().is_cpu());
}

TEST(Transfer, NothingToDoIsNoCopyUnlessAskedFor) {
  const Tensor h = ones({3}), d = h.to(kDevice);
  const std::int64_t crossed = host_device().to_device + host_device().from_device + host_device().between_devices;
  EXPECT_TRUE(d.to(kDevice).is_same(d) && h.to("cpu").is_same(h) && d.to(float32).is_same(d));
  EXPECT_TRUE(to(d, {.dtype = float32, .device = kDevice}).is_same(d));
  const Tensor copy = to(d, {.device = kDevice, .copy = true});
  EXPECT_NE(copy.const_raw_data(), d.const_raw_data());
  EXPECT_EQ(host_device().to_device + host_device().from_device + host_device().between_devices, crossed);
  expect_there(copy, h);
  expect_there(to(h, {.dtype = float64, .device = kDevice}), h.to(float64));
}

TEST(Transfer, ValuesAreFetchedToBeReadAndPrinted) {
  EXPECT_EQ(full({}, 2.5, {.device = kDevice}).item<double>(), 2.5);
  EXPECT_EQ(arange(6, {.device = kDevice}).reshape({2, 3}).t().to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(ones({2}, {.device = kDevice}).str(), "tensor([1., 1.], device='cuda:0')");
  EXPECT_EQ(zeros({2, 0}, {.device = kDevice}).str(), "tensor([], device='cuda:0', size=(2, 0))");
  EXPECT_NE(ones({2}, {.device = kOther}).debug_str().find("on cuda:1"), std::string::npos);
  EXPECT_TRUE(equal(ones({2}, {.device = kDevice}), full({2}, 1.0, {.device = kDevice})));
}

TEST(DeviceViews, AreGeometryAlone) {
  const Tensor x = arange(24, {.dtype = float32, .device = kDevice}).reshape({2, 3, 4});
  const Tensor h = x.to("cpu");
  const std::int64_t before = host_device().work();
  const auto views = [](const Tensor& t) {
    return std::vector<Tensor>{t.transpose(0, 2),      t.permute({1, 2, 0}), t.slice(1, 0, 3, 2),
                               t.select(2, 1),         t.unsqueeze(0),       t.flatten(),
                               t.expand({2, 2, 3, 4}), t.view({6, 4}),       unbind(t, 1)[2],
                               chunk(t, 2, 2)[1],      split(t, 1, 1)[0],    squeeze(t.narrow(0, 0, 1))};
  };
  const std::vector<Tensor> all = views(x), want = views(h);
  EXPECT_EQ(host_device().work(), before);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].impl()->storage, x.impl()->storage) << i;
    expect_there(all[i], want[i]);
  }
  expect_there(x.transpose(0, 2).contiguous(), h.transpose(0, 2).contiguous());
}

TEST(DeviceCreation, MakesWhatTheCpuMakes) {
  for (const DType d : {float32, float64, bfloat16, int64, boolean, complex64}) {
    SCOPED_TRACE(name(d));
    const TensorOptions here{.dtype = d}, there{.dtype = d, .device = kDevice};
    for (const Shape& s : {Shape{}, Shape{0}, Shape{2, 3}}) {
      expect_there(zeros(s, there), zeros(s, here));
      expect_there(ones(s, there), ones(s, here));
      expect_there(full(s, 1, there), full(s, 1, here));
      EXPECT_EQ(ones_like(zeros(s, there)).device(), kDevice);
      EXPECT_TRUE(ones_like(zeros(s, there), {.device = Device()}).device().is_cpu());
    }
    if (d == boolean) continue;
    expect_there(arange(1, 7, 2, there), arange(1, 7, 2, here));
    expect_there(eye(3, 4, there), eye(3, 4, here));
    if (!is_complex(d)) expect_there(linspace(0, 8, 5, there), linspace(0, 8, 5, here));
  }
  const auto drawn = [](Device device) {
    manual_seed(3);
    return std::vector<Tensor>{rand({50}, {.device = device}), randn({50}, {.device = device}),
                               randint(9, {50}, {.device = device}), randperm(20, {.device = device})};
  };
  const std::vector<Tensor> want = drawn(Device()), got = drawn(kDevice);
  for (std::size_t i = 0; i < want.size(); ++i) expect_there(got[i], want[i]);
  Tensor leaf = ones({2}, {.device = kDevice, .requires_grad = true});
  EXPECT_TRUE(leaf.is_leaf());
  (leaf * leaf).sum().backward();
  expect_there(leaf.grad(), full({2}, 2.0));
}

TEST(DeviceIndices, MayComeFromTheCpu) {
  const Tensor x = sample({4, 5, 6}), d = x.to(kDevice), some = tensor({3, 0, 3}), mask = sample({4, 5}, float32) > 0;
  expect_there(index(d, {some}), index(x, {some}));
  expect_there(index(d, {Slice(), some, some}), index(x, {Slice(), some, some}));
  expect_there(index(d, {mask}), index(x, {mask}));
  Tensor a = x.clone(), b = d.clone();
  index_put_(a, {mask, some.slice(0, 0, 1)}, zeros({})),
      index_put_(b, {mask, some.slice(0, 0, 1)}, zeros({}).to(kDevice));
  expect_there(b, a);
  EXPECT_THROW(index(x, {some.to(kDevice)}), DeviceError);
}

TEST(DeviceGradients, AreCheckedByDifferences) {
  const Tensor x = sample({2, 3}, float64).to(kDevice).requires_grad_(), w = sample({3, 2}, float64).to(kDevice);
  const auto f = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{tanh(matmul(in[0], w))}; };
  EXPECT_TRUE(gradcheck(f, {x}));
  EXPECT_TRUE(gradgradcheck(f, {x}));
  Tensor y = ones({2}, {.device = kDevice, .requires_grad = true});
  EXPECT_THROW((y * 2).backward(ones({2})), DeviceError);
  EXPECT_THROW(y.set_grad(ones({2})), DeviceError);
}

TEST(DeviceMemory, ThatIsNotThereLeavesVersionsAsTheyWere) {
  const Tensor x = sample({4, 3}).to(kDevice), mean = zeros({3}, {.device = kDevice}), var = ones_like(mean);
  Tensor y = zeros({4, 4}, {.device = kDevice});
  host_device().memory_fails = true;
  const auto refused = [](const auto& f) { EXPECT_THROW(f(), OutOfMemoryError); };
  refused([&] { batch_norm(x, mean, var, {}, {}, {.training = true}); });
  refused([&] { matmul_out(y, x, x.t()); });
  host_device().memory_fails = false;
  EXPECT_TRUE(mean.version() == 0 && var.version() == 0 && y.version() == 0);
  batch_norm(x, mean, var, {}, {}, {.training = true}), matmul_out(y, x, x.t());
  EXPECT_TRUE(mean.version() == 1 && var.version() == 1 && y.version() == 1);
}

TEST(DeviceGradients, OfOverlappingWindowsAreAddedThere) {
  const auto gradient = [](const Tensor& of, const auto& f) {
    Tensor x = of.detach().clone().requires_grad_();
    const Tensor y = f(x), up = arange(y.numel(), {.dtype = y.dtype(), .device = y.device()}).reshape(y.shape());
    const std::int64_t before = host_device().from_device;
    y.backward(up);
    EXPECT_EQ(host_device().from_device, before);
    return x.grad();
  };
  const auto windows = [](const Tensor& x) { return unfold(unfold(x, 0, 3, 2), 1, 4, 1); };
  const auto repeated = [](const Tensor& x) { return as_strided(x, {3, 1, 2, 4}, {6, 5, 0, 2}, 3); };
  for (const DType d : {float32, float64, float16, complex64}) {
    const Tensor x = sample({7, 9}, d);
    expect_there(gradient(x.to(kDevice), windows), gradient(x, windows));
    expect_there(gradient(x.to(kDevice), repeated), gradient(x, repeated));
    expect_there(gradient(x.to(kDevice).t(), windows), gradient(x.t(), windows));
  }
}

}  // namespace
}  // namespace neura::test
