// Formulas over existing operations: values by hand, gradients by finite differences, and where they are refused.
#include "neura/ops/reduce/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/signal/window.h"

namespace neura {
namespace {

constexpr DType f64 = DType::float64;
Tensor doubles(std::initializer_list<double> l) { return tensor(l, {.dtype = f64}); }

TEST(Statistics, CovarianceOfTwoVariables) {
  const Tensor x = tensor({{1.0, 2.0, 4.0}, {2.0, 1.0, 0.0}}, {.dtype = f64});
  const std::vector<double> c = cov(x).to_vector<double>();
  EXPECT_NEAR(c[0], 7.0 / 3, 1e-12);
  EXPECT_NEAR(c[1], -1.5, 1e-12);
  EXPECT_NEAR(c[3], 1.0, 1e-12);
  EXPECT_NEAR(corrcoef(x).to_vector<double>()[1], -1.5 / std::sqrt(7.0 / 3), 1e-12);
  EXPECT_THROW(cov(x, 1, ones({2}, {.dtype = DType::int64})), ShapeError);
  EXPECT_THROW(cov(x, 1, ones({3})), DTypeError);
  EXPECT_THROW(cov(ones({1, 1, 1})), ShapeError);
}

TEST(Statistics, CrossProductOfUnitVectors) {
  const Tensor x = doubles({1, 0, 0}), y = doubles({0, 1, 0});
  EXPECT_EQ(cross(x, y).to_vector<double>(), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(cross(y, x).to_vector<double>(), (std::vector<double>{0, 0, -1}));
  EXPECT_THROW(cross(ones({2}), ones({2})), ShapeError);
  EXPECT_THROW(cross(ones({1, 3}), ones({3})), ShapeError);
}

TEST(Statistics, FrexpTakesEveryNumberApart) {
  const std::vector<double> values{0.0, 1.0, -3.0, 0.75, 1e300, 5e-324, 1 - 1e-16};
  const FrexpResult r = frexp(tensor(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    int exponent;
    EXPECT_EQ(r.mantissa.to_vector<double>()[i], std::frexp(values[i], &exponent));
    EXPECT_EQ(r.exponent.to_vector<std::int32_t>()[i], exponent);
  }
  EXPECT_THROW(frexp(ones({1}, {.dtype = DType::int64})), DTypeError);
}

TEST(Statistics, GradientOfAParabolaIsExact) {
  const Tensor at = doubles({0, 1, 3, 4});
  const std::vector<double> slope = gradient(at * at, {at}, {}, 2)[0].to_vector<double>();
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(slope[std::size_t(i)], (std::vector<double>{0, 2, 6, 8})[std::size_t(i)], 1e-12);
  EXPECT_THROW(gradient(at, {1.0}, {}, 3), ValueError);
  EXPECT_THROW(gradient(at, {1.0}, {0, 0}), ValueError);
  EXPECT_THROW(gradient(doubles({1}), {1.0}), ShapeError);
}

TEST(Statistics, WindowsAreOneAtTheCentre) {
  for (const auto& w : {windows::hann(9), windows::blackman(9), windows::bartlett(9), windows::kaiser(9, 5.0)}) {
    const std::vector<float> v = w.to_vector<float>();
    EXPECT_NEAR(v[4], 1, 1e-6);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(v[i], v[8 - i], 1e-6);
  }
  EXPECT_THROW(windows::hann(-1), ValueError);
  EXPECT_EQ(windows::hann(0).numel(), 0);
}

TEST(Statistics, ResizeKeepsWhatFits) {
  Tensor x = doubles({1, 2, 3, 4});
  resize_(x, {2});
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2}));
  resize_(x, {2, 2});
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, 2, 3, 4}));
  const Tensor other = x.detach();
  EXPECT_THROW(resize_(x, {1000}), InplaceError);
  EXPECT_THROW(resize_(x, {-1}), ShapeError);
}

TEST(Statistics, IsinSearchesOrCompares) {
  const Tensor x = tensor({1, 5, 9});
  EXPECT_EQ(isin(x, tensor({5})).to_vector<bool>(), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(isin(x, arange(100)).to_vector<bool>(), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(isin(x, zeros({0})).to_vector<bool>(), (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace neura
