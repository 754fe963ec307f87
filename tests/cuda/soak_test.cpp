// Long use in short time: memory of all sizes comes and goes on several streams, runs out, indices are wrong, networks
// train in between; what the device holds must not grow. NEURA_SOAK_SECONDS says how long (2).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "neura/autograd/autograd.h"
#include "neura/core/memory.h"
#include "neura/cuda/memory.h"
#include "neura/cuda/stream.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using CudaSoak = CudaTest;
using Clock = std::chrono::steady_clock;

struct Soak : Dice {
  explicit Soak(std::uint64_t seed) : Dice{seed} {}
  std::int64_t size() { return std::int64_t{1} << below(23); }  // up to 16 MiB of floats, each doubling as often
  std::map<std::string, int> met;
  std::vector<Tensor> kept;
  std::vector<cuda::Stream> streams = {cuda::default_stream(), cuda::Stream(), cuda::Stream(kCuda, -1)};

  void keep() {
    const std::int64_t n = size() + below(3);
    kept.push_back(full({n}, double(n % 1000), {.device = kCuda}));
    if (kept.size() > 40) kept.erase(kept.begin() + below(std::int64_t(kept.size())));
  }
  void check_kept() {  // nobody else wrote there
    if (kept.empty()) return;
    const Tensor& t = kept[std::size_t(below(std::int64_t(kept.size())))];
    cuda::synchronize();
    ASSERT_EQ(t.select(0, below(t.numel())).item<double>(), double(t.numel() % 1000));
  }
  void other_stream() {  // made on one stream, used on another, let go of at once
    const cuda::Stream& other = streams[std::size_t(below(3))];
    Tensor x = rand({size()}, {.device = kCuda}), y;
    {
      const cuda::StreamGuard on(other);
      other.wait_stream(cuda::default_stream());
      y = x * 2 + 1;
      cuda::record_stream(x, other);
    }
    x = {};
    cuda::default_stream().wait_stream(other);
    ASSERT_GE(y.select(0, 0).item<double>(), 1);
    cuda::record_stream(y, cuda::default_stream());
  }
  void train() {
    Tensor w = randn({64, 32}, {.device = kCuda}).requires_grad_();
    const Tensor x = randn({128, 64}, {.device = kCuda});
    const Tensor loss = mean(relu(matmul(x, w)));
    loss.backward();
    ASSERT_TRUE(w.grad().device() == kCuda && loss.item<float>() > 0);
  }
  void run_out() {
    const std::string said =
        error_of<OutOfMemoryError>([] { Tensor::empty(Spec::dense(float32, Shape{std::int64_t{1} << 38}, kCuda)); });
    ASSERT_NE(said.find("expected 1024.00 GiB on cuda:0"), said.npos) << said;
  }
  void bad_index() {
    const Tensor x = arange(10, {.device = kCuda});
    const std::string said = error_of<IndexError>([&] {
      index_select(x, 0, tensor({std::int64_t{1}, 10 + below(5)}).to(kCuda)).select(0, 0).item<std::int64_t>();
    });
    ASSERT_NE(said.find("index_select: expected"), said.npos) << said;
    ASSERT_EQ(index_select(x, 0, tensor({7}).to(kCuda)).item<std::int64_t>(), 7);
  }
  void once() {
    static constexpr std::pair<const char*, void (Soak::*)()> kinds[] = {
        {"kept tensors", &Soak::keep},          {"checks of kept tensors", &Soak::check_kept},
        {"other streams", &Soak::other_stream}, {"training steps", &Soak::train},
        {"out of memory", &Soak::run_out},      {"bad indices", &Soak::bad_index}};
    const std::int64_t r = below(100);
    const auto& [name, act] = kinds[r < 40 ? 0 : r < 55 ? 1 : r < 75 ? 2 : r < 96 ? 3 : r < 97 ? 4 : 5];
    (this->*act)(), ++met[name];
  }
};

TEST_F(CudaSoak, MemoryStaysFlat) {
  const char* asked = std::getenv("NEURA_SOAK_SECONDS");
  const std::chrono::duration<double> whole(asked ? std::atof(asked) : 2.0);
  Soak soak(5);
  const auto start = Clock::now();
  std::size_t high = 0;  // of what was reserved in the first half; the second may not need more
  bool late = false;
  while (Clock::now() - start < whole && !HasFatalFailure()) {
    for (int i = 0; i < 50 && !HasFatalFailure(); ++i) soak.once();
    if (!late && Clock::now() - start > whole / 2) {
      late = true, high = max_memory_allocated(kCuda);
      reset_peak_memory_stats(kCuda);
    }
  }
  EXPECT_LE(max_memory_allocated(kCuda), high + high / 4);
  for (const auto& [name, n] : soak.met) std::printf("%s: %d\n", name.c_str(), n);
  soak.kept.clear();
  cuda::synchronize();
  neura::empty_cache();
  cuda::empty_cache(kCuda);
  const cuda::MemoryStats m = cuda::memory_stats(kCuda);
  std::printf("peak %zu MiB, then %zu bytes allocated, %zu MiB reserved; %lld hits, %lld misses, %lld retries\n",
              high >> 20, m.allocated, m.reserved >> 20, static_cast<long long>(m.hits),
              static_cast<long long>(m.misses), static_cast<long long>(m.retries));
  EXPECT_EQ(m.allocated, 0u);
}

}  // namespace
}  // namespace neura::test
