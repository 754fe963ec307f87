// Deviations and normalisations of float32 numbers whose squares leave the range of float32, against the same in
// float64.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

constexpr DType f32 = DType::float32, f64 = DType::float64;
constexpr double kSizes[] = {1e25, 1e35, 1e19, 1, 1e-20, 1e-30};

Tensor numbers(const Shape& shape, double by, std::uint64_t seed = 5) {
  manual_seed(seed);
  return (randn(shape, {.dtype = f64}) * by).to(f32);
}
double error(const Tensor& got, const Tensor& right) {
  return max(abs(got.detach().to(f64) - right.detach())).item<double>() / max(abs(right.detach())).item<double>();
}

template <class F> void expect_as_in_double(const Tensor& x, const F& f, const char* what) {
  Tensor a = x.clone().requires_grad_(), b = x.to(f64).requires_grad_();
  const Tensor y = f(a), right = f(b), g = numbers(y.shape(), 1, 6);
  EXPECT_LT(error(y, right), 2e-6) << what;
  y.backward(g), right.backward(g.to(f64));
  EXPECT_LT(error(a.grad(), b.grad()), 4e-6) << what << ": gradient";
}

TEST(MomentsRange, DeviationsOfHugeAndTinyNumbersAreThoseOfFloat64) {
  for (const double by : kSizes) {
    SCOPED_TRACE(by);
    const Tensor x = numbers({3, 7, 40}, by);
    expect_as_in_double(
        x, [](const Tensor& v) { return std(v, 2); }, "last dimension");
    expect_as_in_double(
        x,
        [](const Tensor& v) {
          return std(v, {0, 2}, 0, true);
        },
        "two dimensions");
    expect_as_in_double(
        x.transpose(0, 2), [](const Tensor& v) { return std(v, 1); }, "transposed");
    expect_as_in_double(
        x, [](const Tensor& v) { return std(v); }, "all");
    expect_as_in_double(
        x, [](const Tensor& v) { return std_mean(v, 1).spread; }, "std_mean");
    expect_as_in_double(
        x,
        [](const Tensor& v) {
          return std(view_as_complex(v.reshape({3, 140, 2})), 1);
        },
        "complex");
    expect_as_in_double(
        x + 2 * by, [](const Tensor& v) { return std(v, 2); }, "away from 0");
  }
}
TEST(MomentsRange, VariancesLoseNoDigitsAtTheEndsOfTheRange) {
  for (const double by : {8e18, 1e-18, 3e-19}) {  // squares near the ends of normal numbers
    const Tensor x = numbers({4, 1000}, by);
    EXPECT_LT(error(var(x, 1), var(x.to(f64), 1)), 1e-6) << by;
  }
  EXPECT_EQ(var(numbers({100}, 1e25)).item<double>(), INFINITY);  // what no float holds
}
TEST(MomentsRange, MeansOfTheLargestNumbersAreRight) {
  const auto [deviation, mean] = std_mean(tensor({3e38, -3e38, 3e38, -1e38}, {.dtype = f32}), 0, 0);
  EXPECT_FLOAT_EQ(mean.item<float>(), 5e37f);
  EXPECT_FLOAT_EQ(deviation.item<float>(), float(std::sqrt(2 * 2.5 * 2.5 + 3.5 * 3.5 + 1.5 * 1.5) / 2 * 1e38));
}
TEST(MomentsRange, OfMixedRowsEachIsRight) {
  const Tensor x =
      tensor({{1e25, -1e25}, {1e-30, -1e-30}, {0.0, 0.0}, {3.0, 5.0}, {7.0, 7.0}, {1e-20, 1e-20}}, {.dtype = f32});
  const double right[] = {1e25, 1e-30, 0, 1, 0, 0};
  for (const Tensor& v : {x, x.t().contiguous().t()})
    for (int i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(std(v, 1, 0)[i].item<float>(), float(right[i])) << i;
  EXPECT_TRUE(std::isnan(std(tensor({1e25, double(NAN)}, {.dtype = f32})).item<double>()));
  EXPECT_TRUE(std::isnan(std(tensor({1e25, -double(INFINITY)}, {.dtype = f32})).item<double>()));
  EXPECT_TRUE(std::isnan(std(zeros({0})).item<double>()));
  EXPECT_TRUE(std::isnan(std(tensor({1e25}, {.dtype = f32})).item<double>()));  // one number is no sample
}
TEST(MomentsRange, OfAComplexNumberAlone) {
  const Tensor x = view_as_complex(tensor({1.5, 2.0}, {.dtype = f32}));
  for (const auto f : {+[](const Tensor&v, double c) { return var(v, {}, c); },
                       +[](const Tensor&v, double c) { return std(v, {}, c); }}) {
    EXPECT_TRUE(std::isnan(f(x, 1).item<double>()));
    EXPECT_EQ(f(x, 0).item<double>(), 0);
    EXPECT_EQ(f(x, 0).dtype(), f32);
    EXPECT_EQ(f(x, 0).dim(), 0);
  }
  EXPECT_EQ(var_mean(x, {0}, 0, true).spread.shape(), Shape{});
}

template <class F> void expect_norm(double by, const F& f, const char* what) {
  expect_as_in_double(numbers({4, 6, 5, 8}, by), f, what);
}
TEST(MomentsRange, NormalisationsOfHugeAndTinyNumbersAreThoseOfFloat64) {
  for (const double by : kSizes)
    for (const double eps : {1e-5, 0.0}) {
      if (by < 1e-15 && eps > 0) continue;  // all but 0
      SCOPED_TRACE(by);
      manual_seed(3);
      const Tensor w6 = rand({6}) + 0.5, b6 = randn({6}), w8 = rand({8}) + 0.5, b8 = randn({8});
      const auto of = [](const Tensor& parameter, const Tensor& x) { return parameter.to(x.dtype()); };
      expect_norm(
          by, [&](const Tensor& x) { return layer_norm(x, {8}, of(w8, x), of(b8, x), {.eps = eps}); }, "layer");
      expect_norm(
          by,
          [&](const Tensor& x) {
            return layer_norm(x, {5, 8}, {}, {}, {.eps = eps});
          },
          "layer, plain");
      expect_norm(
          by, [&](const Tensor& x) { return rms_norm(x, {8}, of(w8, x), {.eps = eps}); }, "rms");
      expect_norm(
          by, [&](const Tensor& x) { return group_norm(x, 2, of(w6, x), of(b6, x), {.eps = eps}); }, "group");
      expect_norm(
          by, [&](const Tensor& x) { return instance_norm(x, {}, {}, of(w6, x), of(b6, x), {.eps = eps}); },
          "instance");
      const auto batch = [&](const Tensor& x) {
        return batch_norm(x, {}, {}, of(w6, x), of(b6, x), {.training = true, .eps = eps});
      };
      expect_norm(by, batch, "batch");
      expect_as_in_double(numbers({50, 6}, by), batch, "batch of features");
    }
}

}  // namespace
}  // namespace neura
