#include "neura/ops/sort/sort.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/conformance.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

int integer(const Value& v, int fallback) { return v ? int(v.scalar.integer()) : fallback; }
bool flag(const Value& v, bool fallback = false) { return v ? v.scalar.integer() != 0 : fallback; }
std::optional<int> one_dim(const Value& v) { return v ? std::optional(int(v.scalar.integer())) : std::nullopt; }
Tensor tensor_or_none(const Value& v) { return v ? v.data : Tensor(); }

std::vector<Tensor> sort_case(const ConformanceCase& c) {
  const auto r =
      sort(c.input.data, integer(c.argument(0, "dim"), -1), flag(c.argument(1, "descending")), flag(c.kwarg("stable")));
  return {r.values, r.indices};
}
std::vector<Tensor> argsort_case(const ConformanceCase& c) { return {sort_case(c)[1]}; }
std::vector<Tensor> msort_case(const ConformanceCase& c) { return {msort(c.input.data)}; }
std::vector<Tensor> topk_case(const ConformanceCase& c) {
  const auto r = topk(c.input.data, integer(c.argument(0, "k"), 1), integer(c.argument(1, "dim"), -1),
                      flag(c.argument(2, "largest"), true), flag(c.argument(3, "sorted"), true));
  return {r.values, r.indices};
}
std::vector<Tensor> kthvalue_case(const ConformanceCase& c) {
  const auto r = kthvalue(c.input.data, integer(c.argument(0, "k"), 1), integer(c.argument(1, "dim"), -1),
                          flag(c.argument(2, "keepdim")));
  return {r.values, r.indices};
}
template <Tensor (*all)(const Tensor&), SortResult (*along)(const Tensor&, int, bool)>
std::vector<Tensor> median_case(const ConformanceCase& c) {
  if (!c.argument(0, "dim")) return {all(c.input.data)};
  const auto r = along(c.input.data, integer(c.argument(0, "dim"), 0), flag(c.argument(1, "keepdim")));
  return {r.values, r.indices};
}
std::vector<Tensor> mode_case(const ConformanceCase& c) {
  const auto r = mode(c.input.data, integer(c.argument(0, "dim"), -1), flag(c.argument(1, "keepdim")));
  return {r.values, r.indices};
}
using Quantile = Tensor (*)(const Tensor&, const Tensor&, std::optional<int>, bool, const char*);
CaseFunction quantile_case(Quantile f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    const Value& q = c.argument(0, "q");
    const Tensor t = q.kind == Value::tensor ? q.data : full({}, q.scalar, {.dtype = c.input.data.dtype()});
    const Value& word = c.kwarg("interpolation");
    return {f(c.input.data, t, one_dim(c.argument(1, "dim")), flag(c.argument(2, "keepdim")),
              word ? word.word.c_str() : "linear")};
  };
}
std::vector<Tensor> asked(const UniqueResult& r) {
  std::vector<Tensor> out = {r.values};
  if (r.inverse) out.push_back(r.inverse);
  if (r.counts) out.push_back(r.counts);
  return out;
}
std::vector<Tensor> unique_case(const ConformanceCase& c) {
  return asked(unique(c.input.data, true, flag(c.kwarg("return_inverse")), flag(c.kwarg("return_counts")),
                      one_dim(c.kwarg("dim"))));
}
std::vector<Tensor> consecutive_case(const ConformanceCase& c) {
  return asked(unique_consecutive(c.input.data, flag(c.kwarg("return_inverse")), flag(c.kwarg("return_counts")),
                                  one_dim(c.kwarg("dim"))));
}
bool right_of(const ConformanceCase& c) {
  return flag(c.kwarg("right")) || (c.kwarg("side") && c.kwarg("side").word == "right");
}
std::vector<Tensor> searchsorted_case(const ConformanceCase& c) {
  const Value& v = c.args[0];
  const bool narrow_result = flag(c.kwarg("out_int32"));
  const Tensor sorter = tensor_or_none(c.kwarg("sorter"));
  if (v.kind == Value::tensor) return {searchsorted(c.input.data, v.data, narrow_result, right_of(c), sorter)};
  return {searchsorted(c.input.data, v.scalar, narrow_result, right_of(c), sorter)};
}
std::vector<Tensor> bucketize_case(const ConformanceCase& c) {
  return {bucketize(c.input.data, c.args[0].data, flag(c.kwarg("out_int32")), flag(c.kwarg("right")))};
}
std::vector<Tensor> bincount_case(const ConformanceCase& c) {
  return {bincount(c.input.data, tensor_or_none(c.kwarg("weights")), integer(c.kwarg("minlength"), 0))};
}
std::vector<Tensor> histc_case(const ConformanceCase& c) {
  const auto number = [&](const char* name) { return c.kwarg(name) ? c.kwarg(name).scalar : Scalar(0); };
  return {histc(c.input.data, integer(c.kwarg("bins"), 100), number("min"), number("max"))};
}
HistogramOptions histogram_options(const ConformanceCase& c) {
  HistogramOptions o{.weight = tensor_or_none(c.kwarg("weight")), .density = flag(c.kwarg("density"))};
  for (const Value& v : c.kwarg("range").items) o.range.push_back(v.scalar.real());
  return o;
}
std::vector<Tensor> histogram_case(const ConformanceCase& c) {
  const Value& bins = c.argument(0, "bins");
  const HistogramResult r = bins.kind == Value::tensor
                                ? histogram(c.input.data, bins.data, histogram_options(c))
                                : histogram(c.input.data, bins.scalar.integer(), histogram_options(c));
  return {r.hist, r.bin_edges};
}
std::vector<Tensor> histogramdd_case(const ConformanceCase& c) {
  std::vector<std::int64_t> counts;
  std::vector<Tensor> edges;
  for (const Value& v : c.argument(0, "bins").items)
    if (v.kind == Value::tensor) edges.push_back(v.data);
    else counts.push_back(v.scalar.integer());
  const auto r = edges.empty() ? histogramdd(c.input.data, counts, histogram_options(c))
                               : histogramdd(c.input.data, edges, histogram_options(c));
  std::vector<Tensor> out = {r.hist};
  out.insert(out.end(), r.bin_edges.begin(), r.bin_edges.end());
  return out;
}

TEST(SortConformance, StoredAnswers) {
  expect_conformance("sort", {{"sort", sort_case},
                              {"argsort", argsort_case},
                              {"msort", msort_case},
                              {"topk", topk_case},
                              {"kthvalue", kthvalue_case},
                              {"median", median_case<&median, &median>},
                              {"nanmedian", median_case<&nanmedian, &nanmedian>},
                              {"mode", mode_case},
                              {"quantile", quantile_case(&quantile)},
                              {"nanquantile", quantile_case(&nanquantile)},
                              {"unique", unique_case},
                              {"unique_consecutive", consecutive_case},
                              {"searchsorted", searchsorted_case},
                              {"bucketize", bucketize_case},
                              {"bincount", bincount_case},
                              {"histc", histc_case},
                              {"histogram", histogram_case},
                              {"histogramdd", histogramdd_case}});
}

// Values with many ties and some NaN.
Tensor mixed(std::int64_t n, DType d) {
  std::vector<double> v;
  std::uint32_t state = 7;
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    v.push_back(is_floating(d) && state % 19 == 0 ? std::nan("") : double(state >> 8 & 63) - 32);
  }
  return to(tensor(v, {n}, {.dtype = float64}), d);
}

TEST(Sort, TheFewLeastOfManyLongLinesWithThreads) {
  manual_seed(5);
  const int before = get_num_threads();
  set_num_threads(3);
  for (const DType d : {float32, float64, int64}) {
    const Tensor x = to(randn({37, 9001}) * 1000, d);
    for (const bool largest : {false, true}) {
      const Tensor want = narrow(sort(x, 1, largest).values, 1, 0, 64);
      const auto along = topk(x, 64, 1, largest), across = topk(transpose(x, 0, 1), 64, 0, largest);
      EXPECT_TRUE(all(eq(along.values, want)).item<bool>());
      EXPECT_TRUE(all(eq(gather(x, 1, along.indices), want)).item<bool>());
      EXPECT_TRUE(all(eq(transpose(across.values, 0, 1), want)).item<bool>());
    }
  }
  // Every 32nd element makes up the sample: nine of them seem to be the border of the least.
  const Tensor x = arange(0, 32000, 1, {.dtype = float32});
  Tensor seen = reshape(x, {1000, 32}).select(1, 0), border = narrow(seen, 0, 0, 9);
  seen.fill_(1e6), border.fill_(-1);
  EXPECT_EQ(topk(x, 40, 0, false).values.to_vector<float>().back(), 31);
  set_num_threads(before);
}

TEST(Sort, IsStableAndPutsNanLastAtEverySize) {
  for (DType d : {float32, float64, float16, int32, int64, uint8})
    for (std::int64_t n : {0, 1, 7, 8, 9, 31, 33, 600, 5000})
      for (bool descending : {false, true}) {
        const Tensor x = mixed(n, d == uint8 ? int32 : d);
        const std::vector<double> v = to(x, float64).to_vector<double>();
        std::vector<std::int64_t> want(v.size());
        std::iota(want.begin(), want.end(), 0);
        const auto above = [](double a, double b) { return a > b || (a != a && b == b); };
        std::stable_sort(want.begin(), want.end(), [&](std::int64_t i, std::int64_t j) {
          return descending ? above(v[std::size_t(i)], v[std::size_t(j)]) : above(v[std::size_t(j)], v[std::size_t(i)]);
        });
        const auto r = sort(x, 0, descending);
        EXPECT_EQ(r.indices.to_vector<std::int64_t>(), want) << name(d) << " " << n;
        const auto same = [](const Tensor& a, const Tensor& b) {
          return all(eq(a, b) | (ne(a, a) & ne(b, b))).item<bool>();
        };
        for (std::int64_t k : {std::int64_t(0), n / 200, n / 2, n}) {  // which of equal elements is open
          const auto top = topk(x, k, 0, descending);
          EXPECT_TRUE(same(top.values, narrow(r.values, 0, 0, k))) << name(d) << " " << n << " " << k;
          EXPECT_TRUE(same(gather(x, 0, top.indices), top.values));
          EXPECT_EQ(unique(top.indices).values.numel(), k);
        }
        if (n) EXPECT_TRUE(same(kthvalue(x, n / 2 + 1, 0).values, select(sort(x, 0).values, 0, n / 2)));
      }
}

TEST(Sort, RunsAlongEveryDimensionOfAnyLayout) {
  const Tensor x = range({5, 7, 3});
  for (const Tensor& t : {x, transpose(x, 0, 2), slice(x, 1, 0, 7, 2)})
    for (int dim : {0, 1, 2}) {
      const auto r = sort(t, dim);
      EXPECT_TRUE(
          all(ge(narrow(r.values, dim, 1, t.size(dim) - 1), narrow(r.values, dim, 0, t.size(dim) - 1))).item<bool>());
      EXPECT_TRUE(all(eq(gather(contiguous(t), dim, r.indices), r.values)).item<bool>());
    }
}

TEST(Sort, GradientGoesWhereTheElementsCameFrom) {
  const Tensor x = from({3, 1, 2, 5, 9, 7}, {2, 3}, float64);
  expect_gradients([](const Tensor& t) { return sort(t * t, 1, true).values; }, x);
  expect_gradients([](const Tensor& t) { return topk(t * t, 2, 0).values; }, x);
  expect_gradients([](const Tensor& t) { return kthvalue(t * t, 2, 1).values; }, x);
  expect_gradients([](const Tensor& t) { return quantile(t * t, 0.3, 1); }, x);
  Tensor ties = leaf({2, 2, 2, 7}, {4});
  median(ties).backward();
  EXPECT_TRUE(is_near(ties.grad(), {1. / 3, 1. / 3, 1. / 3, 0}));
}

TEST(Sort, MistakesAreNamed) {
  EXPECT_ERROR(ValueError, "topk: expected k from 0 to 3, the size of dim 0, got 4", topk(ones({3}), 4));
  EXPECT_ERROR(ValueError, "kthvalue: expected k from 1 to 3", kthvalue(ones({3}), 0));
  EXPECT_ERROR(DTypeError, "sort: expected real numbers, got complex64", sort(ones({3}, {.dtype = complex64})));
  EXPECT_ERROR(ValueError, "bincount: expected numbers of 0 or more, got -1", bincount(tensor({2, -1})));
  EXPECT_ERROR(DTypeError, "searchsorted: expected real numbers, got complex64",
               searchsorted(ones({3}), ones({3}, {.dtype = complex64})));
  EXPECT_ERROR(ValueError, "quantile: expected interpolation linear", quantile(ones({3}), 0.5, {}, false, "cubic"));
}

// As in torch: integers are weighed in float64, and nothing is recorded.
TEST(Bincount, SumsWeightsInAFloatingDtypeWithoutAGradient) {
  const Tensor x = tensor({0, 2, 2});
  for (const DType d : {int32, int64, boolean, float16, float64}) {
    const Tensor w = tensor({1, 1, 1}).to(d), y = bincount(x, w);
    EXPECT_EQ(y.dtype(), float64) << name(d);
    EXPECT_TRUE(is_near(y, {1, 0, 2}));
  }
  const Tensor w = ones({3}).requires_grad_(), y = bincount(x, w, 5);
  EXPECT_EQ(y.dtype(), float32);
  EXPECT_TRUE(is_near(y, {1, 0, 2, 0, 0}) && !y.requires_grad());
  EXPECT_EQ(bincount(x).dtype(), int64);
  EXPECT_EQ(bincount(tensor(std::vector<std::int64_t>{}), {}, 2).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{0, 0}));
}

TEST(Unique, CountsAndInverseRebuildTheInput) {
  const Tensor x = to(mixed(1000, int32), int64);
  const auto r = unique(x, true, true, true);
  EXPECT_TRUE(all(eq(index_select(r.values, 0, r.inverse), x)).item<bool>());
  EXPECT_EQ(sum(r.counts).item<std::int64_t>(), 1000);
  EXPECT_TRUE(all(eq(r.counts, bincount(r.inverse))).item<bool>());
}

}  // namespace
}  // namespace neura::test
