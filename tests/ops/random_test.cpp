// Distributions, and that the numbers depend on seed, offset and place alone.
#include "neura/ops/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"

namespace neura {
namespace {
using test::error_of;
using test::expect_close;
using test::expect_same;

struct Moments {
  double mean = 0, variance = 0, least = INFINITY, greatest = -INFINITY;
  explicit Moments(const Tensor& t) {
    const std::vector<double> v = contiguous(t).to(float64).to_vector<double>();
    for (double x : v) mean += x / double(v.size()), least = std::min(least, x), greatest = std::max(greatest, x);
    for (double x : v) variance += (x - mean) * (x - mean) / double(v.size());
  }
};
constexpr std::int64_t kMany = 200000;

template <class F> void expect_same_on_any_number_of_threads(F make) {
  const int before = get_num_threads();
  set_num_threads(1);
  manual_seed(3);
  const Tensor one = make();
  set_num_threads(4);
  manual_seed(3);
  const Tensor four = make();
  set_num_threads(before);
  expect_same(four, one);
}
}  // namespace

TEST(Random, SeedDecides) {
  manual_seed(1);
  const Tensor a = rand({100}), b = rand({100});
  manual_seed(1);
  expect_same(rand({100}), a);
  expect_same(rand({100}), b);
  EXPECT_NE(a.to_vector<float>(), b.to_vector<float>());
  Generator g(1);
  expect_same(rand({100}, {.generator = &g}), a);
}

TEST(Random, AShorterCallGivesTheBeginningOfALongerOne) {
  for (DType d : {float32, float64, float16, complex64}) {
    manual_seed(2);
    const Tensor whole = randn({1000}, {.dtype = d});
    manual_seed(2);
    expect_same(randn({37}, {.dtype = d}), narrow(whole, 0, 0, 37));
  }
}

TEST(Random, ThreadsDoNotMatter) {
  expect_same_on_any_number_of_threads([] { return randn({50001}); });
  expect_same_on_any_number_of_threads([] { return rand({50001}, {.dtype = float64}); });
  expect_same_on_any_number_of_threads([] { return randint(1 << 30, {50001}); });
  expect_same_on_any_number_of_threads([] {
    Tensor t = zeros({50001});
    return exponential_(t);
  });
}

TEST(Random, LayoutDoesNotMatter) {
  manual_seed(4);
  Tensor dense = zeros({30, 20}, {.dtype = float64});
  normal_(dense);
  manual_seed(4);
  Tensor turned = zeros({20, 30}, {.dtype = float64}).t();
  normal_(turned);
  expect_same(contiguous(turned), dense);
  manual_seed(4);
  Tensor part = zeros({30, 50}, {.dtype = float64}).slice(1, 3, 43, 2);
  normal_(part);
  expect_same(contiguous(part), dense);
}

TEST(Random, UniformFillsItsInterval) {
  for (DType d : {float32, float64}) {
    const Moments m(rand({kMany}, {.dtype = d}));
    EXPECT_GE(m.least, 0);
    EXPECT_LT(m.greatest, 1);
    EXPECT_NEAR(m.mean, 0.5, 0.005);
    EXPECT_NEAR(m.variance, 1 / 12., 0.002);
  }
  Tensor t = zeros({kMany});
  const Moments m(uniform_(t, -3, 5));
  EXPECT_NEAR(m.mean, 1, 0.05);
  EXPECT_GE(m.least, -3);
}

TEST(Random, NormalHasItsMoments) {
  for (DType d : {float32, float64, bfloat16}) {
    const Moments m(normal(2, 3, {kMany}, {.dtype = d}));
    EXPECT_NEAR(m.mean, 2, 0.05) << name(d);
    EXPECT_NEAR(m.variance, 9, 0.2);
  }
  const Tensor z = randn({kMany}, {.dtype = complex64});
  EXPECT_NEAR(Moments(contiguous(real(z))).variance, 0.5, 0.02);
  EXPECT_NEAR(Moments(contiguous(imag(z))).variance, 0.5, 0.02);
}

TEST(Random, OtherDistributionsHaveTheirMeans) {
  Tensor t = zeros({kMany});
  EXPECT_NEAR(Moments(exponential_(t, 4)).mean, 0.25, 0.005);
  EXPECT_NEAR(Moments(geometric_(t, 0.25)).mean, 4, 0.1);
  EXPECT_NEAR(Moments(log_normal_(t, 0, 0.5)).mean, std::exp(0.125), 0.02);
  EXPECT_NEAR(Moments(bernoulli_(t, 0.3)).mean, 0.3, 0.01);
  EXPECT_NEAR(Moments(poisson(full({20000}, 3.))).mean, 3, 0.1);
  EXPECT_NEAR(Moments(poisson(full({20000}, 50.))).mean, 50, 0.5);
  EXPECT_NEAR(Moments(poisson(full({20000}, 50.))).variance, 50, 3);
  cauchy_(t, 1, 2);
  std::vector<float> v = t.to_vector<float>();
  std::nth_element(v.begin(), v.begin() + kMany / 2, v.end());
  EXPECT_NEAR(v[kMany / 2], 1, 0.05);
}

TEST(Random, IntegersCoverTheirRange) {
  const Moments m(randint(-2, 5, {kMany}));
  EXPECT_EQ(m.least, -2);
  EXPECT_EQ(m.greatest, 4);
  EXPECT_NEAR(m.mean, 1, 0.05);
  EXPECT_EQ(randint(3, {2}).dtype(), int64);
  Tensor wide = zeros({kMany}, {.dtype = int64});
  random_(wide);
  EXPECT_GE(Moments(wide).least, 0);
  Tensor small = zeros({kMany}, {.dtype = uint8});
  EXPECT_EQ(Moments(random_(small)).greatest, 255);
  EXPECT_EQ(error_of<ValueError>([] { randint(5, 5, {2}); }), "randint: expected low less than high, got 5 and 5");
}

TEST(Random, PermutationsHoldEveryNumberOnce) {
  std::vector<std::int64_t> p = randperm(1000).to_vector<std::int64_t>();
  EXPECT_FALSE(std::is_sorted(p.begin(), p.end()));
  std::sort(p.begin(), p.end());
  for (std::int64_t i = 0; i < 1000; ++i) ASSERT_EQ(p[std::size_t(i)], i);
  EXPECT_EQ(randperm(0).numel(), 0);
}

TEST(Random, BernoulliFollowsItsProbabilities) {
  const Tensor y = bernoulli(tensor({0., 1., 0.5}).expand({20000, 3}));
  EXPECT_EQ(Moments(y.select(1, 0)).mean, 0);
  EXPECT_EQ(Moments(y.select(1, 1)).least, 1);
  EXPECT_NEAR(Moments(y.select(1, 2)).mean, 0.5, 0.02);
  EXPECT_EQ(error_of<ValueError>([] { bernoulli(tensor({1.5})); }),
            "bernoulli: expected values of at least 0 and at most 1, got 1.500000");
}

TEST(Random, BernoulliOfOneProbabilityAndEveryDtype) {
  for (const DType d : {boolean, uint8, int64, float16, float32, float64}) {
    SCOPED_TRACE(name(d));
    Tensor t = zeros({20000}, {.dtype = d});
    EXPECT_NEAR(Moments(bernoulli_(t, 0.3)).mean, 0.3, 0.02);
    EXPECT_EQ(t.dtype(), d);
    EXPECT_EQ(Moments(bernoulli_(t, 0)).greatest, 0);
    EXPECT_EQ(Moments(bernoulli_(t, 1)).least, 1);
  }
  Tensor t = zeros({2});
  EXPECT_THROW(bernoulli_(t, 1.5), ValueError);
  EXPECT_THROW(bernoulli_(t, -0.1), ValueError);
}
TEST(Random, IntegersOfEveryDtype) {
  for (const DType d : {uint8, int8, int16, int32, int64, float32, float64}) {
    const Tensor t = randint(3, 9, {kMany / 20}, {.dtype = d});
    const Moments m(t);
    EXPECT_TRUE(t.dtype() == d && m.least == 3 && m.greatest == 8) << name(d);
  }
}
TEST(Random, NormalHasTails) {
  const std::vector<float> v = randn({kMany}).to_vector<float>();
  const auto beyond = [&](float x) {
    return double(std::count_if(v.begin(), v.end(), [x](float z) { return std::abs(z) > x; })) / double(kMany);
  };
  EXPECT_NEAR(beyond(1), 0.3173, 0.01);
  EXPECT_NEAR(beyond(2), 0.0455, 0.004);
  EXPECT_NEAR(beyond(3), 0.0027, 0.001);
  EXPECT_GT(beyond(4), 0);
}
TEST(Random, StatesComeBack) {
  Generator g(8);
  (void)randn({10}, {.generator = &g});
  const auto state = g.state();
  const Tensor a = randn({10}, {.generator = &g});
  g.set_state(state);
  expect_same(randn({10}, {.generator = &g}), a);
  Generator other(9);
  EXPECT_NE(randn({10}, {.generator = &other}).to_vector<float>(), a.to_vector<float>());
}

TEST(Random, MultinomialFollowsItsWeights) {
  const Tensor w = tensor({1., 0., 3.});
  const std::vector<std::int64_t> v = multinomial(w, 20000, true).to_vector<std::int64_t>();
  EXPECT_EQ(std::count(v.begin(), v.end(), 1), 0);
  EXPECT_NEAR(double(std::count(v.begin(), v.end(), 2)) / 20000, 0.75, 0.02);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::int64_t> two = multinomial(w, 2).to_vector<std::int64_t>();
    std::sort(two.begin(), two.end());
    EXPECT_EQ(two, (std::vector<std::int64_t>{0, 2}));
  }
  EXPECT_EQ(multinomial(rand({4, 5}), 3).shape(), (Shape{4, 3}));
  EXPECT_EQ(error_of<ValueError>([&] { multinomial(w, 4); }),
            "multinomial: expected num_samples above 0 and, without replacement, at most 3, got 4");
  for (const bool replacement : {false, true})
    EXPECT_EQ(error_of<ValueError>([&] {
                multinomial(mul(eye(3), tensor({1., 0., 1.})), 1, replacement);
              }),
              "multinomial: expected a weight above 0 in every row, got none in row 1");
}
TEST(Random, MultinomialDrawsWhatWeighsNothingLast) {  // torch: one weight above 0 is enough
  std::vector<std::int64_t> all = multinomial(tensor({0., 0., 3., 0., 1.}), 5).to_vector<std::int64_t>();
  EXPECT_EQ(all[0] + all[1], 2 + 4);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  for (int row = 0; row < 3; ++row) EXPECT_EQ(multinomial(eye(3), 2)[row][0].item<std::int64_t>(), row);
}

TEST(Random, FirstDrawWithoutReplacementFollowsItsWeights) {
  const Tensor first = multinomial(tensor({1., 3.}).expand({20000, 2}), 2).select(1, 0);
  EXPECT_NEAR(Moments(first).mean, 0.75, 0.02);
}

TEST(Random, RefusesWhatItCannotDraw) {
  EXPECT_EQ(error_of<DTypeError>([] { rand({2}, {.dtype = int64}); }), "uniform: expected a floating dtype, got int64");
  Tensor t = zeros({2});
  EXPECT_EQ(error_of<ValueError>([&] { normal_(t, 0, -1); }), "normal: expected std of at least 0, got -1.000000");
  EXPECT_EQ(rand({2, 0}).numel(), 0);
}

}  // namespace neura
