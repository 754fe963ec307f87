// Kinks and singularities: PyTorch's answers, exactly.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "neura/autograd/autograd.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

Tensor of(std::initializer_list<double> values) {
  Tensor t = Tensor::empty(Spec::dense(DType::float64, Shape{std::int64_t(values.size())}));
  std::copy(values.begin(), values.end(), t.data<double>());
  return t;
}
Tensor whole(std::initializer_list<std::int64_t> values, DType dtype = DType::int64) {
  Tensor t = Tensor::empty(Spec::dense(DType::int64, Shape{std::int64_t(values.size())}));
  std::copy(values.begin(), values.end(), t.data<std::int64_t>());
  return t.to(dtype);
}
// The gradients of f, with g = 1 for every result.
template <class F, class... T> std::vector<Tensor> gradients(F f, T... leaves) {
  (leaves.requires_grad_(), ...);
  const Tensor y = f(leaves...);
  y.backward(of({1, 1, 1, 1}).slice(0, 0, y.numel()));
  return {leaves.grad()...};
}
const double inf = INFINITY, nan = NAN;

TEST(Kinks, ReluAndItsKinHaveSlopeZeroAtZero) {
  expect_close(gradients([](const Tensor& x) { return relu(x); }, of({-1, 0, 1}))[0], {0, 0, 1});
  expect_close(gradients([](const Tensor& x) { return leaky_relu(x, 0.5); }, of({-1, 0, 1}))[0], {0.5, 0.5, 1});
  expect_close(gradients([](const Tensor& x) { return relu6(x); }, of({0, 3, 6}))[0], {0, 1, 0});
  expect_close(gradients([](const Tensor& x) { return hardtanh(x); }, of({-1, 0, 1}))[0], {0, 1, 0});
  expect_close(gradients([](const Tensor& x) { return elu(x, 2.0); }, of({0, 1}))[0], {2, 1});
  expect_close(gradients([](const Tensor& x) { return abs(x); }, of({-2, 0, 2}))[0], {-1, 0, 1});
  expect_close(gradients([](const Tensor& x) { return hardswish(x); }, of({-3, 0, 3}))[0], {0, 0.5, 1});
}
TEST(Kinks, ClampPassesTheGradientAtItsBounds) {
  expect_close(gradients([](const Tensor& x) { return clamp(x, {.min = -1, .max = 1}); }, of({-2, -1, 1, 2}))[0],
               {0, 1, 1, 0});
  expect_close(clamp(of({0, 5}), {.min = 3, .max = 1}), {1, 1});
  const auto g = gradients([](const Tensor& x, const Tensor& low) { return clamp(x, {.min = low}); }, of({1, 2, 3}),
                           of({2, 2, 2}));
  expect_close(g[0], {0, 1, 1});
  expect_close(g[1], {1, 0, 0});
  EXPECT_EQ(clamp(whole({1, 5}), {.max = 2.5}).dtype(), DType::float32);
  EXPECT_EQ(clamp(whole({1, 9007199254740993}), {.min = 2}).to_vector<std::int64_t>()[1], 9007199254740993);
  EXPECT_EQ(error_of<ValueError>([] { clamp(of({1}), {}); }),
            "clamp: expected min or max, got neither; give at least one of them");
}
TEST(Kinks, TiesShareTheGradientOfMaximum) {
  const auto g =
      gradients([](const Tensor& a, const Tensor& b) { return maximum(a, b); }, of({1, 2, 3}), of({2, 2, 2}));
  expect_close(g[0], {0, 0.5, 1});
  expect_close(g[1], {1, 0.5, 0});
  expect_close(maximum(of({nan, 1, 1}), of({1, nan, 0})), {nan, nan, 1});
  expect_close(fmax(of({nan, 1, 1}), of({1, nan, 0})), {1, 1, 1});
}
TEST(Kinks, NaNPassesEveryBound) {  // a processor's own minimum of a number and NaN may be the number
  using Function = Tensor(const Tensor&);
  Function* const functions[] = {exp, exp2, expm1, tanh, erf, sinh, cosh, sigmoid, relu, relu6};
  for (const DType d : {float32, float64})
    for (Function* f : functions) {
      const Tensor x = full({33}, nan, {.dtype = d});  // vectors, and a rest
      expect_close(f(x), x);
    }
}
TEST(Kinks, PowersAtZero) {
  expect_close(pow(of({0, 0, 0, -8, 1}), of({0, -1, 2, 1. / 3, nan})), {1, inf, 0, nan, 1});
  const auto g = gradients([](const Tensor& a, const Tensor& b) { return pow(a, b); }, of({0, 0, 2}), of({0, 2, 3}));
  expect_close(g[0], {0, 0, 12});
  expect_close(g[1], {0, 0, 8 * std::log(2)});
  EXPECT_EQ(pow(whole({2, 3, -1}), 3).to_vector<std::int64_t>(), (std::vector<std::int64_t>{8, 27, -1}));
}
TEST(Kinks, AnglesAtTheOrigin) {
  const auto g = gradients([](const Tensor& y, const Tensor& x) { return atan2(y, x); }, of({0}), of({0}));
  expect_close(g[0], {0});
  expect_close(g[1], {0});
}
TEST(Kinks, ComplexInfinitiesAreThoseOfC) {
  const double inf = INFINITY, nan = NAN;
  using C = std::complex<double>;
  for (const DType dtype : {complex64, complex128}) {
    const auto number = [&](C v) { return full({3}, v, {.dtype = dtype}); };
    for (const C z : {C(inf, inf), C(-inf, nan), C(nan, -inf), C(inf, 1)}) {
      EXPECT_EQ(abs(number(z)).to(float64).to_vector<double>(), std::vector<double>(3, inf)) << z;
      EXPECT_EQ(reciprocal(number(z)).to(complex128).to_vector<C>()[2], C(0)) << z;
    }
    EXPECT_TRUE(std::isnan(abs(number({nan, 1})).to(float64).to_vector<double>()[0]));
    EXPECT_EQ((number({2, -3}) / number({-inf, 4})).to(complex128).to_vector<C>()[0], C(0));
    EXPECT_EQ(sigmoid(number({-inf, 0})).to(complex128).to_vector<C>()[0], C(0));
    EXPECT_TRUE(std::isnan(std::abs((number({inf, 0}) / number({inf, 0})).to(complex128).to_vector<C>()[0])));
  }
}
TEST(Kinks, ComplexNumbersOverZeroAreTheirPartsOverZero) {  // NumPy's answer, and torch's
  using C = std::complex<double>;
  const double inf = INFINITY, nan = NAN;
  const auto same = [](double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b; };
  const std::pair<C, C> cases[] = {{{1, 1}, {inf, inf}},   {{-3, 2}, {-inf, inf}},    {{-1, 0}, {-inf, nan}},
                                   {{0, 1}, {nan, inf}},   {{0, 0}, {nan, nan}},      {{inf, 0}, {inf, nan}},
                                   {{nan, 2}, {nan, inf}}, {{-inf, inf}, {-inf, inf}}};
  for (const DType dtype : {complex64, complex128})
    for (const std::int64_t n : {1, 9})
      for (const C zero : {C(0, 0), C(-0.0, 0), C(0, -0.0), C(-0.0, -0.0)}) {
        const Tensor none = full({n}, zero, {.dtype = dtype});
        for (const auto& [z, expected] : cases)
          for (const C y : (full({n}, z, {.dtype = dtype}) / none).to(complex128).to_vector<C>())
            EXPECT_TRUE(same(expected.real(), y.real()) && same(expected.imag(), y.imag())) << z << " gives " << y;
        const C r = reciprocal(none).to(complex128).to_vector<C>().back();
        EXPECT_TRUE(r.real() == inf && std::isnan(r.imag())) << r;
      }
}

TEST(Kinks, RoundingGoesToEven) {
  expect_close(round(of({0.5, 1.5, 2.5, -0.5, -1.5})), {0, 2, 2, -0., -2});
  expect_close(round(of({1.2345, 1250}), {.decimals = 2}), {1.23, 1250});
  expect_close(round(of({1250, 1350}), {.decimals = -2}), {1200, 1400});
  Tensor whole = tensor({155});
  expect_close(round(whole, {.decimals = 2}), {155});
  for (const auto& f : {std::function<void()>([&] { round(whole, {.decimals = -2}); }),
                        std::function<void()>([&] { round_(whole, {.decimals = -2}); })})
    EXPECT_EQ(error_of<NotImplementedError>(f),
              "round: expected floating numbers for decimals below 0, got int64 [1]; convert them with .to()");
}
TEST(Kinks, RemaindersAndQuotients) {
  const Tensor a = of({7, -7, 7, -7}), b = of({3, 3, -3, -3});
  expect_close(fmod(a, b), {1, -1, 1, -1});
  expect_close(remainder(a, b), {1, 2, -2, -1});
  expect_close(floor_divide(a, b), {2, -3, -3, 2});
  expect_close(div(a, b, {.rounding_mode = "trunc"}), {2, -2, -2, 2});
  expect_close(floor_divide(of({inf, 1, -1, 0}), of({1, inf, inf, 0})), {nan, 0, -1, nan});
  expect_close(remainder(whole({7, -7, 7, -7}), whole({3, 3, -3, -3})).to(DType::float64), {1, 2, -2, -1});
  EXPECT_EQ(error_of<ValueError>([&] {
              floor_divide(whole({1, 2}), whole({1, 0}));
            }),
            "floor_divide: expected integers other than 0 to divide by, got 0 (int64 [2], int64 [2])");
  EXPECT_EQ(error_of<ValueError>([&] { div(a, b, {.rounding_mode = "up"}); }),
            "div: expected rounding_mode to be None, 'trunc' or 'floor', got 'up'");
}
TEST(Kinks, IntegersWrapAndShift) {
  EXPECT_EQ(add(whole({127}, DType::int8), 1).to_vector<std::int8_t>()[0], -128);
  EXPECT_EQ(neg(whole({-128}, DType::int8)).to_vector<std::int8_t>()[0], -128);
  EXPECT_EQ(bitwise_left_shift(whole({1, 1, 1}), whole({3, 64, -1})).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{8, 0, 0}));
  EXPECT_EQ(bitwise_right_shift(whole({-8, -8}), whole({1, 99})).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{-4, -1}));
  EXPECT_EQ(gcd(whole({12, -18, 0}), whole({18, 12, 0})).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{6, 6, 0}));
}
TEST(Kinks, ProductsWithLogarithmsAtZero) {
  expect_close(xlogy(of({0, 0, 1, 0}), of({0, inf, 2, nan})), {0, 0, std::log(2), nan});
  expect_close(logaddexp(of({-inf, inf, 0}), of({-inf, inf, 0})), {-inf, inf, std::log(2)});
  expect_close(sinc(of({0, 1})), {1, 0});
  expect_close(gradients([](const Tensor& x) { return sinc(x); }, of({0}))[0], {0});
}
TEST(Kinks, OperatorsAndNumbers) {
  const Tensor x = of({1, 2});
  expect_close(2 - x * 3 / 2 + 1, {1.5, 0});
  EXPECT_EQ((x > 1).to_vector<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ((x == x).dtype(), DType::boolean);
  Tensor y = x.clone();
  y += 1, y *= x;
  expect_close(y, {2, 6});
  expect_close(gelu(of({1}), {.approximate = "tanh"}), {0.8411919906082768});
  expect_close(nan_to_num(of({nan, inf, 2}), {.nan = 1, .posinf = 9}), {1, 9, 2});
  expect_close(add(x, x, 0.5), {1.5, 3});
}

TEST(Kinks, TheDerivativesOfDigammaVanishAtInfinity) {
  const Tensor x = of({inf, 1e300, 2}), pi = of({3.141592653589793});
  expect_close(gradients([](const Tensor& v) { return digamma(v); }, x)[0],
               {0, 1e-300, pi.item<double>() * pi.item<double>() / 6 - 1});
  expect_close(polygamma(1, of({inf, nan})), {0, nan});
  expect_close(polygamma(2, of({inf})), {0});
  expect_close(gradients([](const Tensor& v) { return polygamma(1, v); }, of({inf}))[0], {0});
  expect_close(zeta(of({inf, 2}), of({2, inf})), {0, 0});
}

TEST(Kinks, OddFunctionsKeepTheSignOfZero) {
  using Odd = Tensor (*)(const Tensor&);
  const Odd all[] = {
      [](const Tensor& x) { return sin(x); },   [](const Tensor& x) { return tan(x); },
      [](const Tensor& x) { return tanh(x); },  [](const Tensor& x) { return expm1(x); },
      [](const Tensor& x) { return sinh(x); },  [](const Tensor& x) { return asinh(x); },
      [](const Tensor& x) { return asin(x); },  [](const Tensor& x) { return atan(x); },
      [](const Tensor& x) { return atanh(x); }, [](const Tensor& x) { return erf(x); },
      [](const Tensor& x) { return log1p(x); }, [](const Tensor& x) { return elu(x, 2.0); },
  };
  for (const DType d : {float16, bfloat16, float32, float64})
    for (std::size_t k = 0; k < std::size(all); ++k)
      for (const double zero : {0.0, -0.0}) {
        const std::vector<double> y = all[k](full({17}, zero, {.dtype = d})).to(float64).to_vector<double>();
        for (const double v : y) EXPECT_TRUE(v == 0 && std::signbit(v) == std::signbit(zero)) << k << " " << name(d);
      }
}
TEST(Kinks, ValuesAtTheEndOfTheRange) {
  expect_close(expm1(of({706.5, 709.7, 710, 1e3, inf})), {std::exp(706.5), std::exp(709.7), inf, inf, inf});
  expect_close(erfinv(of({1 - 0x1p-53, 1 - 0x1p-52, 1e-16 - 1})),
               {5.8635847487551676, 5.8050186831934533, -5.8635847487551676});
  const double most = 1.7976931348623157e308;
  expect_close(i0(of({most, -most, inf, 713})), {inf, inf, inf, 6.7051282636709964e307});
  expect_close(i1(of({most, -most, inf, -inf})), {inf, -inf, inf, -inf});
  EXPECT_NEAR(i0e(of({most})).item<double>() / 2.9754474593159e-155, 1, 1e-10);
}

}  // namespace
}  // namespace neura::test
