#include "neura/nn/clip.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/nn/parameter.h"
#include "neura/ops/rows.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::nn::utils {
namespace {

using test::error_of;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Tensor> parameters() {  // gradients 3 and 4, and one missing
  std::vector<Tensor> p;
  for (int i = 0; i < 3; ++i) p.push_back(Parameter(test::sample({1}, DType::float64)));
  p[0].set_grad(Tensor::empty(p[0].spec()).fill_(3));
  p[2].set_grad(Tensor::empty(p[0].spec()).fill_(-4));
  return p;
}

TEST(ClipGradNorm, ScalesWhatExceeds) {
  auto p = parameters();
  EXPECT_DOUBLE_EQ(clip_grad_norm_(p, 1).item<double>(), 5);
  EXPECT_NEAR(p[0].grad().item<double>(), 0.6, 1e-6);
  EXPECT_NEAR(p[2].grad().item<double>(), -0.8, 1e-6);
  p = parameters();
  EXPECT_DOUBLE_EQ(clip_grad_norm_(p, 10).item<double>(), 5);
  EXPECT_EQ(p[0].grad().item<double>(), 3);
}

TEST(ClipGradNorm, KnowsOtherNorms) {
  EXPECT_DOUBLE_EQ(clip_grad_norm_(parameters(), 1, {.norm_type = 1}).item<double>(), 7);
  EXPECT_DOUBLE_EQ(clip_grad_norm_(parameters(), 1, {.norm_type = kInfinity}).item<double>(), 4);
  EXPECT_NEAR(clip_grad_norm_(parameters(), 1, {.norm_type = 3}).item<double>(), std::cbrt(91), 1e-12);
}

TEST(ClipGradNorm, PassesOverMissingGradients) {
  EXPECT_EQ(clip_grad_norm_({}, 1).item<double>(), 0);
  EXPECT_EQ(clip_grad_norm_({Parameter(test::sample({2}))}, 1).item<double>(), 0);
}

TEST(ClipGradNorm, ReportsWhatIsNotFinite) {
  auto p = parameters();
  p[0].grad().detach().fill_(NAN);
  EXPECT_EQ(
      error_of<ValueError>([&] { clip_grad_norm_(p, 1, {.error_if_nonfinite = true}); }),
      "clip_grad_norm_: expected finite gradients, got a total norm of nan; set error_if_nonfinite = false to go on "
      "anyway");
  EXPECT_EQ(p[2].grad().item<double>(), -4);  // untouched
  EXPECT_TRUE(std::isnan(clip_grad_norm_(p, 1).item<double>()));
  EXPECT_TRUE(std::isnan(p[2].grad().item<double>()));
}

TEST(ClipGradNorm, GoesInTwoSteps) {
  const auto p = parameters();
  const Tensor total = get_total_norm({p[0].grad(), p[2].grad()});
  EXPECT_DOUBLE_EQ(total.item<double>(), 5);
  clip_grads_with_norm_(p, 1, total);
  EXPECT_NEAR(p[2].grad().item<double>(), -0.8, 1e-6);
  clip_grads_with_norm_(p, 1, get_total_norm({p[0].grad(), p[2].grad()}));
  EXPECT_NEAR(p[2].grad().item<double>(), -0.8, 1e-5);
  p[0].grad().detach().fill_(INFINITY);
  EXPECT_EQ(
      error_of<ValueError>([&] { get_total_norm({p[0].grad()}, 2, true); }),
      "get_total_norm: expected finite gradients, got a total norm of inf; set error_if_nonfinite = false to go on "
      "anyway");
}

TEST(ClipGradValue, ClampsInPlace) {
  auto p = parameters();
  const void* bytes = p[2].grad().raw_data();
  clip_grad_value_(p, 3.5);
  EXPECT_EQ(p[0].grad().item<double>(), 3);
  EXPECT_EQ(p[2].grad().item<double>(), -3.5);
  EXPECT_EQ(p[2].grad().raw_data(), bytes);
  EXPECT_EQ(error_of<ValueError>([&] { clip_grad_value_(p, -1); }),
            "clip_grad_value_: expected a value from 0 up, got -1.0");
}

}  // namespace
}  // namespace neura::nn::utils
