#include "neura/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/nn/container.h"
#include "neura/nn/conv.h"
#include "neura/nn/linear.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/spatial/conv.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::nn {
namespace {

using test::error_of;

Tensor blank(const Shape& shape, DType dtype = DType::float32) { return Tensor::empty(Spec::dense(dtype, shape)); }

struct Moments {
  double mean = 0, variance = 0, least = INFINITY, most = -INFINITY;
  explicit Moments(const Tensor& t) {
    const auto v = t.detach().to(DType::float64).contiguous().to_vector<double>();
    for (double x : v) mean += x / double(v.size()), least = std::min(least, x), most = std::max(most, x);
    for (double x : v) variance += (x - mean) * (x - mean) / double(v.size());
  }
};
// Of 40,000 samples the mean lies within five standard errors and the variance within 5 %.
void expect_moments(const Tensor& t, double mean, double variance) {
  const Moments m(t);
  EXPECT_NEAR(m.mean, mean, 5 * std::sqrt(variance / double(t.numel())));
  EXPECT_NEAR(m.variance, variance, 0.05 * variance);
}

TEST(Init, FillsWithDistributions) {
  Generator g(7);
  const Tensor t = blank({200, 200});
  expect_moments(init::uniform_(t, -1, 3, &g), 1, 16.0 / 12);
  EXPECT_GE(Moments(t).least, -1);
  EXPECT_LE(Moments(t).most, 3);
  expect_moments(init::normal_(t, 2, 0.5, &g), 2, 0.25);
  init::trunc_normal_(t, 0, 1, -1, 2, &g);
  EXPECT_GE(Moments(t).least, -1);
  EXPECT_LE(Moments(t).most, 2);
  // The mean of a normal between a and b: (density(a) - density(b)) / (distribution(b) - distribution(a)).
  auto density = [](double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); };
  auto below = [](double x) { return 0.5 * (1 + std::erf(x / std::sqrt(2))); };
  EXPECT_NEAR(Moments(t).mean, (density(-1) - density(2)) / (below(2) - below(-1)), 0.02);
}

TEST(Init, FollowsFans) {
  Generator g(3);
  const Tensor linear = blank({100, 400}), conv = blank({50, 32, 5, 5});
  const double fan_in = 32 * 25, fan_out = 50 * 25;
  expect_moments(init::xavier_normal_(linear, 2, &g), 0, 4 * 2.0 / 500);
  expect_moments(init::xavier_uniform_(conv, 1, &g), 0, 2 / (fan_in + fan_out));
  EXPECT_LE(Moments(conv).most, std::sqrt(6 / (fan_in + fan_out)));
  expect_moments(init::kaiming_normal_(conv, {.mode = "fan_out", .nonlinearity = "relu", .generator = &g}), 0,
                 2 / fan_out);
  expect_moments(init::kaiming_uniform_(conv, {.a = 1, .generator = &g}), 0, 1 / fan_in);
  EXPECT_LE(Moments(conv).most, std::sqrt(3 / fan_in));
  EXPECT_EQ(error_of<ValueError>([&] { init::kaiming_normal_(conv, {.mode = "both"}); }),
            "kaiming_normal_: expected mode fan_in or fan_out, got both");
  EXPECT_EQ(error_of<ShapeError>([&] { init::xavier_normal_(blank({3})); }),
            "calculate_fan_in_and_fan_out: expected at least 2 dimensions, got [3]");
}

TEST(Init, KnowsGainsAndFans) {
  EXPECT_EQ(init::calculate_gain("conv2d"), 1);
  EXPECT_EQ(init::calculate_gain("tanh"), 5.0 / 3);
  EXPECT_EQ(init::calculate_gain("relu"), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(init::calculate_gain("leaky_relu", 0.2), std::sqrt(2 / 1.04));
  EXPECT_DOUBLE_EQ(init::calculate_gain("leaky_relu"), std::sqrt(2 / 1.0001));
  EXPECT_EQ(init::calculate_gain("selu"), 0.75);
  EXPECT_THROW(init::calculate_gain("sine"), ValueError);
  const init::Fans f = init::calculate_fan_in_and_fan_out(blank({6, 4, 3, 5}));
  EXPECT_EQ(f.in, 60);
  EXPECT_EQ(f.out, 90);
}

TEST(Init, FillsConstantsOnStridedViews) {
  const Tensor whole = blank({4, 6}), view = whole.t().slice(0, 0, 6, 2);
  init::zeros_(whole), init::ones_(view);
  EXPECT_EQ(sum(whole).item<double>(), 12);
  init::eye_(view);
  EXPECT_EQ(sum(view).item<double>(), 3);
  EXPECT_EQ(view[1][1].item<double>(), 1);
  EXPECT_EQ(error_of<ShapeError>([&] {
              init::eye_(blank({2, 2, 2}));
            }),
            "eye_: expected a tensor of 2 dimensions, got [2, 2, 2]");
}

TEST(Init, RecordsNothing) {
  Parameter p(blank({3, 3}));
  init::orthogonal_(init::kaiming_uniform_(p));
  EXPECT_TRUE(p.is_leaf() && p.requires_grad());
}

TEST(Init, MakesOrthogonalRowsOrColumns) {
  for (const Shape& s : {Shape{6, 6}, Shape{4, 9}, Shape{9, 4}, Shape{3, 2, 5}}) {
    const Tensor t = init::orthogonal_(blank(s, DType::float64), 2).reshape({s[0], -1});
    const Tensor small = t.size(0) <= t.size(1) ? t.matmul(t.t()) : t.t().matmul(t);
    const Tensor eye = init::eye_(blank(small.shape(), DType::float64));
    test::expect_close(small, eye * 4, {1e-12, 0});
  }
}

TEST(Init, PassesChannelsOn) {
  const Tensor w = init::dirac_(blank({4, 4, 3, 3})), x = test::sample({1, 4, 5, 5});
  test::expect_close(conv2d(x, w, {}, {.padding = 1}), x);
  const Tensor grouped = init::dirac_(blank({4, 2, 3}), 2), y = test::sample({1, 4, 7});
  test::expect_close(conv1d(y, grouped, {}, {.padding = 1, .groups = 2}), y);
}

TEST(Init, IsSparseByColumn) {
  const Tensor t = init::sparse_(blank({10, 4}), 0.25);
  for (std::int64_t c = 0; c < 4; ++c) {
    int zeros = 0;
    for (double x : t.t()[c].to(DType::float64).contiguous().to_vector<double>()) zeros += x == 0;
    EXPECT_EQ(zeros, 3);
  }
}

// On a device each call is a kernel.
TEST(Init, SparseTakesNoMoreCallsForMoreRows) {
  struct Calls : Interceptor {
    int seen = 0;
    void call(Call& c) override { ++seen, apply(c); }
  };
  const auto calls = [](std::int64_t rows) {
    const Tensor t = blank({rows, 4});
    const Calls counted;
    init::sparse_(t, 0.5);
    return counted.seen;
  };
  EXPECT_GT(calls(10), 0);
  EXPECT_EQ(calls(1000), calls(10));
}

TEST(Init, ByApplyChangesTheChosenLayersAlone) {
  Sequential net(Conv2d(3, 4, 3), Linear(60, 40));
  const Tensor kernel = net.at<Conv2d>(0).weight.detach().clone(), shift = net.at<Conv2d>(0).bias.detach().clone();
  net.apply([](Module& m) {
    auto* linear = m.as<Linear>();
    if (!linear) return;
    init::normal_(linear->weight, 3, 0.01);
    init::zeros_(linear->bias);
  });
  const auto& linear = net.at<Linear>(1);
  EXPECT_NEAR(linear.weight.detach().mean().item<double>(), 3, 1e-2);
  EXPECT_NEAR(neura::std(linear.weight.detach()).item<double>(), 0.01, 2e-3);
  test::expect_same(linear.bias.detach(), Tensor(linear.bias.detach().clone()).zero_());
  test::expect_same(net.at<Conv2d>(0).weight.detach(), kernel);
  test::expect_same(net.at<Conv2d>(0).bias.detach(), shift);
}

TEST(Init, IsRepeatable) {
  Generator a(5), b(5);
  test::expect_same(init::normal_(blank({100}), 0, 1, &a), init::normal_(blank({100}), 0, 1, &b));
}

}  // namespace
}  // namespace neura::nn
