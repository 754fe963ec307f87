#include "neura/nn/clip.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/nn/parameter.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
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
      "clip_grad_norm_: expected finite gradients, got a total norm of nan; set error_if_nonfinite = false to continue "
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
      "get_total_norm: expected finite gradients, got a total norm of inf; set error_if_nonfinite = false to continue "
      "anyway");
}

TEST(ClipGradNorm, MixesDtypesAndLayouts) {
  const std::pair<DType, DType> kinds[] = {{DType::float32, DType::float32},
                                           {DType::bfloat16, DType::bfloat16},
                                           {DType::float16, DType::float16},
                                           {DType::complex64, DType::float32},
                                           {DType::complex128, DType::float64}};
  for (const auto& [dtype, real] : kinds) {
    const Tensor a = test::sample({3, 5}, dtype), b = test::sample({1500}, dtype), c = a.t();
    const Tensor none = test::sample({0}, dtype);
    for (const bool dense : {true, false}) {
      std::vector<Tensor> g = {a.clone(), b.clone(), c.clone(), none.clone()}, p;
      if (!dense) g.push_back(test::sample({8}, dtype).slice(0, 0, 8, 2));
      double sum = 0;
      std::vector<Tensor> before;
      for (const Tensor& t : g) {
        p.push_back(Parameter(zeros_like(t))), p.back().set_grad(t), before.push_back(t.clone());
        const Tensor wide = abs(t).to(DType::float64);
        sum += neura::sum(wide * wide).item<double>();
      }
      const Tensor total = clip_grad_norm_(p, 0.5);
      EXPECT_EQ(total.dtype(), real);
      test::expect_close(total.to(DType::float64),
                         test::from_loop({}, DType::float64, [&](const Shape&) { return std::sqrt(sum); }),
                         test::tolerance(real).times(4));
      for (std::size_t i = 0; i < g.size(); ++i)
        test::expect_close(g[i], before[i] * (0.5 / (std::sqrt(sum) + 1e-6)), test::tolerance(dtype).times(4));
    }
  }
}

TEST(ClipGradNorm, CountsAsAWriteAndLeavesClonesAlone) {
  auto p = parameters();
  const Tensor g = p[0].grad(), copy = g.clone();
  const auto version = g.version();
  clip_grad_norm_(p, 1);
  EXPECT_GT(g.version(), version);
  EXPECT_EQ(copy.item<double>(), 3);
}

TEST(ClipGradNorm, ScalesWhatSharesMemoryOneByOne) {
  const Tensor whole = full({4}, 3.0, {.dtype = DType::float64});
  std::vector<Tensor> p;
  for (int i = 0; i < 2; ++i) {
    p.push_back(Parameter(test::sample({3}, DType::float64)));
    p[std::size_t(i)].set_grad(whole.slice(0, i, i + 3));
  }
  clip_grad_norm_(p, 1);
  const double f = 1 / (std::sqrt(54) + 1e-6);
  test::expect_close(whole, {3 * f, 3 * f * f, 3 * f * f, 3 * f});
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
