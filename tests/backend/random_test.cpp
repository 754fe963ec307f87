#include <algorithm>
#include <cmath>
#include <numeric>

#include "neura/backend/kernels/random.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using RandomKernels = Kernels<random_kernels>;

Draw draw_of(Draw::Kind kind, double a, double b) {
  Draw d;
  d.kind = kind, d.seed = 5, d.offset = 3, d.a = a, d.b = b;
  return d;
}
struct Expected {
  Draw draw;
  double mean, variance;
};
const Expected kDraws[] = {{draw_of(Draw::uniform, -1, 4), 1, 16.0 / 12},
                           {draw_of(Draw::normal, 2, 3), 2, 9},
                           {draw_of(Draw::log_normal, 0, 0.5), std::exp(0.125), std::exp(0.25) * (std::exp(0.25) - 1)},
                           {draw_of(Draw::exponential, 2, 0), 0.5, 0.25},
                           {draw_of(Draw::geometric, 0.25, 0), 4, 12},
                           {draw_of(Draw::bernoulli, 0.3, 0), 0.3, 0.21}};

TEST_F(RandomKernels, MomentsAreThoseOfTheDistribution) {
  for (const Expected& e : kDraws) {
    constexpr int n = 100000;
    Array<float> x({n});
    run(&random_kernels::draw, e.draw, View{}, x);
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) sum += x.at(i), squares += double(x.at(i)) * x.at(i);
    const double mean = sum / n;
    EXPECT_NEAR(mean, e.mean, 5 * std::sqrt(e.variance / n)) << int(e.draw.kind);
    EXPECT_NEAR(squares / n - mean * mean, e.variance, 0.05 * e.variance) << int(e.draw.kind);
  }
}
TEST_F(RandomKernels, AnElementDependsOnItsPlaceAlone) {  // not on strides, nor on how many there are
  for (const Expected& e : kDraws) {
    Array<float> x({7, 300}), y = x.spread(), few({40});
    run(&random_kernels::draw, e.draw, View{}, x);
    run(&random_kernels::draw, e.draw, View{}, y);
    run(&random_kernels::draw, e.draw, View{}, few);
    EXPECT_EQ(y.values(), x.values());
    EXPECT_EQ(y.gaps(), 7 * 300);  // what lies between is left alone
    for (int i = 0; i < 40; ++i) EXPECT_EQ(few.at(i), x.at(i));
  }
}
TEST_F(RandomKernels, IntegersLieInTheirRange) {
  Draw d = draw_of(Draw::random, 0, 0);
  d.low = -3, d.range = 5;
  Array<std::int32_t> x({5000});
  run(&random_kernels::draw, d, View{}, x);
  for (int v = -3; v < 2; ++v) {
    std::int64_t count = 0;
    for (int i = 0; i < 5000; ++i) count += x.at(i) == v;
    EXPECT_NEAR(double(count), 1000, 150) << v;
  }
  const std::vector<std::int32_t> all = x.values();
  EXPECT_EQ(*std::min_element(all.begin(), all.end()), -3);
  EXPECT_EQ(*std::max_element(all.begin(), all.end()), 1);
}
TEST_F(RandomKernels, ProbabilitiesAndRatesByElement) {
  Array<double> p({4}, {0, 1, 0, 1}), rate({3}, {0, 3, 200});
  Array<float> x({4}), y({3});
  run(&random_kernels::draw, draw_of(Draw::bernoulli, 0, 0), p, x);
  EXPECT_EQ(x.values(), (std::vector<float>{0, 1, 0, 1}));
  run(&random_kernels::draw, draw_of(Draw::poisson, 0, 0), rate, y);
  EXPECT_EQ(y.at(0), 0);
  EXPECT_NEAR(y.at(2), 200, 100);
}
TEST_F(RandomKernels, PermutationsHaveEachNumberOnce) {
  Array<std::int64_t> p({1000}), sorted({1000});
  run(&random_kernels::permutation, draw_of(Draw::uniform, 0, 1), p);
  std::vector<std::int64_t> all = p.values(), rising(1000);
  std::iota(rising.begin(), rising.end(), 0);
  EXPECT_NE(all, rising);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, rising);
}
TEST_F(RandomKernels, SamplesFollowTheirWeights) {
  Array<double> weights({2, 3}, {1, 0, 3, 0, 5, 0});
  Array<std::int64_t> many({2, 4000}), two({2, 2});
  run(&random_kernels::multinomial, draw_of(Draw::uniform, 0, 1), true, weights, many);
  std::int64_t first = 0, last = 0;
  for (int i = 0; i < 4000; ++i) {
    EXPECT_EQ(many(1, i), 1);
    first += many(0, i) == 0, last += many(0, i) == 2;
  }
  EXPECT_EQ(first + last, 4000);
  EXPECT_NEAR(double(last), 3000, 150);
  Array<double> positive({2, 3}, {1, 1e-30, 3, 2, 5, 1e-30});
  run(&random_kernels::multinomial, draw_of(Draw::uniform, 0, 1), false, positive, two);
  for (const int row : {0, 1}) EXPECT_NE(two(row, 0), two(row, 1));  // none twice
}
TEST_F(RandomKernels, OfNothing) {
  Array<float> x({0, 3});
  Array<std::int64_t> p({0}), samples({0, 4});
  Array<double> weights({0, 3});
  for (const Expected& e : kDraws) run(&random_kernels::draw, e.draw, View{}, x);
  run(&random_kernels::permutation, draw_of(Draw::uniform, 0, 1), p);
  run(&random_kernels::multinomial, draw_of(Draw::uniform, 0, 1), true, weights, samples);
}
TEST_F(RandomKernels, SameOnAnyNumberOfThreads) {
  for (const Expected& e : kDraws)
    expect_same_on_any_threads([&] {
      Array<float> x({100001});
      run(&random_kernels::draw, e.draw, View{}, x);
      return x.bytes();
    });
  Array<double> rates = eighths<double>({30000}), weights({50, 400});
  for (std::int64_t i = 0; i < rates.numel(); ++i) rates.at(i) = 4 * (rates.at(i) + 4);
  for (std::int64_t i = 0; i < weights.numel(); ++i) weights.at(i) = double(i % 7);
  expect_same_on_any_threads([&] {
    Array<float> x(rates.spec().sizes());
    Array<std::int64_t> p({30000}), samples({50, 300});
    run(&random_kernels::draw, draw_of(Draw::poisson, 0, 0), rates, x);
    run(&random_kernels::permutation, draw_of(Draw::uniform, 0, 1), p);
    run(&random_kernels::multinomial, draw_of(Draw::uniform, 0, 1), false, weights, samples);
    return x.bytes() + p.bytes() + samples.bytes();
  });
}

}  // namespace
}  // namespace neura::test
