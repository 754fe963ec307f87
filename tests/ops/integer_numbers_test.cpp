// Numbers that the integers of a tensor do not have: they are compared by value, bounds take the nearest integer, what
// would be in the result is refused.
#include <gtest/gtest.h>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr DType kIntegers[] = {uint8, int8, int16, int32, int64};
constexpr std::int64_t kNumbers[] = {INT64_MIN, -32769, -257, -253, -129, -19,   0,        1,
                                     3,         127,    200,  259,  300,  65536, INT64_MAX};

// Small, and too large for the path without a plan.
std::vector<Tensor> values(DType d) {
  const Tensor ends = tensor({0, 1, 3, 100, 127}, {.dtype = d});
  return {ends, sample({70, 90}, d, {.low = 0, .high = 120}), sample({90, 30}, d, {.low = 0, .high = 120}).t()};
}
template <class F> void expect_each(const Tensor& got, const Tensor& x, F&& want) {
  const Tensor wide = x.to(int64);
  std::vector<std::int64_t> all = wide.to_vector<std::int64_t>();
  for (std::int64_t& v : all) v = want(v);
  EXPECT_EQ(got.to(int64).to_vector<std::int64_t>(), all);
}

TEST(IntegerNumbers, ComparisonsSeeTheValue) {
  for (const DType d : kIntegers)
    for (const Tensor& x : values(d))
      for (const std::int64_t n : kNumbers) {
        SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(n));
        expect_each(eq(x, n), x, [n](std::int64_t v) { return v == n; });
        expect_each(ne(x, n), x, [n](std::int64_t v) { return v != n; });
        expect_each(lt(x, n), x, [n](std::int64_t v) { return v < n; });
        expect_each(gt(n, x), x, [n](std::int64_t v) { return n > v; });
        expect_each(ge(x, n), x, [n](std::int64_t v) { return v >= n; });
        expect_each(le(x, tensor(n)), x, [n](std::int64_t v) { return v <= n; });
        expect_each(logical_and(x, n), x, [n](std::int64_t v) { return v && n; });
      }
}

TEST(IntegerNumbers, ComparisonsInPlaceSeeTheValue) {
  Tensor x = tensor({3, 1, 2}, {.dtype = uint8});
  EXPECT_EQ(lt_(x, 256).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 1}));
}

TEST(IntegerNumbers, BoundsAreTheNearestInteger) {
  for (const DType d : kIntegers)
    for (const Tensor& x : values(d))
      for (const std::int64_t n : kNumbers) {
        SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(n));
        const std::int64_t top = d == uint8   ? 255
                                 : d == int8  ? 127
                                 : d == int16 ? 32767
                                 : d == int32 ? INT32_MAX
                                              : INT64_MAX;
        const std::int64_t bottom = d == uint8 ? 0 : -top - 1, b = std::clamp(n, bottom, top);
        const auto upper = [b](std::int64_t v) { return std::max(v, b); };
        const auto lower = [b](std::int64_t v) { return std::min(v, b); };
        expect_each(maximum(x, n), x, upper);
        expect_each(fmax(x, n), x, upper);
        expect_each(clamp(x, {.min = n}), x, upper);
        expect_each(minimum(n, x), x, lower);
        expect_each(fmin(x, n), x, lower);
        expect_each(clamp(x, {.max = n}), x, lower);
        EXPECT_EQ(maximum(x, n).dtype(), d);
        Tensor self = x.clone();
        expect_each(clamp_min_(self, n), x, upper);
      }
}

TEST(IntegerNumbers, ClampBetweenNumbersAndTensors) {
  const Tensor x = tensor({3, 1, 2}, {.dtype = uint8});
  const std::vector<std::uint8_t> same{3, 1, 2};
  EXPECT_EQ(clamp(x, -5, 300).to_vector<std::uint8_t>(), same);
  EXPECT_EQ(clamp(x, tensor(-5), tensor(300)).to_vector<std::uint8_t>(), same);
  EXPECT_EQ(clamp(x, -5, tensor({2, 2, 2}, {.dtype = uint8})).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{2, 1, 2}));
  EXPECT_EQ(maximum(x, tensor(-5)).to_vector<std::uint8_t>(), same);
  EXPECT_EQ(minimum(x, tensor(300)).to_vector<std::uint8_t>(), same);
  Tensor self = x.clone(), out = zeros({3}, {.dtype = uint8});
  EXPECT_EQ(clamp_(self, {-5, 300}).to_vector<std::uint8_t>(), same);
  EXPECT_EQ(clamp_out(out, x, {-5, 300}).to_vector<std::uint8_t>(), same);
}

TEST(IntegerNumbers, TensorsWithoutDimensionsAreBoundsAsNumbersAre) {
  const Tensor x = tensor({3, 1, 200}, {.dtype = uint8}), high = tensor(300), low = tensor(-5);
  const std::vector<std::uint8_t> most{255, 255, 255}, least{0, 0, 0};
  EXPECT_EQ(maximum(x, high).to_vector<std::uint8_t>(), most);
  EXPECT_EQ(fmax(high, x).to_vector<std::uint8_t>(), most);
  EXPECT_EQ(minimum(low, x).to_vector<std::uint8_t>(), least);
  EXPECT_EQ(fmin(x, low).to_vector<std::uint8_t>(), least);
  EXPECT_EQ(clamp(x, {.min = high}).to_vector<std::uint8_t>(), most);
  EXPECT_EQ(clamp(x, high, high).to_vector<std::uint8_t>(), most);
  EXPECT_EQ(maximum(x.to(int8), high).to_vector<std::int8_t>(), (std::vector<std::int8_t>{127, 127, 127}));
  EXPECT_EQ(minimum(x.to(int16), tensor(INT64_MIN)).to_vector<std::int16_t>(),
            (std::vector<std::int16_t>{-32768, -32768, -32768}));
  EXPECT_EQ(maximum(tensor({-3, 3}, {.dtype = int8}), tensor(200, {.dtype = uint8})).to_vector<std::int8_t>(),
            (std::vector<std::int8_t>{127, 127}));
  EXPECT_EQ(maximum(x, tensor(7)).dtype(), uint8);
  Tensor self = x.clone();
  EXPECT_EQ(clamp_max_(self, low).to_vector<std::uint8_t>(), least);
}

TEST(IntegerNumbers, HeavisideRefusesValuesOfAWiderDtype) {
  const Tensor x = tensor({-1, 0, 1}, {.dtype = int8});
  EXPECT_EQ(heaviside(x, tensor(7, {.dtype = int8})).to_vector<std::int8_t>(), (std::vector<std::int8_t>{0, 7, 1}));
  EXPECT_EQ(heaviside(x, tensor({7})).dtype(), int64);
  EXPECT_EQ(error_of<DTypeError>([&] { heaviside(x, tensor(300)); }),
            "heaviside: expected operands that int8 holds, got a wider dtype; convert one of them with .to() "
            "(int8 [3], int64 [])");
  EXPECT_THROW(heaviside(tensor(256), x), DTypeError);
  EXPECT_THROW(heaviside(x, 300), ValueError);
  EXPECT_EQ(heaviside(x, 7).to_vector<std::int8_t>(), (std::vector<std::int8_t>{0, 7, 1}));
}

TEST(IntegerNumbers, ThresholdsAreElements) {
  Tensor x = tensor({3, 1, 200}, {.dtype = uint8});
  EXPECT_EQ(threshold(x, 2, 9).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{3, 9, 200}));
  EXPECT_EQ(threshold(x, 2.9, 9.9).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{3, 9, 200}));
  EXPECT_EQ(error_of<ValueError>([&] { threshold(x, 300, 0); }),
            "threshold: expected a number that uint8 holds, got 300");
  EXPECT_EQ(error_of<ValueError>([&] { threshold_(x, 2, 1000); }),
            "threshold: expected a number that uint8 holds, got 1000");
  EXPECT_EQ(threshold_(x, 2, 9).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{3, 9, 200}));
  const std::int64_t big = (std::int64_t(1) << 53) + 1;
  EXPECT_EQ(threshold(tensor({big - 1, big, big + 1}), big, -big).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{-big, -big, big + 1}));
}

TEST(IntegerNumbers, QuotientsAndRemaindersSeeTheValue) {
  const Tensor x = tensor({0, 44, 200, 255}, {.dtype = uint8});
  EXPECT_EQ(floor_divide(x, 300).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 0, 0, 0}));
  EXPECT_EQ(remainder(x, 300).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 44, 200, 255}));
  EXPECT_EQ(fmod(x, 256).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 44, 200, 255}));
  EXPECT_EQ(div(x, tensor(300), {"floor"}).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 0, 0, 0}));
  EXPECT_EQ(gcd(x, 300).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{44, 4, 100, 15}));
}

TEST(IntegerNumbers, SumsAndProductsWrapAsTheIntegersDo) {
  const Tensor x = tensor({3, 1, 2}, {.dtype = uint8});
  EXPECT_EQ(add(x, 300).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{47, 45, 46}));
  EXPECT_EQ(mul(x, -1).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{253, 255, 254}));
}

TEST(IntegerNumbers, NegativeExponentsAreRefused) {
  for (const DType d : {boolean, uint8, int32, int64})
    for (const std::int64_t size : {3, 5000}) {
      Tensor x = ones({size}, {.dtype = d});
      EXPECT_EQ(error_of<ValueError>([&] { pow(x, -1); }).substr(0, 70),
                "pow: expected an exponent of at least 0 for integers, got -1; convert ");
      if (d != boolean) EXPECT_THROW(pow_(x, -1), ValueError);
    }
  const Tensor two = tensor({2, 1, -1});
  expect_close(pow(two.to(float32), -1), {0.5, 1, -1});
  expect_close(pow(two, -1.0), {0.5, 1, -1});
  expect_close(float_power(two, -1), {0.5, 1, -1});
  EXPECT_EQ(pow(two, tensor({-1, -1, -1})).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, -1}));
}

TEST(IntegerNumbers, ValuesThatDoNotFitAreRefused) {
  const Tensor x = tensor({3, 1, 2}, {.dtype = uint8}), mask = gt(x, 1);
  EXPECT_EQ(error_of<ValueError>([&] { where(mask, 300, x); }), "where: expected a number that uint8 holds, got 300");
  EXPECT_EQ(error_of<ValueError>([&] { masked_fill(x, mask, 300); }),
            "masked_fill: expected a number that uint8 holds, got 300");
  EXPECT_THROW(masked_fill(x, mask, HUGE_VAL), ValueError);
  EXPECT_THROW(masked_fill(x.to(int8), mask, -129), ValueError);
  const Tensor index = tensor({0});
  EXPECT_EQ(error_of<ValueError>([&] { scatter(x, 0, index, 300); }),
            "scatter: expected a number that uint8 holds, got 300");
  EXPECT_EQ(error_of<ValueError>([&] { index_fill(x, 0, index, 300); }),
            "index_fill: expected a number that uint8 holds, got 300");
  Tensor self = x.clone();
  EXPECT_EQ(error_of<ValueError>([&] { index_put_(self, {index}, 300); }),
            "index_put: expected a number that uint8 holds, got 300");
  EXPECT_EQ(error_of<ValueError>([&] { masked_fill(x, mask, tensor(300)); }),
            "masked_fill: expected a number that uint8 holds, got 300");
  EXPECT_THROW(masked_fill(x, mask, tensor(1e30)), ValueError);
  EXPECT_THROW(masked_fill(x.to(int64), mask, tensor(9.3e18)), ValueError);
  EXPECT_EQ(masked_fill(x, mask, tensor(7.9)).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{7, 1, 7}));
  EXPECT_EQ(masked_fill(x, mask, tensor(-1)).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 1, 255}));
  EXPECT_EQ(error_of<ValueError>([&] { masked_fill(x.to(float16), mask, -1e9); }),
            "masked_fill: expected a number that float16 holds, got -1e+09");
  EXPECT_THROW(masked_fill(x.to(float32), mask, tensor(1e39, {.dtype = float64})), ValueError);
  EXPECT_EQ(masked_fill(x.to(float16), mask, -HUGE_VAL)[0].item<double>(), -HUGE_VAL);
  EXPECT_EQ(masked_fill(x.to(float16), mask, tensor(HUGE_VAL))[0].item<double>(), HUGE_VAL);
  EXPECT_EQ(where(mask, x, -1).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{3, 255, 2}));  // as PyTorch
  EXPECT_EQ(masked_fill(x, mask, 7.9).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{7, 1, 7}));
}

}  // namespace
}  // namespace neura::test
