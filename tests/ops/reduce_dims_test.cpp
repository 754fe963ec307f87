// Every reduction over no, one, several and negative dimensions, with and without keepdim, in every layout, against
// plain loops; and what all of them share.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/reduce_common.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Values = std::vector<double>;
struct Reduction {
  const char* name;
  Tensor (*call)(const Tensor&, const Dims&, bool keepdim);
  double (*want)(const Values&);
  bool of_nothing = true;  // has a value then
};
double mean_of(const Values& v) {
  double s = 0;
  for (const double x : v) s += x;
  return s / double(v.size());
}
double variance_of(const Values& v, double correction) {
  const double m = mean_of(v);
  double s = 0;
  for (const double x : v) s += (x - m) * (x - m);
  return s / std::max(0.0, double(v.size()) - correction);
}
double norm_of(const Values& v, double p) {
  double s = 0;
  for (const double x : v) s += std::pow(std::abs(x), p);
  return std::pow(s, 1 / p);
}
#define VIA(expression) [](const Tensor& x, const Dims& d, bool keep) -> Tensor { return expression; }
#define LOOP(start, step)              \
  [](const Values& v) {                \
    double r = start;                  \
    for (const double x : v) r = step; \
    return r;                          \
  }
const Reduction kReductions[] = {
    {"sum", VIA(sum(x, d, keep)), LOOP(0, r + x)},
    {"nansum", VIA(nansum(x, d, keep)), LOOP(0, r + x)},
    {"mean", VIA(mean(x, d, keep)), mean_of},
    {"nanmean", VIA(nanmean(x, d, keep)), mean_of},
    {"prod", VIA(prod(x, d, keep)), LOOP(1, r* x)},
    {"amax", VIA(amax(x, d, keep)), LOOP(-HUGE_VAL, std::max(r, x)), false},
    {"amin", VIA(amin(x, d, keep)), LOOP(HUGE_VAL, std::min(r, x)), false},
    {"any", VIA(any(x, d, keep)), LOOP(0, r || x != 0)},
    {"all", VIA(all(x, d, keep)), LOOP(1, r&& x != 0)},
    {"var", VIA(var(x, d, 1, keep)), [](const Values& v) { return variance_of(v, 1); }},
    {"var_biased", VIA(var(x, d, 0, keep)), [](const Values& v) { return variance_of(v, 0); }},
    {"std", VIA(neura::std(x, d, 1, keep)), [](const Values& v) { return std::sqrt(variance_of(v, 1)); }},
    {"var_mean", VIA(var_mean(x, d, 1, keep).mean), mean_of},
    {"std_mean", VIA(std_mean(x, d, 0, keep).spread), [](const Values& v) { return std::sqrt(variance_of(v, 0)); }},
    {"logsumexp", VIA(logsumexp(x, d, keep)),
     [](const Values& v) {
       double s = 0;
       for (const double x : v) s += std::exp(x);
       return std::log(s);
     }},
    {"norm_1", VIA(norm(x, 1, d, keep)), [](const Values& v) { return norm_of(v, 1); }},
    {"norm_2", VIA(norm(x, 2, d, keep)), [](const Values& v) { return norm_of(v, 2); }},
    {"norm_inf", VIA(norm(x, HUGE_VAL, d, keep)), LOOP(0, std::max(r, std::abs(x))), false},
    {"norm_0", VIA(norm(x, 0, d, keep)), LOOP(0, r + (x != 0))},
};
std::ostream& operator<<(std::ostream& s, const Reduction& r) { return s << r.name; }

class EveryReduction : public testing::TestWithParam<Reduction> {
 protected:
  // The result by loops, with all dimensions kept.
  static Tensor want(const Tensor& x, unsigned dims) {
    const Shape shape = x.shape(), kept = reduced_sizes(shape, dims, true);
    return from_loop(kept, float64, [&](const Shape& at_result) {
      Values v;
      for_each_index(shape, [&](const Shape& i) {
        for (int d = 0; d < shape.size(); ++d)
          if (!(dims >> d & 1) && i[d] != at_result[d]) return;
        v.push_back(at(x, i));
      });
      return GetParam().want(v);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Table, EveryReduction, testing::ValuesIn(kReductions),
                         [](const auto& i) { return std::string(i.param.name); });

TEST_P(EveryReduction, OverAnyDimensionsInAnyLayout) {
  const Tensor x = sample({2, 3, 4}, float64);
  for (unsigned mask = 0; mask < 8; ++mask) {
    const unsigned dims = mask ? mask : 7;  // none named: all
    const Tensor kept = want(x, dims);
    for (const bool negative : {false, true}) {
      Dims named;
      for (int d = 0; d < 3; ++d)
        if (mask >> d & 1) named.insert(negative ? 0 : named.size(), negative ? d - 3 : d);
      for (const Tensor& laid : layouts(x))
        for (const bool keepdim : {false, true}) {
          const Tensor got = GetParam().call(laid, named, keepdim);
          EXPECT_EQ(got.shape(), reduced_sizes(x.shape(), dims, keepdim)) << named.str();
          expect_close(got.to(float64).reshape(kept.shape()), kept);
        }
    }
  }
}
TEST_P(EveryReduction, OfNumbersAndOfNothing) {
  const Tensor one = full({}, 1.5, {.dtype = float64});
  for (const Dims& d : {Dims(), Dims(0), Dims(-1)}) {
    const Tensor got = GetParam().call(one, d, true);
    EXPECT_EQ(got.dim(), 0);
    const double w = GetParam().want({1.5});
    if (std::isnan(w)) EXPECT_TRUE(std::isnan(got.item<double>()));
    else EXPECT_NEAR(got.to(float64).item<double>(), w, 1e-12);
  }
  for (const Shape& s : {Shape{0}, Shape{2, 0, 3}}) {
    const Tensor none = zeros(s, {.dtype = float64});
    if (!GetParam().of_nothing) {
      EXPECT_THROW(GetParam().call(none, {}, false), Error) << s.str();
      continue;
    }
    const double w = GetParam().want({}), got = GetParam().call(none, {}, false).to(float64).item<double>();
    EXPECT_TRUE(got == w || (std::isnan(got) && std::isnan(w))) << s.str() << ": " << got;
    if (s.size() == 3) EXPECT_EQ(GetParam().call(none, Dims(0), false).shape(), (Shape{0, 3}));
  }
}
TEST_P(EveryReduction, RefusesDimensionsThatAreNotThere) {
  const Tensor x = sample({2, 3}, float64);
  EXPECT_THROW(GetParam().call(x, Dims(2), false), IndexError);
  EXPECT_THROW(GetParam().call(x, Dims(-3), false), IndexError);
  EXPECT_THROW(GetParam().call(x, {0, -2}, false), ValueError);
}

TEST(ReductionParts, DimensionsBecomeBitsAndSizes) {
  EXPECT_EQ(dims_mask("op", {}, 3), 7u);
  EXPECT_EQ(dims_mask("op", {0, -1}, 3), 5u);
  EXPECT_EQ(dims_mask("op", Dims(0), 0), 0u);
  EXPECT_EQ(error_of<ValueError>([] { dims_mask("op", {1, -2}, 3); }).find("op: expected different dimensions"), 0u);
  EXPECT_EQ(error_of<IndexError>([] { dims_mask("op", {3}, 3); }), "op: expected a dimension from -3 to 2, got 3");
  EXPECT_EQ(reduced_sizes({2, 3, 4}, 5, false), (Shape{3}));
  EXPECT_EQ(reduced_sizes({2, 3, 4}, 5, true), (Shape{1, 3, 1}));
  EXPECT_EQ(reduced_sizes({2, 3}, 0, false), (Shape{2, 3}));
  EXPECT_EQ(reduced_count({2, 3, 4}, 5), 8);
  EXPECT_EQ(reduced_count({2, 0, 4}, 2), 0);
  EXPECT_EQ(restore(ones({3}), {2, 3, 4}, 5).shape(), (Shape{1, 3, 1}));
}

TEST(Argmax, OfEveryDimensionAndTheFirstOfEquals) {
  const Tensor x = sample({3, 4, 5}, int64, {.low = 0, .high = 4});  // many ties
  for (const bool largest : {true, false})
    for (int dim = -3; dim < 3; ++dim) {
      const int d = (dim + 3) % 3;
      const Tensor got = largest ? argmax(x, dim) : argmin(x, dim),
                   kept = largest ? argmax(x, dim, true) : argmin(x, dim, true);
      const auto values = largest ? max(x, dim).values : min(x, dim).values;
      for_each_index(kept.shape(), [&](const Shape& i) {
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < x.size(d); ++k) {
          Shape a = i, b = i;
          a[d] = k, b[d] = best;
          if (largest ? at(x, a) > at(x, b) : at(x, a) < at(x, b)) best = k;
        }
        Shape where = i;
        where[d] = best;
        EXPECT_EQ(scalar_at(kept, i).integer(), best);
        Shape j = i;
        j.erase(d);
        EXPECT_EQ(scalar_at(got, j).integer(), best);
        EXPECT_EQ(at(values, j), at(x, where));
      });
    }
  EXPECT_EQ(argmax(tensor({3, 7, 7})).item<int>(), 1);
  EXPECT_EQ(argmax(tensor({1., std::nan(""), 9.})).item<int>(), 1);
}

TEST(Sums, OfManySmallIntegersDoNotOverflow) {
  const std::int64_t many = std::int64_t{1} << 31;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const std::int64_t n = many >> 10, value = 1 << 10;
#else
  const std::int64_t n = many, value = 1;
#endif
  const Tensor ones = full({1}, value, {.dtype = int32}).expand({n}), total = sum(ones);
  EXPECT_EQ(total.dtype(), int64);
  EXPECT_EQ(total.item<std::int64_t>(), many);
  EXPECT_EQ(sum(full({1000}, INT32_MAX, {.dtype = int32})).item<std::int64_t>(), 1000 * std::int64_t{INT32_MAX});
  EXPECT_EQ(
      sum(sample({999}, boolean)).item<std::int64_t>() + sum(logical_not(sample({999}, boolean))).item<std::int64_t>(),
      999);
}

}  // namespace
}  // namespace neura::test
