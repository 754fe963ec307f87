// Compiled functions on CUDA: one kernel where eager has several, and the same bits.
#include "neura/graph/window.h"

#include "neura/cuda/stream.h"
#include "neura/graph/fused_cuda.h"
#include "tests/cuda/device.h"
#include "tests/support/window_functions.h"

namespace neura::test {
namespace {

using CudaWindow = CudaTest;

TEST_F(CudaWindow, GivesTheBitsOfEager) {
  for (const WindowFunction& f : window_functions()) {
    const auto want = f.run(kCuda), got = compiled(f.run)(kCuda);
    ASSERT_EQ(got.size(), want.size()) << f.name;
    for (std::size_t i = 0; i < want.size(); ++i) expect_same(back(got[i]), back(want[i]), f.name, int(i));
  }
}

TEST_F(CudaWindow, GivesTheBitsOfEagerOfRandomFunctions) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto want = random_chain(kCuda, seed), got = compiled([&](Device d) { return random_chain(d, seed); })(kCuda);
    ASSERT_EQ(got.size(), want.size()) << seed;
    for (std::size_t i = 0; i < want.size(); ++i) expect_same(back(got[i]), back(want[i]), "seed", int(seed));
  }
}

TEST_F(CudaWindow, MakesOneKernelOfAChain) {
  const Tensor a = sample_on(kCuda, {300, 70}), row = sample_on(kCuda, {70}, float32, 1);
  graph::reset_explanation();
  const graph::FusedCounts before = graph::fused_counts();
  auto f = graph::compile([&](const Tensor& x) { return gelu(x * row + 1.0) * sigmoid(x) - row; });
  const Tensor want = gelu(a * row + 1.0) * sigmoid(a) - row;
  for (int i = 0; i < 3; ++i) expect_same(back(f(a)), back(want));
  EXPECT_EQ(graph::fused_counts().compiled - before.compiled, 3);
  EXPECT_EQ(graph::explanation().waited, 18);
  EXPECT_EQ(graph::explanation().ran, 3);
}

TEST_F(CudaWindow, WorksOnTheStreamOfTheCall) {
  const Tensor x = sample_on(kCuda, {1 << 16});
  const cuda::Stream side(kCuda);
  const Tensor y = graph::compile([&] {
    Tensor on_side;
    side.wait_stream(cuda::current_stream(kCuda));
    {
      const cuda::StreamGuard on(side);
      on_side = exp(x) * 2.0;
    }
    cuda::current_stream(kCuda).wait_stream(side);
    return on_side + 1.0;
  })();
  expect_same(back(y), back(exp(x) * 2.0 + 1.0));
}

}  // namespace
}  // namespace neura::test
