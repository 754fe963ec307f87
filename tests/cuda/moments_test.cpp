// Moments and normalisations of numbers far from 0 on CUDA, against float64: a float32 holds a mean of 10^6 to 0.03.
#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

class CudaMoments : public CudaTest {
 protected:
  static Tensor far_numbers(const Shape& shape, double mean, double deviation) {
    manual_seed(7);
    return (randn(shape, {.dtype = DType::float64}) * deviation + mean).to(DType::float32);
  }
  static void expect_near(const Tensor& got, const Tensor& right, double most, const char* what) {
    const Tensor error = abs(back(got).to(DType::float64) - right);
    EXPECT_LT(max(error).item<double>(), most * max(abs(right)).item<double>()) << what;
  }
};

TEST_F(CudaMoments, OfNumbersFarFromZeroAreThoseOfFloat64) {
  for (const auto& [mean, deviation] : {std::pair{1e6, 1.0}, {1e7, 2.0}, {0.0, 1.0}})
    for (const auto& [shape, dims] : {std::pair<Shape, Dims>{{600, 4096}, {1}},
                                      {{3, 4096}, {1}},
                                      {{2, 1 << 20}, {1}},
                                      {{4096, 70}, {0}},
                                      {{16, 5, 256}, {0, 2}},
                                      {{300, 7}, {1}}}) {
      const Tensor x = far_numbers(shape, mean, deviation), wide = x.to(DType::float64);
      SCOPED_TRACE(shape.str());
      expect_near(var(x.to(kCuda), dims), var(wide, dims), 2e-6, "var");
      expect_near(std(x.to(kCuda), dims), std(wide, dims), 2e-6, "std");
    }
}

TEST_F(CudaMoments, NormalisationsOfNumbersFarFromZeroAreThoseOfFloat64) {
  using Function = Tensor (*)(const Tensor&, const Tensor&);
  const auto compare = [](const Tensor& x, int channels, Function f, const char* what) {
    const Tensor w = rand({channels}) + 0.5, g = randn(x.shape());
    const auto both = [&](const Tensor& like) {
      Tensor a = like.clone().requires_grad_(), b = w.to(like.dtype()).to(like.device()).requires_grad_();
      const Tensor y = f(a, b);
      y.backward(g.to(like.dtype()).to(like.device()));
      return std::vector<Tensor>{y.detach(), a.grad(), b.grad()};
    };
    const std::vector<Tensor> got = both(x.to(kCuda)), right = both(x.to(DType::float64));
    for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], right[i], 4e-6, what);
  };
  const Function layer = [](const Tensor& x, const Tensor& w) { return layer_norm(x, w.shape(), w); };
  const Function batch = [](const Tensor& x, const Tensor& w) {
    return batch_norm(x, {}, {}, w, {}, {.training = true});
  };
  for (const auto& [mean, deviation] : {std::pair{1e6, 1.0}, {1e7, 2.0}}) {
    compare(far_numbers({64, 1024}, mean, deviation), 1024, layer, "layer_norm");
    compare(far_numbers({4, 3, 64, 64}, mean, deviation), 3, batch, "batch_norm");
    compare(far_numbers({4096, 8}, mean, deviation), 8, batch, "batch_norm of features");
  }
}

TEST_F(CudaMoments, SumsOverRowsOfHalvesAreThoseOfFloat64) {
  for (const DType d : {DType::bfloat16, DType::float16})
    for (const auto& [rows, n] : {std::pair(63, 8), {64, 8}, {65, 24}, {1000, 264}, {4099, 768}, {129, 4104}}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(n) + " " + name(d));
      manual_seed(rows);
      const Tensor x = rand({rows, n + 8}).to(d), on = there(x);
      for (const std::int64_t from : {0, 8, 3}) {  // the last is not aligned
        const Tensor part = on.slice(1, from, from + n),
                     right = sum(x.slice(1, from, from + n).to(DType::float64), {0});
        expect_near(sum(part, {0}, false, DType::float32), right, 2e-6, "in float32");
        expect_near(sum(part, {0}), right, d == DType::bfloat16 ? 4e-3 : 5e-4, "rounded once");
        expect_same(back(sum(part, {0})), back(sum(part, {0})));
      }
    }
}

}  // namespace
}  // namespace neura::test
