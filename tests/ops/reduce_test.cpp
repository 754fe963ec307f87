#include "neura/ops/reduce/reduce.h"

#include <cmath>
#include <limits>

#include "neura/core/parallel.h"
#include "neura/ops/create/create.h"
#include "tests/support/conformance.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Dims dims_of(const Value& v) {
  Dims d;
  if (v.is_number()) d.push_back(v.scalar.integer());
  for (const Value& i : v.items) d.push_back(i.scalar.integer());
  return d;
}
bool flag(const Value& v, bool fallback = false) { return v ? v.scalar.integer() != 0 : fallback; }
std::optional<DType> dtype_of_case(const ConformanceCase& c) {
  const Value& v = c.kwarg("dtype");
  return v ? std::optional(v.type) : std::nullopt;
}
std::optional<int> one_dim(const Value& v) { return v ? std::optional(int(v.scalar.integer())) : std::nullopt; }
double order_of(const Value& v) {
  if (!v) return 2;
  if (v.kind == Value::text) {
    if (v.word != "fro") throw NotImplementedError("norm: nuc");
    return 2;
  }
  return v.scalar.real();
}

// The signatures that torch's reductions come in.
using Plain = Tensor (*)(const Tensor&, const Dims&, bool);
using WithDType = Tensor (*)(const Tensor&, const Dims&, bool, std::optional<DType>);
CaseFunction plain(Plain f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    if (c.kwarg("out")) {
      Tensor out = c.kwarg("out").data;
      return {(f == &amax ? &amax_out : &amin_out)(out, c.input.data, dims_of(c.argument(0, "dim")), false)};
    }
    return {f(c.input.data, dims_of(c.argument(0, "dim")), flag(c.argument(1, "keepdim")))};
  };
}
CaseFunction with_dtype(WithDType f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    return {f(c.input.data, dims_of(c.argument(0, "dim")), flag(c.argument(1, "keepdim")), dtype_of_case(c))};
  };
}
double correction_of(const ConformanceCase& c) {
  if (c.kwarg("correction").is_number()) return c.kwarg("correction").scalar.real();
  for (const Value* v : {&c.kwarg("unbiased"), &c.argument(0, "unbiased"), &c.argument(1, "unbiased")})
    if (v->kind == Value::boolean) return v->scalar.integer() ? 1 : 0;
  return 1;
}
Dims spread_dims(const ConformanceCase& c) {
  const Value& v = c.argument(0, "dim");
  return v.kind == Value::boolean ? Dims() : dims_of(v);
}
using Spread = Tensor (*)(const Tensor&, const Dims&, double, bool);
using Moments = MomentsResult (*)(const Tensor&, const Dims&, double, bool);
CaseFunction spread(Spread f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    return {f(c.input.data, spread_dims(c), correction_of(c), flag(c.kwarg("keepdim")))};
  };
}
CaseFunction moments(Moments f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    const auto r = f(c.input.data, spread_dims(c), correction_of(c), flag(c.kwarg("keepdim")));
    return {r.spread, r.mean};
  };
}
using ArgExtreme = Tensor (*)(const Tensor&, std::optional<int>, bool);
CaseFunction place(ArgExtreme f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    return {f(c.input.data, one_dim(c.argument(0, "dim")), flag(c.argument(1, "keepdim")))};
  };
}
using WithPlace = MaxResult (*)(const Tensor&, int, bool);
CaseFunction with_place(WithPlace f) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> {
    const auto r = f(c.input.data, int(c.argument(0, "dim").scalar.integer()), flag(c.argument(1, "keepdim")));
    return {r.values, r.indices};
  };
}
CaseFunction of_all(Tensor (*f)(const Tensor&)) {
  return [f](const ConformanceCase& c) -> std::vector<Tensor> { return {f(c.input.data)}; };
}
std::vector<Tensor> norm_case(const ConformanceCase& c) {
  return {norm(c.input.data, order_of(c.argument(0, "p")), dims_of(c.argument(1, "dim")),
               flag(c.argument(2, "keepdim")), dtype_of_case(c))};
}
std::vector<Tensor> vector_norm_case(const ConformanceCase& c) {
  return {vector_norm(c.input.data, order_of(c.argument(0, "ord")), dims_of(c.argument(1, "dim")),
                      flag(c.argument(2, "keepdim")), dtype_of_case(c))};
}
std::vector<Tensor> aminmax_case(const ConformanceCase& c) {
  const auto r = aminmax(c.input.data, one_dim(c.kwarg("dim")), flag(c.kwarg("keepdim")));
  return {r.min, r.max};
}
std::vector<Tensor> count_case(const ConformanceCase& c) {
  return {count_nonzero(c.input.data, dims_of(c.argument(0, "dim")))};
}
std::vector<Tensor> dist_case(const ConformanceCase& c) {
  return {dist(c.input.data, c.args[0].data, c.argument(1, "p") ? c.argument(1, "p").scalar.real() : 2)};
}
std::vector<Tensor> renorm_case(const ConformanceCase& c) {
  return {renorm(c.input.data, c.args[0].scalar.real(), int(c.args[1].scalar.integer()), c.args[2].scalar.real())};
}
std::vector<Tensor> sum_to_size_case(const ConformanceCase& c) {
  Shape size;
  for (const Value& v : c.args)
    if (v.is_number()) size.push_back(v.scalar.integer());
    else
      for (std::int64_t s : dims_of(v)) size.push_back(s);
  return {sum_to_size(c.input.data, size)};
}

TEST(ReduceConformance, StoredAnswers) {
  expect_conformance("reduce", {{"sum", with_dtype(&sum)},
                                {"mean", with_dtype(&mean)},
                                {"prod", with_dtype(&prod)},
                                {"nansum", with_dtype(&nansum)},
                                {"nanmean", with_dtype(&nanmean)},
                                {"amax", plain(&amax)},
                                {"amin", plain(&amin)},
                                {"any", plain(&any)},
                                {"all", plain(&all)},
                                {"logsumexp", plain(&logsumexp)},
                                {"count_nonzero", count_case},
                                {"argmax", place(&argmax)},
                                {"argmin", place(&argmin)},
                                {"max#reduction_no_dim", of_all(&max)},
                                {"min#reduction_no_dim", of_all(&min)},
                                {"max#reduction_with_dim", with_place(&max)},
                                {"min#reduction_with_dim", with_place(&min)},
                                {"aminmax", aminmax_case},
                                {"var", spread(&var)},
                                {"std", spread(&std)},
                                {"var#unbiased", spread(&var)},
                                {"std#unbiased", spread(&std)},
                                {"var_mean", moments(&var_mean)},
                                {"std_mean", moments(&std_mean)},
                                {"var_mean#unbiased", moments(&var_mean)},
                                {"std_mean#unbiased", moments(&std_mean)},
                                {"norm", norm_case},
                                {"norm#fro", norm_case},
                                {"norm#inf", norm_case},
                                {"norm#nuc", norm_case},
                                {"linalg.vector_norm", vector_norm_case},
                                {"dist", dist_case},
                                {"renorm", renorm_case},
                                {"sum_to_size", sum_to_size_case},
                                {"trace", of_all(&trace)}});
}

// A plain loop in double over every element.
template <class F> std::vector<double> folded(const Tensor& x, unsigned dims, double start, F combine) {
  Shape kept;
  for (int d = 0; d < x.dim(); ++d)
    if (!(dims >> d & 1)) kept.push_back(x.size(d));
  std::vector<double> out(std::size_t(kept.numel()), start);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::int64_t rest = i, to = 0, step = 1;
    for (int d = x.dim() - 1; d >= 0; --d) {
      if (!(dims >> d & 1)) to += rest % x.size(d) * step, step *= x.size(d);
      rest /= x.size(d);
    }
    combine(out[std::size_t(to)], at(x, i));
  }
  return out;
}
Dims named(unsigned dims) {
  Dims d;
  for (int i = 0; dims >> i; ++i)
    if (dims >> i & 1) d.push_back(i);
  return d;
}
void expect_values(const Tensor& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.numel(), std::int64_t(want.size()));
  const std::vector<double> v = to(got, float64).to_vector<double>();
  for (std::size_t i = 0; i < v.size(); ++i)
    if (!(std::abs(v[i] - want[i]) <= tolerance * (1 + std::abs(want[i]))))
      FAIL() << i << ": " << v[i] << " instead of " << want[i];
}

TEST(Reduce, SumAndMaximumEqualALoopForEverySizeAndLayout) {
  for (DType d : {float32, float64, float16, int32, int64})
    for (std::int64_t n : {1, 7, 8, 9, 31, 33})
      for (unsigned dims = 1; dims < 8; ++dims) {
        const Tensor base = to(range({3, 2 * n, 5}, float64) * 4, d);
        for (const Tensor& x :
             {slice(base, 1, 0, n), slice(base, 1, 0, 2 * n, 2), transpose(slice(base, 1, 0, n), 0, 2)}) {
          SCOPED_TRACE(x.spec().str() + " " + name(d) + " dims " + std::to_string(dims));
          const double tolerance = d == float16 ? 2e-3 : d == float64 ? 1e-13 : 1e-5;
          expect_values(sum(x, named(dims)), folded(x, dims, 0, [](double& a, double b) { a += b; }), tolerance);
          expect_values(amax(x, named(dims)), folded(x, dims, -kInf, [](double& a, double b) { a = std::max(a, b); }),
                        0);
        }
      }
}

TEST(Reduce, ResultsDoNotDependOnTheNumberOfThreads) {
  const int before = get_num_threads();
  const Tensor x = to(range({300, 1001}, float64), float32);
  std::vector<Tensor> results[2];
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    for (const Dims& d : {Dims(), Dims(0), Dims(1)})
      for (const Tensor& r : {sum(x, d), var(x, d), logsumexp(x, d)}) results[threads - 1].push_back(r);
  }
  set_num_threads(before);
  for (std::size_t i = 0; i < results[0].size(); ++i)
    EXPECT_EQ(results[0][i].to_vector<float>(), results[1][i].to_vector<float>()) << i;
}

// Lines are folded side by side; each as it would be alone.
TEST(Reduce, ALineDoesNotKnowItsNeighbours) {
  for (const std::int64_t n : {255, 256, 1003, 20000, 70001}) {
    const Tensor x = sample({7, n});
    const Tensor sums = sum(x, {1}), largest = amax(x, {1}), spread = var(x, {1});
    for (std::int64_t r = 0; r < 7; ++r) {
      expect_same(sums.select(0, r), sum(x.select(0, r)));
      expect_same(largest.select(0, r), amax(x.select(0, r), {0}));
      expect_same(spread.select(0, r), var(x.select(0, r), {0}));
    }
  }
}

TEST(Reduce, LongSumsStayExact) {
  const double tenth = double(0.1f);
  const Tensor wide = expand(full({1, 1}, 0.1, {.dtype = float32}), {1 << 20, 4});
  for (const Tensor& x : {wide, contiguous(wide)}) {
    EXPECT_NEAR(sum(x).item<double>() / (1 << 22), tenth, 2e-7 * tenth);
    EXPECT_NEAR(at(sum(x, 0), 3) / (1 << 20), tenth, 1e-6 * tenth);
  }
}

TEST(Reduce, NothingHasASumAndNoMaximum) {
  const Tensor none = zeros({0, 3});
  EXPECT_EQ(sum(none).item<double>(), 0);
  EXPECT_EQ(prod(none).item<double>(), 1);
  EXPECT_TRUE(std::isnan(mean(none).item<double>()));
  EXPECT_TRUE(is_near(sum(none, 0), {0, 0, 0}));
  EXPECT_TRUE(all(none).item<bool>());
  EXPECT_EQ(all(none).item<int>(), 1);
  EXPECT_FALSE(any(none).item<bool>());
  EXPECT_EQ(logsumexp(none).item<double>(), -kInf);
  EXPECT_ERROR(IndexError, "amax: expected at least one element", amax(none));
  EXPECT_ERROR(IndexError, "argmax: expected at least one element", argmax(none, 0));
  EXPECT_EQ(amax(none, 1).shape(), Shape({0}));
}

TEST(Reduce, NanWinsWhereverItStands) {
  for (std::int64_t n : {1, 5, 16, 33, 700})
    for (std::int64_t where_nan : {std::int64_t(0), n / 2, n - 1}) {
      Tensor x = zeros({n, 40});
      Tensor row = select(x, 0, where_nan);
      fill_(row, kNan);
      for (const Tensor& r :
           {amax(x, 0), amin(x, 0), max(x, 0).values, min(x, 0).values, amax(x), sum(x), var(x, 0, 0)})
        EXPECT_TRUE(std::isnan(at(r, r.numel() - 1)));
      EXPECT_EQ(at(argmax(x, 0), 39), double(where_nan));
      EXPECT_EQ(at(argmax(contiguous(transpose(x, 0, 1)), 1), 39), double(where_nan));
      EXPECT_EQ(nansum(x).item<double>(), 0);
    }
}

TEST(Reduce, IntegersAddUpInInt64AndMeanRefusesThem) {
  EXPECT_EQ(sum(ones({300}, {.dtype = uint8})).dtype(), int64);
  EXPECT_EQ(sum(ones({300}, {.dtype = boolean})).item<std::int64_t>(), 300);
  EXPECT_ERROR(DTypeError, "mean: expected floating or complex numbers, got int32; give a floating dtype",
               mean(ones({3}, {.dtype = int32})));
  EXPECT_EQ(mean(ones({3}, {.dtype = int32}), {}, false, float32).item<double>(), 1);
  const Tensor opposite = tensor({1., -1.});  // of bool: whether any is not 0
  Tensor out = empty({}, {.dtype = boolean});
  EXPECT_TRUE(sum_out(out, opposite, {}, false, boolean).item<bool>());
  EXPECT_TRUE(sum(opposite, {}, false, boolean).item<bool>());
  EXPECT_ERROR(ValueError, "sum: expected different dimensions, got -1 twice", sum(ones({2, 2}), {1, -1}));
  EXPECT_ERROR(IndexError, "sum", sum(ones({2, 2}), 2));
}

TEST(Reduce, GradientsOfKinksAreTorchs) {
  Tensor x = leaf({2, 5, 5, 1}, {4});
  amax(x).backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 0.5, 0.5, 0}));
  x = leaf({2, 5, 5, 1}, {4});
  max(x, 0).values.backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 1, 0, 0}));
  x = leaf({0, 0}, {2});
  norm(x).backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 0}));
  x = leaf({2, 0, 3}, {3});
  prod(x).backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 6, 0}));
  x = leaf({0, 0, 3}, {3});
  prod(x).backward();
  EXPECT_TRUE(is_near(x.grad(), {0, 0, 0}));
  x = leaf({1, kNan, 3}, {3});
  nansum(x).backward();
  EXPECT_TRUE(is_near(x.grad(), {1, 0, 1}));
}

TEST(Reduce, GradientsMatchDifferences) {
  const Tensor x = range({3, 4, 2});
  expect_gradients([](const Tensor& t) { return prod(t, 1); }, x);
  expect_gradients([](const Tensor& t) { return prod(t, {0, 2}, true); }, x);
  expect_gradients([](const Tensor& t) { return std(t, {0, 1}); }, x);
  expect_gradients([](const Tensor& t) { return var_mean(t, {0, 2}, 0).spread * var_mean(t, {0, 2}, 0).mean; }, x);
  expect_gradients([](const Tensor& t) { return logsumexp(t, {0, 1}); }, x);
  for (double p : {0.5, 1.0, 1.5, 2.0, 3.0, 4.0})
    expect_gradients([p](const Tensor& t) { return norm(t, p, {1, 2}); }, x);
  Tensor zero = range({4});
  Tensor second = narrow(zero, 0, 2, 1);
  fill_(second, 0);
  expect_gradients([](const Tensor& t) { return prod(t); }, zero);
}

}  // namespace
}  // namespace neura::test
