#include "neura/ops/reduce/scan.h"

#include <cmath>

#include "neura/ops/pointwise/composed.h"
#include "tests/support/conformance.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"

namespace neura::test {
namespace {

int integer(const Value& v, int fallback) { return v ? int(v.scalar.integer()) : fallback; }
std::optional<DType> dtype_of_case(const ConformanceCase& c) {
  return c.kwarg("dtype") ? std::optional(c.kwarg("dtype").type) : std::nullopt;
}
using Scan = Tensor (*)(const Tensor&, int, std::optional<DType>);
CaseFunction scan(Scan f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    return {f(c.input.data, integer(c.argument(0, "dim"), 0), dtype_of_case(c))};
  };
}
CaseFunction running(CumulativeResult (*f)(const Tensor&, int)) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    const auto r = f(c.input.data, integer(c.argument(0, "dim"), 0));
    return {r.values, r.indices};
  };
}
std::vector<Tensor> logcumsumexp_case(const ConformanceCase& c) {
  return {logcumsumexp(c.input.data, integer(c.argument(0, "dim"), 0))};
}
std::vector<Tensor> diff_case(const ConformanceCase& c) {
  const Value &before = c.argument(2, "prepend"), &after = c.argument(3, "append");
  return {diff(c.input.data, integer(c.argument(0, "n"), 1), integer(c.argument(1, "dim"), -1),
               before ? before.data : Tensor(), after ? after.data : Tensor())};
}
template <Tensor (*at_points)(const Tensor&, const Tensor&, int), Tensor (*at_steps)(const Tensor&, double, int)>
std::vector<Tensor> area_case(const ConformanceCase& c) {
  const int dim = integer(c.kwarg("dim"), -1);
  const Value& x = c.argument(0, "x");
  if (x.kind == Value::tensor) return {at_points(c.input.data, x.data, dim)};
  return {at_steps(c.input.data, c.kwarg("dx") ? c.kwarg("dx").scalar.real() : 1, dim)};
}

TEST(ScanConformance, StoredAnswers) {
  expect_conformance("scan", {{"cumsum", scan(&cumsum)},
                              {"cumprod", scan(&cumprod)},
                              {"cummax", running(&cummax)},
                              {"cummin", running(&cummin)},
                              {"logcumsumexp", logcumsumexp_case},
                              {"diff", diff_case},
                              {"trapezoid", area_case<&trapezoid, &trapezoid>},
                              {"trapz", area_case<&trapezoid, &trapezoid>},
                              {"cumulative_trapezoid", area_case<&cumulative_trapezoid, &cumulative_trapezoid>}});
}

TEST(Scan, CumsumEqualsALoopForEverySizeAndLayout) {
  for (std::int64_t n : {0, 1, 7, 8, 9, 31, 33})
    for (const Tensor& x : {range({n, 3}), transpose(range({3, n}), 0, 1), slice(range({2 * n, 3}), 0, 0, 2 * n, 2)}) {
      const Tensor y = cumsum(x, 0);
      double sum[3] = {};
      for (std::int64_t i = 0; i < x.numel(); ++i) EXPECT_NEAR(at(y, i), sum[i % 3] += at(x, i), 1e-12);
    }
}

TEST(Scan, RunningMaximumKeepsNanAndTheLastOfEquals) {
  const auto r = cummax(from({1, 3, 3, 2, std::nan(""), 9}, {6}), 0);
  EXPECT_TRUE(is_near(narrow(r.values, 0, 0, 4), {1, 3, 3, 3}));
  EXPECT_TRUE(std::isnan(at(r.values, 4)) && std::isnan(at(r.values, 5)));
  EXPECT_EQ(r.indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 2, 4, 4}));
}

TEST(Scan, NoDifferencesLeaveTheInput) {
  const Tensor x = full({2, 3}, 1.0), more = full({2, 1}, 2.0);
  EXPECT_TRUE(equal(diff(x, 0, -1, more, more), x));
}

TEST(Scan, GradientsMatchDifferences) {
  const Tensor x = range({4, 3});
  expect_gradients([](const Tensor& t) { return cumsum(t * t, 0); }, x);
  expect_gradients([](const Tensor& t) { return cumprod(t, 1); }, x);
  expect_gradients([](const Tensor& t) { return logcumsumexp(t, 0); }, x);
  Tensor zeros_inside = range({5});
  for (int i : {1, 3}) {
    Tensor one = narrow(zeros_inside, 0, i, 1);
    fill_(one, 0);
  }
  expect_gradients([](const Tensor& t) { return cumprod(t, 0); }, zeros_inside);
}

}  // namespace
}  // namespace neura::test
