// The helper that starts kernels; and that a process trains on after an error, whatever failed.
#include "neura/neura.h"
#include "tests/cuda/device.h"
#include "tests/cuda/launch_kernels.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

std::string said(Failed f) {
  return f ? error_of<CudaError>([f] { throw_failure(f, "launch"); }) : "";
}
float* pointer(const Tensor& t) {  // nothing works on it any more
  cuda::synchronize();
  return static_cast<float*>(t.raw_data());
}

TEST(CudaGrid, HasBlocksForEveryElement) {
  EXPECT_EQ(blocks_over(0, 1), 0);
  EXPECT_EQ(blocks_over(1, 1), 1);
  EXPECT_EQ(blocks_over(256, 1), 1);
  EXPECT_EQ(blocks_over(257, 1), 2);
  EXPECT_EQ(blocks_over(1024, 4), 1);
  EXPECT_EQ(blocks_over(1025, 4), 2);
  EXPECT_EQ(blocks_over(std::int64_t{1} << 45, 4), std::int64_t{1} << 35);
}

class CudaLaunch : public CudaTest {};

TEST_F(CudaLaunch, AGridThatStridesStaysWithinTheDevice) {
  DeviceInfo info;
  ASSERT_EQ(device_api(kCuda).info(kCuda.index, &info), nullptr);
  EXPECT_EQ(blocks_striding(0, 1), 0);
  EXPECT_EQ(blocks_striding(257, 1), 2);
  EXPECT_EQ(blocks_striding(std::int64_t{1} << 45, 1), 32 * info.multiprocessors);
}

TEST_F(CudaLaunch, StartsAKernelOverEveryElement) {
  for (const std::int64_t n : {1, 255, 256, 257, 100003, 3000001})
    for (const bool striding : {false, true}) {
      const Tensor x = ones({n}, {.device = kCuda});
      ASSERT_EQ(said(twice_plus(pointer(x), n, 4, striding)), "");
      expect_same(back(x), add(arange(n, {.dtype = float32}), 2));
    }
  EXPECT_EQ(said(twice_plus(nullptr, 0, 1, false)), "");  // nothing is started
}

TEST_F(CudaLaunch, SaysWhatADeviceDoesNotStart) {
  const Tensor x = zeros({1}, {.device = kCuda});
  float* const p = pointer(x);
  EXPECT_EQ(said(plus_one(p, 1, 2048, 0)),
            "launch: expected a kernel with 1 to 1024 threads in a block, got 2048; report this call and its sizes");
  EXPECT_EQ(said(plus_one(p, 1, 0, 0)),
            "launch: expected a kernel with 1 to 1024 threads in a block, got 0; report this call and its sizes");
  EXPECT_EQ(said(plus_one(p, 1, 32, 1 << 20)),
            "launch: expected a kernel with at most 49152 bytes of shared memory for a block, got 1048576; report this "
            "call and its sizes");
  EXPECT_EQ(
      error_of<NotImplementedError>([&] { throw_failure(plus_one(p, std::int64_t{1} << 31, 32, 0), "launch"); }),
      "launch: expected work for at most 2147483647 x 65535 x 65535 blocks of threads, got 2147483648 x 1 x 1; split "
      "the tensors");
  EXPECT_EQ(said(plus_one(p, 2, 32, 49152)), "");
  EXPECT_EQ(x.item<float>(), 1);
}

TEST_F(CudaLaunch, NothingIsStartedAfterAFailureUntilItIsTold) {
  const Tensor x = zeros({1}, {.device = kCuda});
  float* const p = pointer(x);
  EXPECT_NE(said(plus_one_after_failure(p)).find("got 4096"), std::string::npos);
  EXPECT_EQ(x.item<float>(), 0);
  EXPECT_EQ(said(plus_one(p, 1, 1, 0)), "");
  EXPECT_EQ(x.item<float>(), 1);
}

struct Net : nn::Module {
  nn::Embedding words{20, 8};
  nn::Linear last{8, 3};
  NEURA_MODULE(Net, words, last)
  Tensor forward(const Tensor& x) { return last(relu(words(x))); }
};
// Losses of the steps; between them, `disturb` is called with the step's number.
std::vector<float> losses(const std::function<void(int, Net&)>& disturb) {
  manual_seed(3);
  Net net;
  net.to(kCuda);
  optim::Adam optimizer(net.parameters());
  const Tensor x = arange(20, {.device = kCuda}), y = remainder(x, 3);
  std::vector<float> all;
  for (int i = 0; i < 4; ++i) {
    if (i) disturb(i, net);
    const Tensor loss = cross_entropy(net.forward(x), y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    all.push_back(loss.item<float>());
  }
  return all;
}

TEST_F(CudaLaunch, TrainingGoesOnAfterEveryKindOfFailure) {
  const std::vector<float> want = losses([](int, Net&) {});
  EXPECT_LT(want.back(), want.front());
  const std::vector<float> got = losses([](int step, Net& net) {
    if (step == 1) {
      const std::string s = error_of<OutOfMemoryError>([] { zeros({std::int64_t{1} << 40}, {.device = kCuda}); });
      EXPECT_NE(s.find("expected 4096.00 GiB on cuda:0"), s.npos) << s;
    } else if (step == 2) {
      const std::string s =
          error_of<IndexError>([&] { back(net.forward(full({5}, 20, {.dtype = int64, .device = kCuda}))); });
      EXPECT_EQ(s.find("embedding: expected indices from 0 to 19, got 20"), 0u) << s;
    } else {
      const Tensor t = zeros({1}, {.device = kCuda});
      EXPECT_NE(said(plus_one(pointer(t), 1, 2048, 0)).find("got 2048"), std::string::npos);
      EXPECT_NE(said(plus_one(pointer(t), 1, 32, 1 << 20)).find("got 1048576"), std::string::npos);
    }
  });
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace neura::test
