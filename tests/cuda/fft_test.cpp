// Fourier transforms on CUDA: the CPU's results for every way in which dimensions become calls of cuFFT.
#include "neura/ops/signal/fft.h"

#include <cmath>
#include <thread>

#include "neura/autograd/autograd.h"
#include "neura/cuda/graph.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

using CudaFourier = CudaTest;

struct Case {
  Shape shape;
  Dims dims;
};
// Lines side by side, lines with neighbours between, middle dimensions of few and of many matrices, two to five
// dimensions at once or apart, primes, long lines, sizes of one.
const std::vector<Case> cases = {{{1}, {0}},
                                 {{7}, {0}},
                                 {{1009}, {0}},
                                 {{1 << 20}, {0}},
                                 {{300007}, {0}},
                                 {{1000, 64}, {1}},
                                 {{64, 33}, {0}},
                                 {{3, 16, 5}, {1}},
                                 {{40, 12, 7}, {1}},
                                 {{40, 15, 7}, {1}},
                                 {{5, 1, 6}, {1}},
                                 {{6, 10, 12}, {1, 2}},
                                 {{6, 10, 12}, {0, 1}},
                                 {{6, 10, 12}, {2, 0}},
                                 {{9, 5, 1}, {0, 1, 2}},
                                 {{1, 5, 8}, {0, 1, 2}},
                                 {{30, 4, 6, 5}, {1, 2}},
                                 {{3, 4, 5, 6, 7}, {0, 1, 2, 3, 4}},
                                 {{3, 4, 5, 6, 7}, {4, 1, 3}},
                                 {{2, 3, 4, 3, 2}, {3, 0, 2, 1}}};

// The error of a bin is one of the whole signal: rounding at each of log2(n) steps, of numbers as large as the bins'
// root mean square (Schatzman, 1996). So that is what differences are compared with, and no bin by itself.
void expect_transform(const Tensor& got, const Tensor& expected) {
  const DType real = expected.dtype() == complex64 || expected.dtype() == float32 ? float32 : float64;
  const double size = neura::sqrt(mean(square(neura::abs(expected).to(float64)))).item<double>();
  const double off = neura::max(neura::abs(sub(got, expected)).to(float64)).item<double>();
  const double epsilon = real == float32 ? 1.2e-7 : 2.3e-16;
  EXPECT_LE(off, 8 * epsilon * (1 + std::log2(double(expected.numel()))) * size) << expected.spec().str();
}

TEST_F(CudaFourier, AreTheCpusForAnyDimensions) {
  for (const Case& c : cases)
    for (const DType d : {float32, float64}) {
      SCOPED_TRACE(c.shape.str() + " over " + Shape(c.dims).str() + " " + name(d));
      const Tensor real = randn(c.shape).to(d), x = fft::fftn(real, {}, c.dims);
      for (const char* norm : {"backward", "ortho", "forward"}) {
        expect_transform(back(fft::fftn(there(x), {}, c.dims, norm)), fft::fftn(x, {}, c.dims, norm));
        expect_transform(back(fft::ifftn(there(x), {}, c.dims, norm)), fft::ifftn(x, {}, c.dims, norm));
        const Tensor bins = fft::rfftn(real, {}, c.dims, norm);
        expect_transform(back(fft::rfftn(there(real), {}, c.dims, norm)), bins);
        Shape sizes;
        for (const std::int64_t dim : c.dims) sizes.push_back(c.shape[int(dim)]);
        expect_transform(back(fft::irfftn(there(bins), sizes, c.dims, norm)), fft::irfftn(bins, sizes, c.dims, norm));
      }
    }
}

// Bins that no real signal has: the part that one could have counts, as on the cpu.
TEST_F(CudaFourier, BinsOfNoRealSignalGiveTheCpus) {
  for (const Case& c : cases) {
    if (c.shape.numel() > 10000) continue;
    SCOPED_TRACE(c.shape.str() + " over " + Shape(c.dims).str());
    const Tensor bins = randn(c.shape, {.dtype = complex128});
    for (const std::int64_t odd : {0, 1}) {
      Shape sizes;
      for (const std::int64_t dim : c.dims) sizes.push_back(c.shape[int(dim)]);
      sizes[sizes.size() - 1] = std::max<std::int64_t>(1, 2 * (sizes.back() - 1) + odd);
      expect_close(back(fft::irfftn(there(bins), sizes, c.dims)), fft::irfftn(bins, sizes, c.dims));
      expect_close(back(fft::hfftn(there(bins), sizes, c.dims)), fft::hfftn(bins, sizes, c.dims),
                   tolerance(float64).times(10));
    }
  }
}

TEST_F(CudaFourier, GradientsAreTheCpus) {
  for (const Case& c : cases) {
    if (c.shape.numel() > 10000) continue;
    SCOPED_TRACE(c.shape.str() + " over " + Shape(c.dims).str());
    const Tensor x = randn(c.shape, {.dtype = float64}),
                 g = randn(fft::rfftn(x, {}, c.dims).shape(), {.dtype = complex128});
    const auto gradient = [&](Device device) {
      const Tensor in = x.to(device).clone().requires_grad_(), y = fft::rfftn(in, {}, c.dims), seed = g.to(device);
      return grad({&y, 1}, {&in, 1}, {&seed, 1})[0];
    };
    expect_close(back(gradient(kCuda)), gradient(Device()), tolerance(float64).times(10));
  }
}

TEST_F(CudaFourier, AnyLayoutAndAlignment) {
  const Tensor x = randn({12, 9, 10}), on = there(x), flat = there(randn({1081})), odd = flat.slice(0, 1, 1081);
  expect_close(back(fft::rfft(on.transpose(0, 2))), fft::rfft(x.transpose(0, 2)), tolerance(float32).times(30));
  expect_close(back(fft::fft2(on.transpose(0, 1))), fft::fft2(x.transpose(0, 1)), tolerance(float32).times(100));
  expect_close(back(fft::rfft(odd)), fft::rfft(back(odd)), tolerance(float32).times(100));
  const Tensor bins = fft::rfft(x), wide = there(bins).transpose(0, 1);
  expect_close(back(fft::irfft(wide)), fft::irfft(bins.transpose(0, 1)), tolerance(float32).times(30));
}

// More lengths than plans are kept, twice.
TEST_F(CudaFourier, PlansComeAndGo) {
  const Tensor x = randn({4, 400}, {.dtype = complex128}), on = there(x);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 100; n < 260; ++n)
      expect_close(back(fft::fft(on, n)), fft::fft(x, n), tolerance(float64).times(30));
}

TEST_F(CudaFourier, ThreadsShareNoPlan) {
  const Tensor x = randn({16, 1000}, {.dtype = complex128}), want = fft::fft(x);
  std::vector<Tensor> got(4);
  std::vector<std::thread> threads;
  for (Tensor& y : got)
    threads.emplace_back([&] {
      const Tensor on = there(x);
      for (int i = 0; i < 50; ++i) y = fft::fft(on);
      y = y.to(Device());
    });
  for (std::thread& t : threads) t.join();
  for (const Tensor& y : got) expect_close(y, want, tolerance(float64).times(30));
}

TEST_F(CudaFourier, AGraphHoldsThem) {
  Tensor x = there(randn({8, 100})), y;
  const auto run = [&] { y = fft::irfft(fft::rfft(x) * 2.0, 100); };
  run();
  cuda::Graph graph;
  graph.capture(run);
  const Tensor next = randn({8, 100});
  x.copy_(next), graph.replay();
  expect_close(back(y), next * 2.0, tolerance(float32).times(10));
}

TEST_F(CudaFourier, NothingIsTransformedToNothing) {
  EXPECT_EQ(fft::fft(there(zeros({0, 5}))).shape(), (Shape{0, 5}));
  EXPECT_EQ(fft::irfft(there(zeros({0, 5}, {.dtype = complex64}))).shape(), (Shape{0, 8}));
}

}  // namespace
}  // namespace neura::test
