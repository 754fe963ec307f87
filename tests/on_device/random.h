// Random numbers of a device against the distributions they are named after: chi-square over intervals.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "neura/core/random.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/random/random.h"
#include "tests/support/close.h"

namespace neura::test {

struct Drawn {
  const char* name;
  std::function<void(Tensor&)> draw;
  std::function<double(double)> below;  // the probability of at most x
  std::vector<double> edges;            // of the intervals; the outer two are open
};
inline std::vector<Drawn> distributions() {
  const auto steps = [](double first, double last, int n) {
    std::vector<double> all;
    for (int i = 0; i <= n; ++i) all.push_back(first + (last - first) * i / n);
    return all;
  };
  using T = Tensor&;
  const auto poisson4 = [](double x) {
    double term = std::exp(-4.0), sum = 0;
    for (int k = 0; k <= int(x); ++k) sum += term, term *= 4.0 / (k + 1);
    return sum;
  };
  return {
      {"uniform", [](T t) { uniform_(t); }, [](double x) { return x; }, steps(0.02, 0.98, 48)},
      {"normal", [](T t) { normal_(t); }, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); },
       steps(-3, 3, 40)},
      {"exponential", [](T t) { exponential_(t, 2); }, [](double x) { return -std::expm1(-2 * x); },
       steps(0.05, 2, 30)},
      {"log_normal", [](T t) { log_normal_(t, 1, 0.5); },
       [](double x) { return 0.5 * std::erfc(-(std::log(x) - 1) / 0.5 / std::sqrt(2.0)); }, steps(1, 7, 30)},
      {"cauchy", [](T t) { cauchy_(t, 0, 1); }, [](double x) { return 0.5 + std::atan(x) / M_PI; }, steps(-8, 8, 32)},
      {"randint", [](T t) { random_(t, 0, 13); }, [](double x) { return (std::floor(x) + 1) / 13; },
       steps(0.5, 11.5, 11)},
      {"bernoulli", [](T t) { bernoulli_(t, 0.3); }, [](double x) { return x < 1 ? 0.7 : 1.0; }, {0.5}},
      {"geometric", [](T t) { geometric_(t, 0.25); }, [](double x) { return 1 - std::pow(0.75, std::floor(x)); },
       steps(1.5, 12.5, 11)},
      {"poisson", [](T t) { t = poisson(t.fill_(4)); }, poisson4, steps(0.5, 10.5, 10)},
  };
}

// Chi-square with k - 1 degrees of freedom has the mean k - 1 and the variance 2 (k - 1).
inline void expect_distributed(Device device) {
  constexpr std::int64_t n = 200000;
  for (const Drawn& d : distributions()) {
    SCOPED_TRACE(d.name);
    Tensor drawn = zeros({n}, {.device = device}), again = zeros({n}, {.device = device}), next = again.clone();
    manual_seed(11), d.draw(drawn), d.draw(next);
    manual_seed(11), d.draw(again);
    EXPECT_EQ(drawn.device(), device);
    std::vector<double> counts(d.edges.size() + 1);
    for (const double x : drawn.to(Device()).to(float64).to_vector<double>())
      ++counts[std::size_t(std::upper_bound(d.edges.begin(), d.edges.end(), x) - d.edges.begin())];
    double chi = 0, before = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double up_to = i < d.edges.size() ? d.below(d.edges[i]) : 1, wanted = double(n) * (up_to - before);
      ASSERT_GT(wanted, 20) << "an interval that says nothing: " << i;
      chi += (counts[i] - wanted) * (counts[i] - wanted) / wanted, before = up_to;
    }
    const double freedom = double(counts.size() - 1);
    EXPECT_LT(chi, freedom + 4 * std::sqrt(2 * freedom));
    EXPECT_GT(chi, freedom - 4 * std::sqrt(2 * freedom));
    expect_same(again.to(Device()), drawn.to(Device()));
    EXPECT_FALSE(bool(close(next.to(Device()), drawn.to(Device())))) << "the next call draws the same";
  }
}

}  // namespace neura::test
