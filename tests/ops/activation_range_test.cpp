// Activations and their derivatives in float32 beside the same formulas in float64, from the tails to the smallest
// numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

constexpr DType f32 = DType::float32, f64 = DType::float64;

Tensor sweep() {
  std::vector<float> x;
  for (int i = -20000; i <= 20000; ++i) x.push_back(float(i) / 100 + (i % 7) * 1e-4f);
  for (int e = -149; e < 8; ++e)
    for (const float m : {1.0f, 1.37f, -1.0f, -1.71f}) x.push_back(std::ldexp(m, e));
  return tensor(x, {.dtype = f32});
}
// In units of the last digit of the right answer, below the smallest normal number in those of its last digit.
double in_units(double got, double right, double least) {
  if (std::isnan(got) && std::isnan(right)) return 0;
  return std::abs(got - right) /
         std::max(std::ldexp(1.0, -149), std::ldexp(1.0, -23) * std::max(least, std::abs(right)));
}

struct Row {
  const char* name;
  Tensor (*f)(const Tensor&);
  double value, slope;  // most units of error; more where the slope has a root, or a rounded square is an exponent
  double value_in,
      slope_in;  // the least size whose units count: sigmoid, tanh and expm1 take the slope from the result
};
const Row rows[] = {
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, 3, 3, 0, 1},
    {"silu", [](const Tensor& x) { return silu(x); }, 3, 1000, 0, 0},
    {"gelu", [](const Tensor& x) { return gelu(x); }, 200, 1000, 0, 0},
    {"gelu_tanh", [](const Tensor& x) { return gelu(x, {.approximate = "tanh"}); }, 200, 300, 0, 0},
    {"mish", [](const Tensor& x) { return mish(x); }, 4, 300, 0, 0},
    {"softplus", [](const Tensor& x) { return softplus(x); }, 3, 3, 0, 0},
    {"logsigmoid", [](const Tensor& x) { return logsigmoid(x); }, 3, 3, 0, 0},
    {"elu", [](const Tensor& x) { return elu(x, {.alpha = 1.3}); }, 3, 3, 0, 0},
    {"celu", [](const Tensor& x) { return celu(x, {.alpha = 1.3}); }, 3, 100, 0, 0},
    {"selu", [](const Tensor& x) { return selu(x); }, 3, 3, 0, 0},
    {"hardswish", [](const Tensor& x) { return hardswish(x); }, 3, 100, 0, 0},
    {"softsign", [](const Tensor& x) { return softsign(x); }, 3, 3, 0, 0},
    {"tanh", [](const Tensor& x) { return tanh(x); }, 3, 3, 0, 1},
    {"tanhshrink", [](const Tensor& x) { return tanhshrink(x); }, 3, 3, 1, 0},
    {"log1p", [](const Tensor& x) { return log1p(abs(x)); }, 3, 3, 0, 0},
    {"expm1", [](const Tensor& x) { return expm1(x); }, 3, 3, 0, 1},
    {"erf", [](const Tensor& x) { return erf(x); }, 60, 60, 0, 0},
    {"erfc", [](const Tensor& x) { return erfc(x); }, 5, 60, 0, 0},
};

TEST(ActivationRange, ValuesAndDerivativesAreThoseOfFloat64) {
  for (const Row& row : rows) {
    Tensor x = sweep().requires_grad_(), wide = sweep().to(f64).requires_grad_();
    const Tensor y = row.f(x), right = row.f(wide);
    y.sum().backward(), right.sum().backward();
    const std::vector<double> at = wide.detach().to_vector<double>();
    for (const bool slope : {false, true}) {
      const std::vector<double> a = (slope ? x.grad() : y.detach()).to(f64).to_vector<double>();
      const std::vector<double> b = (slope ? wide.grad() : right.detach()).to_vector<double>();
      const double most = slope ? row.slope : row.value, least = slope ? row.slope_in : row.value_in;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::abs(b[i]) > 3.4028235e38) continue;
        EXPECT_LE(in_units(a[i], b[i], least), most)
            << row.name << (slope ? "' at " : " at ") << at[i] << ": " << a[i] << " instead of " << b[i];
      }
    }
  }
}
TEST(ActivationRange, TailsAreThere) {
  EXPECT_NEAR(gelu(tensor({-6.0}, {.dtype = f32})).item<double>() / (-3 * std::erfc(6 / std::sqrt(2.0))), 1, 5e-6);
  EXPECT_EQ(silu(tensor({-100.0}, {.dtype = f32})).item<float>(), float(-100 * std::exp(-100.0)));
  EXPECT_EQ(sigmoid(tensor({-100.0}, {.dtype = f32})).item<float>(), float(std::exp(-100.0)));
  EXPECT_EQ(softplus(tensor({100.0}, {.dtype = f32}), {.threshold = 200}).item<float>(), 100);
}

}  // namespace
}  // namespace neura
