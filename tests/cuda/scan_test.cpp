// Scans on CUDA: the CPU's results for every way in which lines are shared among threads.
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

using CudaScans = CudaTest;

struct Case {
  Shape shape;
  int dim;
};
// A warp or a block a line, lines in segments, neighbours side by side, lines that are no whole packs.
const std::vector<Case> cases = {
    {{}, 0},         {{1}, 0},          {{7}, 0},          {{256}, 0},       {{257}, 0},       {{1000}, 0},
    {{1031}, 0},     {{5000}, 0},       {{8192}, 0},       {{70001}, 0},     {{1 << 20}, 0},   {{3, 40000}, 1},
    {{300, 33}, 1},  {{300, 64}, 1},    {{5000, 1100}, 1}, {{100, 2056}, 1}, {{33, 300}, 0},   {{3000, 5}, 0},
    {{64, 2000}, 0}, {{2, 100, 17}, 1}, {{4, 3000, 3}, 1}, {{2, 0, 3}, 1},   {{100000, 2}, 0}, {{2, 3, 4, 5}, 2}};

TEST_F(CudaScans, AreTheCpusForAnyLine) {
  for (const Case& c : cases)
    for (const DType d : {float32, float64, int64, complex64, complex128}) {
      if (d != float32 && c.shape.numel() > 300000) continue;
      SCOPED_TRACE(c.shape.str() + " " + name(d) + " " + std::to_string(c.dim));
      const Tensor h = (is_integral(d) ? (randn(c.shape) * 9).to(int64) : randn(c.shape)).to(d), x = there(h);
      const Tolerance t = tolerance(d).times(10);
      expect_close(back(cumsum(x, c.dim)), cumsum(h, c.dim), t);
      // Products near 1, which neither vanish nor overflow.
      const Tensor near = is_integral(d) ? h : h * 1e-3 + 1.0;
      expect_close(back(cumprod(there(near), c.dim)), cumprod(near, c.dim), t);
      if (is_integral(d)) continue;
      if (d != complex64 || c.shape.numel() < 100000)
        expect_close(back(logcumsumexp(x, c.dim)), logcumsumexp(h, c.dim), t.times(10));
    }
}
TEST_F(CudaScans, OtherDTypesAreConverted) {
  for (const DType d : {boolean, uint8, int32, float16, bfloat16}) {
    SCOPED_TRACE(name(d));
    const Tensor h = (randn({40, 50}) * 2).to(d), x = there(h);
    expect_close(back(cumsum(x, 1)), cumsum(h, 1), tolerance(d).times(2));
    expect_same(back(cummax(x, 0).values), cummax(h, 0).values);
  }
}
TEST_F(CudaScans, ExtremesNameTheLastOfEquals) {
  for (const Case& c : cases)
    for (const DType d : {float32, float64, int64}) {
      if (d != float32 && c.shape.numel() > 300000) continue;
      SCOPED_TRACE(c.shape.str() + " " + name(d) + " " + std::to_string(c.dim));
      const Tensor h = (randn(c.shape) * 2).to(int64).to(d), x = there(h);
      for (const bool largest : {false, true}) {
        const CumulativeResult got = largest ? cummax(x, c.dim) : cummin(x, c.dim);
        const CumulativeResult want = largest ? cummax(h, c.dim) : cummin(h, c.dim);
        expect_same(back(got.values), want.values);
        expect_same(back(got.indices), want.indices);
      }
    }
  const Tensor nan = tensor({1., 3., kNan, 5., kNan, 2.}, {.dtype = float32});
  expect_same(back(cummax(there(nan), 0).values), cummax(nan, 0).values);
  expect_same(back(cummin(there(nan), 0).indices), cummin(nan, 0).indices);
}
TEST_F(CudaScans, GradientsAreTheCpus) {
  for (const Case& c : {Case{{7, 300}, 1}, Case{{300, 7}, 0}, Case{{2, 5000}, 1}, Case{{3, 50, 4}, 1}}) {
    SCOPED_TRACE(c.shape.str());
    const Tensor h = (randn(c.shape) * 1e-2 + 1.0).to(float64), g = randn(c.shape).to(float64);
    const auto gradient = [&](const Tensor& from, const Tensor& up, int which) {
      Tensor x = from.detach().clone().requires_grad_();
      const Tensor y = which == 0 ? cumsum(x, c.dim) : which == 1 ? cumprod(x, c.dim) : logcumsumexp(x, c.dim);
      y.backward(up);
      return x.grad();
    };
    for (int which = 0; which < 3; ++which)
      expect_close(back(gradient(there(h), there(g), which)), gradient(h, g, which), tolerance(float64).times(100));
  }
}
// Factors whose product overflows, and zeros that stop it: no line of the gradient may become NaN.
TEST_F(CudaScans, RecurrencesSurviveFactorsThatOverflow) {
  Tensor h = full({2, 3000}, 3.0, {.dtype = float64}), g = ones({2, 3000}, {.dtype = float64});
  h.select(1, 2900).fill_(0), h.select(1, 10).fill_(0);
  const auto gradient = [](const Tensor& from, const Tensor& up) {
    Tensor x = from.detach().clone().requires_grad_();
    cumprod(x, 1).backward(up);
    return x.grad();
  };
  expect_close(back(gradient(there(h), there(g))), gradient(h, g), tolerance(float64).times(100));
}
TEST_F(CudaScans, SpecialValuesGoThrough) {
  const Tensor h = tensor({-kInfinity, -kInfinity, 1., kInfinity, 2., kNan, 0.}, {.dtype = float32});
  for (const std::int64_t n : {1, 5, 7}) {
    const Tensor part = h.slice(0, 0, n);
    expect_close(back(logcumsumexp(there(part), 0)), logcumsumexp(part, 0));
    expect_close(back(cumsum(there(part), 0)), cumsum(part, 0));
    expect_close(back(cumprod(there(part), 0)), cumprod(part, 0));
  }
}

}  // namespace
}  // namespace neura::test
