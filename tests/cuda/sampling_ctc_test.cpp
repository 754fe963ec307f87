// Images sampled at points, and the loss of paths, on CUDA: the CPU's results and gradients in sizes that fill more
// than one block.
#include <cmath>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/core/precision.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/ctc_loss.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/grid_sample.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"

namespace neura::test {
namespace {

using CudaSampling = CudaTest;
using CudaPaths = CudaTest;

std::vector<Tensor> sampled(const Tensor& x, const Tensor& grid, const GridSampleOptions& o, Device device) {
  const Tensor in[] = {x.to(device).clone().requires_grad_(), grid.to(device).clone().requires_grad_()};
  const Tensor y = grid_sample(in[0], in[1], o), g = sin(y).detach();
  const std::vector<Tensor> gradients = grad({&y, 1}, in, {&g, 1});
  return {y.detach(), gradients[0], gradients[1]};
}

TEST_F(CudaSampling, IsTheCpusInEveryMode) {
  for (const DType d : {float64, float32, float16})
    for (const int dims : {2, 3})
      for (const char* mode : {"bilinear", "nearest", "bicubic"})
        for (const char* padding : {"zeros", "border", "reflection"})
          for (const bool corners : {false, true}) {
            if (dims == 3 && std::string(mode) == "bicubic") continue;
            SCOPED_TRACE(std::string(name(d)) + " " + mode + " " + padding + " " + std::to_string(dims));
            const Tensor x = randn(dims == 2 ? Shape{3, 5, 9, 11} : Shape{2, 3, 5, 6, 7}).to(d);
            const Tensor grid = (randn(dims == 2 ? Shape{3, 20, 21, 2} : Shape{2, 6, 7, 8, 3}) * 0.8).to(d);
            const GridSampleOptions o{.mode = mode, .padding_mode = padding, .align_corners = corners};
            const auto want = sampled(x, grid, o, Device()), got = sampled(x, grid, o, kCuda);
            for (std::size_t i = 0; i < want.size(); ++i)
              expect_close(back(got[i]), want[i], tolerance(d).times(d == float16 ? 30 : 300));
          }
}
TEST_F(CudaSampling, IsTheSameEachTimeIfThatIsAskedFor) {
  const Tensor x = randn({2, 4, 6, 6}), grid = randn({2, 50, 50, 2}) * 0.5;
  use_deterministic_algorithms(true);
  const auto first = sampled(x, grid, {}, kCuda), second = sampled(x, grid, {}, kCuda);
  use_deterministic_algorithms(false);
  for (std::size_t i = 0; i < first.size(); ++i) expect_same(back(first[i]), back(second[i]));
  expect_close(back(first[1]), sampled(x, grid, {}, Device())[1], tolerance(float32).times(300));
}
TEST_F(CudaSampling, PointsThatAreNoNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), far = 1e30;
  const Tensor x = randn({1, 2, 3, 3}), grid = from_loop({1, 1, 3, 2}, float32, [&](const Shape&at) {
                                          return Scalar(at[2] == 0 ? nan : at[2] == 1 ? far : -far);
                                        });
  for (const char* padding : {"zeros", "border"}) {
    const GridSampleOptions o{.padding_mode = padding};
    expect_close(back(grid_sample(there(x), there(grid), o)), grid_sample(x, grid, o));
  }
}

Tensor whole(const Shape& s, std::int64_t low, std::int64_t high) { return randint(low, high, s); }

struct Sizes {
  std::int64_t most, samples, classes, length;
};

TEST_F(CudaPaths, AreTheCpusForAnyLengths) {
  for (const DType d : {float32, float64})
    for (const Sizes& z : {Sizes{12, 4, 6, 5}, {1, 3, 4, 1}, {200, 3, 30, 80}, {50, 2, 5000, 20}, {1500, 2, 8, 600}}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(z.most) + " " + std::to_string(z.classes));
      const Tensor x = log_softmax(randn({z.most, z.samples, z.classes}).to(d), 2);
      const Tensor targets = whole({z.samples, z.length}, 1, z.classes);
      const Tensor times =
          from_loop({z.samples}, int64, [&](const Shape& at) { return Scalar(z.most - at[0] % z.most); });
      const Tensor labels = from_loop(
          {z.samples}, int64, [&](const Shape& at) { return Scalar(std::max<std::int64_t>(z.length - at[0], 0)); });
      const auto run = [&](Device device) {
        const Tensor in = x.to(device).clone().requires_grad_();
        const Tensor y = ctc_loss(in, targets.to(device), times.to(device), labels.to(device),
                                  {.reduction = Reduction::none, .zero_infinity = true});
        const Tensor g = cos(y).detach();
        return std::pair(y.detach(), grad({&y, 1}, {&in, 1}, {&g, 1})[0]);
      };
      const auto want = run(Device()), got = run(kCuda);
      const Tolerance t = tolerance(d).times(d == float32 ? 1000 : 300);
      expect_close(back(got.first), want.first, t);
      expect_close(back(got.second), want.second, t);
    }
}
TEST_F(CudaPaths, WithoutAPathAreInfinite) {
  const Tensor x = there(log_softmax(randn({3, 1, 4}), 2)).requires_grad_();
  const Tensor targets = there(from_loop({1, 3}, int64, [](const Shape&) { return Scalar(1); })),
               times = there(from_loop({1}, int64, [](const Shape&) { return Scalar(3); }));
  const Tensor y = ctc_loss(x, targets, times, times, {.reduction = Reduction::sum});
  EXPECT_EQ(back(y.detach()).item<double>(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(back(grad({&y, 1}, {&x, 1})[0]).to_vector<float>()[0]));
  const Tensor z = ctc_loss(x, targets, times, times, {.reduction = Reduction::sum, .zero_infinity = true});
  EXPECT_EQ(back(z.detach()).item<double>(), 0);
  expect_close(back(grad({&z, 1}, {&x, 1})[0]), zeros({3, 1, 4}));
}
TEST_F(CudaPaths, LabelsOutsideAreReported) {
  const Tensor x = there(randn({3, 1, 4})), one = there(ones({1}).to(int64));
  EXPECT_THROW(back(ctc_loss(x, there((ones({1, 1}) * 4).to(int64)), there((ones({1}) * 3).to(int64)), one)),
               IndexError);
}

}  // namespace
}  // namespace neura::test
