// The CUDA back end as a plug-in: what is said where it is not there, copies, memory, reductions, products.
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/cuda/memory.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/sort/sort.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

TEST(CudaPlugin, WithoutADeviceTheReasonIsSaid) {
  const std::string why = unavailable(DeviceType::cuda);
  if (why.empty()) GTEST_SKIP() << "there is a device";
  const auto says = [&](const char* words) { return why.find(words) != std::string::npos; };
  EXPECT_TRUE(says("library cannot be loaded") || says("no NVIDIA driver") || says("shows no device")) << why;
  const Tensor x = ones({2});
  for (const auto& f : {std::function<void()>([&] { x.to("cuda"); }),
                        std::function<void()>([&] { zeros({2}, {.device = Device("cuda")}); })})
    EXPECT_EQ(error_of<DeviceError>(f), "device: expected one that can be used, got cuda:0: " + why);
}

using CudaDevice = CudaTest;

TEST_F(CudaDevice, OthersThanThereAreAreRefused) {
  const std::string said = error_of<DeviceError>([] { zeros({2}, {.device = Device("cuda:99")}); });
  EXPECT_EQ(said.find("device: expected cuda:0 to cuda:"), 0u) << said;
}
TEST_F(CudaDevice, TensorsOfTwoDevicesDoNotMix) {
  const Tensor a = ones({2}), b = there(a);
  EXPECT_EQ(error_of<DeviceError>([&] { a + b; }),
            "add: expected all tensors on the same device, got cpu and cuda:0; move one with .to() (float32 [2], "
            "float32 [2] on "
            "cuda:0)");
}
TEST_F(CudaDevice, CopiesConvertAndKeepStrides) {
  const Tensor x = randn({5, 6, 7});
  for (int i = 0; i < kDTypes; ++i) {
    const Tensor h = x.to(DType(i));
    for (const Tensor& t : {h, h.transpose(0, 2), h.slice(1, 1, 6, 2)}) {
      const Tensor d = there(t);
      expect_same(back(d), t);
      expect_same(back(d.to(float32)), t.to(float32));
      Tensor target = zeros(t.shape());
      expect_same(target.copy_(d), t.to(float32));
    }
  }
  EXPECT_EQ(there(ones({2, 3}).t()).strides(), (Shape{1, 3}));
  Tensor leaf = ones({3}).requires_grad_();
  there(leaf).backward(there(tensor({1., 2., 3.}, {.dtype = float32})));
  expect_same(leaf.grad(), tensor({1., 2., 3.}, {.dtype = float32}));
}
TEST_F(CudaDevice, ConvertsBetweenAnyTwoDTypesAsTheCpuDoes) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor reals = tensor({0., 1., -1., 2.5, -2.5, 300., -300., 70000., 3e9, -3e9, 1.8e19, -1e19, nan, inf, -inf});
  const Tensor whole =
      tensor({std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 62) - 3,
              std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
  for (int i = 0; i < kDTypes; ++i)
    for (int j = 0; j < kDTypes; ++j) {
      SCOPED_TRACE(std::string(name(DType(i))) + " to " + name(DType(j)));
      for (const Tensor& x : {reals, whole}) {
        const Tensor h = x.to(DType(i));
        expect_same(back(there(h).to(DType(j))), h.to(DType(j)));
      }
    }
}
TEST_F(CudaDevice, CopiesAcrossKeepEveryBit) {
  for (const DType d : {boolean, bfloat16, float32, int64, complex128})
    for (const Shape& s : {Shape{67, 129}, Shape{8, 8}, Shape{3, 40, 50}, Shape{5, 33, 2, 64}, Shape{100, 7}}) {
      SCOPED_TRACE(s.str() + " " + name(d));
      const Tensor h = (randn(s) * 100).to(d), x = there(h);
      for (int i = 0; i < h.dim(); ++i)
        for (int j = 0; j < i; ++j) {
          const Tensor u = x.transpose(i, j), v = h.transpose(i, j);
          const std::int64_t some = std::min<std::int64_t>(30, v.size(j) - 1);
          expect_same(back(contiguous(u)), contiguous(v));
          expect_same(back(contiguous(u.narrow(j, 1, some))), contiguous(v.narrow(j, 1, some)));
        }
      expect_same(back(contiguous(x.narrow(0, 1, 2))), contiguous(h.narrow(0, 1, 2)));
      expect_same(back(x.flatten().narrow(0, 1, 50).clone()), h.flatten().narrow(0, 1, 50).clone());
    }
}
TEST_F(CudaDevice, CopiesOfEverySizeUpToAGibibyteKeepEveryByte) {
  if (cuda::memory_stats().free < std::size_t{4} << 30) GTEST_SKIP() << "needs 4 GiB of the device's memory";
  const std::int64_t most = std::int64_t{1} << 30;
  const Tensor all = zeros({most}, {.dtype = uint8}), other = all.clone();
  std::uint64_t bits = 1;
  auto* words = reinterpret_cast<std::uint64_t*>(all.data<std::uint8_t>());
  for (std::int64_t i = 0; i < most / 8; ++i) words[i] = bits = bits * 6364136223846793005u + 1442695040888963407u;
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4097}, std::int64_t{1} << 20, most}) {
    SCOPED_TRACE(n);
    const Tensor x = there(all.slice(0, 0, n)), y = x.clone();
    Tensor came = other.slice(0, 0, n);
    came.zero_().copy_(y);
    EXPECT_EQ(std::memcmp(came.const_raw_data(), all.const_raw_data(), std::size_t(n)), 0);
  }
}
TEST_F(CudaDevice, PrintsAndGivesItems) {
  EXPECT_EQ(there(ones({2})).str(), "tensor([1., 1.], device='cuda:0')");
  EXPECT_EQ(there(full({}, 2.5)).item<double>(), 2.5);
  EXPECT_EQ(error_of<DeviceError>([] { there(ones({1})).data<float>(); }),
            "data: expected a tensor on the cpu, got float32 [1] on cuda:0; move it with .to(\"cpu\")");
}
TEST_F(CudaDevice, MemoryComesBackAndRunsOut) {
  const DeviceApi& api = device_api(kCuda);
  DeviceMemory before, during, after;
  api.memory(0, &before);
  {
    const Tensor x = zeros({1 << 20}, {.device = kCuda});
    api.memory(0, &during);
    EXPECT_EQ(during.allocated, before.allocated + (std::size_t{4} << 20));
    const std::string said =
        error_of<OutOfMemoryError>([] { Tensor::empty(Spec::dense(float32, Shape{std::int64_t{1} << 40}, kCuda)); });
    EXPECT_NE(said.find("expected 4096.00 GiB on cuda:0"), said.npos) << said;
    EXPECT_EQ(x.slice(0, 5, 6).item<float>(), 0);  // the process lives on
  }
  api.empty_cache();
  api.memory(0, &after);
  EXPECT_EQ(after.allocated, before.allocated);
  EXPECT_GE(after.allocated_peak, during.allocated);
}
TEST_F(CudaDevice, WhatIsNotThereSaysSo) {
  const Tensor x = zeros({std::int64_t{1} << 31}, {.dtype = uint8, .device = kCuda});
  EXPECT_EQ(
      error_of<NotImplementedError>([&] { kthvalue(x, 1); }),
      "kthvalue: expected fewer than 2^31 lines of fewer than 2^31 elements on cuda, got 1 of 2147483648; sort on "
      "the cpu");
}

using CudaReductions = CudaTest;
TEST_F(CudaReductions, AreTheCpus) {
  for (const Shape& shape : {Shape{}, Shape{1000}, Shape{37, 53}, Shape{8, 128, 64}, Shape{100000}, Shape{3, 70000},
                             Shape{50000, 3}, Shape{2, 3, 4, 5}, Shape{4, 0}})
    for (const DType d : {float32, float64, bfloat16, int64, complex64}) {
      SCOPED_TRACE(shape.str() + " " + name(d));
      const Tensor h = (randn(shape) * 4).to(d), x = there(h);
      const Tolerance t = tolerance(d).times(16);
      for (int dim = -1; dim < h.dim(); ++dim) {
        const Dims dims = dim < 0 ? Dims() : Dims(dim);
        expect_close(back(sum(x, dims)), sum(h, dims), t);
        if (d == int64) continue;
        expect_close(back(mean(x, dims, true)), mean(h, dims, true), t);
        if (is_complex(d) || !h.numel()) continue;
        expect_close(back(neura::var(x, dims)), neura::var(h, dims), t);
        expect_same(back(amax(x, dims)), amax(h, dims));
        if (dim < 0) continue;
        expect_close(back(logsumexp(x, dims)), logsumexp(h, dims), t);
        expect_same(back(argmax(x, dim)), argmax(h, dim));
        expect_same(back(argmin(x.transpose(0, -1), dim)), argmin(h.transpose(0, -1), dim));
      }
    }
}

TEST_F(CudaReductions, NothingHasNoMean) {
  for (const DType d : {float32, float64, bfloat16}) {
    const Tensor h = zeros({4, 0}, {.dtype = d}), x = there(h);
    const auto got = var_mean(x, Dims(1)), want = var_mean(h, Dims(1));
    expect_same(back(got.spread), want.spread);
    expect_same(back(got.mean), want.mean);
  }
}

using CudaProducts = CudaTest;
TEST_F(CudaProducts, AreTheCpus) {
  for (const DType d : {float32, float64, bfloat16, float16, complex64, complex128}) {
    SCOPED_TRACE(name(d));
    const Tensor a = randn({2, 4, 33, 65}).to(d), b = randn({4, 65, 17}).to(d), v = randn({65}).to(d);
    const Tolerance t = tolerance(d).times(16);
    expect_close(back(matmul(there(a), there(b))), matmul(a, b), t);
    expect_close(back(matmul(there(b).transpose(1, 2), there(a).transpose(2, 3))),
                 matmul(b.transpose(1, 2), a.transpose(2, 3)), t);
    expect_close(back(matmul(there(a).slice(3, 0, 65, 3), there(b).slice(1, 0, 65, 3))),
                 matmul(a.slice(3, 0, 65, 3), b.slice(1, 0, 65, 3)), t);
    expect_close(back(matmul(there(a), there(v))), matmul(a, v), t);
    const Tensor m = randn({65, 17}).to(d), bias = randn({17}).to(d), n = randn({9, 65}).to(d);
    expect_close(back(addmm(there(bias), there(n), there(m), {.beta = 0.5, .alpha = 2})),
                 addmm(bias, n, m, {.beta = 0.5, .alpha = 2}), t);
    expect_close(back(matmul(there(zeros({3, 0}).to(d)), there(zeros({0, 2}).to(d)))), zeros({3, 2}).to(d), t);
  }
}

}  // namespace
}  // namespace neura::test
