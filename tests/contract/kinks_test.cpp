// Kinks and singularities of rows: what PyTorch's documented derivatives and definitions give there, exactly.
#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

const double inf = INFINITY, nan = NAN;

Tensor of(const std::vector<double>& v) { return tensor(v); }
// The gradients of f with respect to each operand, 1 arriving at every element of the result.
template <class F, class... T> std::vector<std::vector<double>> slopes(F f, T... leaf) {
  (leaf.requires_grad_(), ...);
  const Tensor y = f(leaf...);
  std::vector<std::vector<double>> all;
  const std::vector<Tensor> in = {leaf...};
  for (const bool create_graph : {true, false}) {  // the formula over tensors, and the kernel
    std::vector<std::vector<double>> now;
    const Tensor ones = ones_like(y);
    for (const Tensor& g :
         grad({&y, 1}, in, {&ones, 1}, {.retain_graph = true, .create_graph = create_graph, .allow_unused = true}))
      now.push_back(g ? g.detach().to_vector<double>() : std::vector<double>(std::size_t(in[0].numel()), 0.0));
    if (!all.empty())
      for (std::size_t i = 0; i < all.size(); ++i) expect_close(of(all[i]), of(now[i]));
    all = now;
  }
  return all;
}
struct Kink {
  const char* name;
  Tensor (*f)(const Tensor&);
  std::vector<double> x, value, slope;
};

TEST(Kinks, OfUnaryRows) {
  const std::vector<Kink> kinks = {
      {"relu", [](const Tensor& x) { return relu(x); }, {-1, 0, 1}, {0, 0, 1}, {0, 0, 1}},
      {"relu6", [](const Tensor& x) { return relu6(x); }, {0, 6, 7}, {0, 6, 6}, {0, 0, 0}},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.25); }, {-1, 0}, {-0.25, 0}, {0.25, 0.25}},
      {"elu", [](const Tensor& x) { return elu(x, 2.0); }, {0, 1}, {0, 1}, {2, 1}},
      {"celu", [](const Tensor& x) { return celu(x, {.alpha = 2}); }, {0, 1}, {0, 1}, {1, 1}},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, {-1, 0, 1, 2}, {-1, 0, 1, 1}, {0, 1, 0, 0}},
      {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }, {-3, 0, 3}, {0, 0.5, 1}, {0, 1. / 6, 0}},
      {"hardswish", [](const Tensor& x) { return hardswish(x); }, {-3, 0, 3}, {0, 0, 3}, {0, 0.5, 1}},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x); }, {-0.5, 0, 0.5, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}},
      {"softshrink", [](const Tensor& x) { return softshrink(x); }, {-0.5, 0, 0.5, 1}, {0, 0, 0, 0.5}, {0, 0, 0, 1}},
      {"threshold", [](const Tensor& x) { return threshold(x, 1, 5); }, {0, 1, 2}, {5, 5, 2}, {0, 0, 1}},
      {"clamp",
       [](const Tensor& x) { return clamp(x, {.min = -1, .max = 1}); },
       {-2, -1, 1, 2},
       {-1, -1, 1, 1},
       {0, 1, 1, 0}},
      {"clamp crossed",
       [](const Tensor& x) { return clamp(x, {.min = 3, .max = 1}); },
       {0, 2, 5},
       {1, 1, 1},
       {0, 0, 0}},
      {"abs", [](const Tensor& x) { return abs(x); }, {-2, 0, 2}, {2, 0, 2}, {-1, 0, 1}},
      {"sgn", [](const Tensor& x) { return sgn(x); }, {-2, 0, 2}, {-1, 0, 1}, {0, 0, 0}},
      {"sign", [](const Tensor& x) { return sign(x); }, {-2, 0, 2}, {-1, 0, 1}, {0, 0, 0}},
      {"sqrt", [](const Tensor& x) { return sqrt(x); }, {0, 4, -1}, {0, 2, nan}, {inf, 0.25, nan}},
      {"rsqrt", [](const Tensor& x) { return rsqrt(x); }, {0, 4}, {inf, 0.5}, {-inf, -0.0625}},
      {"reciprocal", [](const Tensor& x) { return reciprocal(x); }, {0, 2}, {inf, 0.5}, {-inf, -0.25}},
      {"log", [](const Tensor& x) { return log(x); }, {0, 1, -1}, {-inf, 0, nan}, {inf, 1, -1}},
      {"log1p", [](const Tensor& x) { return log1p(x); }, {-1, 0}, {-inf, 0}, {inf, 1}},
      {"asin", [](const Tensor& x) { return asin(x); }, {0, 1, 2}, {0, M_PI / 2, nan}, {1, inf, nan}},
      {"acos", [](const Tensor& x) { return acos(x); }, {1, 2}, {0, nan}, {-inf, nan}},
      {"acosh", [](const Tensor& x) { return acosh(x); }, {1, 0}, {0, nan}, {inf, nan}},
      {"atanh", [](const Tensor& x) { return atanh(x); }, {-1, 0, 1}, {-inf, 0, inf}, {inf, 1, inf}},
      {"erfinv",
       [](const Tensor& x) { return erfinv(x); },
       {-1, 0, 1, 2},
       {-inf, 0, inf, nan},
       {inf, 0.886226925452758, inf, nan}},
      {"round",
       [](const Tensor& x) { return round(x); },
       {0.5, 1.5, 2.5, -0.5, -1.5, -2.5},
       {0, 2, 2, 0, -2, -2},
       {0, 0, 0, 0, 0, 0}},
      {"floor", [](const Tensor& x) { return floor(x); }, {-1, -0.5, 0.5, inf}, {-1, -1, 0, inf}, {0, 0, 0, 0}},
      {"trunc", [](const Tensor& x) { return trunc(x); }, {-1.5, -0.5, 1}, {-1, 0, 1}, {0, 0, 0}},
      {"frac", [](const Tensor& x) { return frac(x); }, {-1.5, 1}, {-0.5, 0}, {1, 1}},
      {"sinc", [](const Tensor& x) { return sinc(x); }, {0}, {1}, {0}},
      {"angle", [](const Tensor& x) { return angle(x); }, {-1, 0, 1, nan}, {M_PI, 0, 0, nan}, {0, 0, 0, 0}},
      {"nan_to_num",
       [](const Tensor& x) { return nan_to_num(x, {.nan = 1, .posinf = 2, .neginf = 3}); },
       {nan, inf, -inf, 4},
       {1, 2, 3, 4},
       {0, 0, 0, 1}},
      {"entr", [](const Tensor& x) { return entr(x); }, {-1, 0, 1}, {-inf, 0, 0}, {nan, inf, -1}},
      {"exp", [](const Tensor& x) { return exp(x); }, {-inf, 0, inf}, {0, 1, inf}, {0, 1, inf}},
      {"tanh", [](const Tensor& x) { return tanh(x); }, {-inf, 0, inf}, {-1, 0, 1}, {0, 1, 0}},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, {-inf, 0, inf}, {0, 0.5, 1}, {0, 0.25, 0}},
      {"logsigmoid",
       [](const Tensor& x) { return logsigmoid(x); },
       {-1000, 0, 1000},
       {-1000, -std::log(2), 0},
       {1, 0.5, 0}},
      {"softplus", [](const Tensor& x) { return softplus(x); }, {-1000, 0, 1000}, {0, std::log(2), 1000}, {0, 0.5, 1}},
      {"lgamma",
       [](const Tensor& x) { return lgamma(x); },
       {0, 1, -1},
       {inf, 0, inf},
       {-inf, -0.5772156649015329, nan}},
      {"i1", [](const Tensor& x) { return i1(x); }, {0}, {0}, {0.5}},
  };
  for (const Kink& k : kinks) {
    SCOPED_TRACE(k.name);
    expect_close(k.f(of(k.x)), k.value);
    expect_close(of(slopes(k.f, of(k.x))[0]), k.slope);
  }
}

struct Kink2 {
  const char* name;
  Tensor (*f)(const Tensor&, const Tensor&);
  std::vector<double> a, b, value, slope_a, slope_b;
};

TEST(Kinks, OfBinaryRows) {
  const std::vector<Kink2> kinks = {
      {"maximum",
       [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
       {1, 2, 3, nan},
       {2, 2, 2, 1},
       {2, 2, 3, nan},
       {0, 0.5, 1, 1},
       {1, 0.5, 0, 1}},
      {"minimum",
       [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
       {1, 2, 3},
       {2, 2, 2},
       {1, 2, 2},
       {1, 0.5, 0},
       {0, 0.5, 1}},
      {"fmax",
       [](const Tensor& a, const Tensor& b) { return fmax(a, b); },
       {1, 2, nan, 1},
       {2, 2, 1, nan},
       {2, 2, 1, 1},
       {0, 1, 0, 1},
       {1, 0, 1, 0}},
      {"fmin",
       [](const Tensor& a, const Tensor& b) { return fmin(a, b); },
       {1, 2, nan, 1},
       {2, 2, 1, nan},
       {1, 2, 1, 1},
       {1, 1, 0, 1},
       {0, 0, 1, 0}},
      {"atan2",
       [](const Tensor& a, const Tensor& b) { return atan2(a, b); },
       {0, 0, 1},
       {0, -1, 0},
       {0, M_PI, M_PI / 2},
       {0, -1, 0},
       {0, 0, -1}},
      {"hypot",
       [](const Tensor& a, const Tensor& b) { return hypot(a, b); },
       {0, 3},
       {0, 4},
       {0, 5},
       {nan, 0.6},
       {nan, 0.8}},
      {"pow",
       [](const Tensor& a, const Tensor& b) { return pow(a, b); },
       {0, 0, 0, -2, 2},
       {0, -1, 2, 2, 0},
       {1, inf, 0, 4, 1},
       {0, -inf, 0, -4, 0},
       {0, -inf, 0, nan, std::log(2)}},
      {"fmod",
       [](const Tensor& a, const Tensor& b) { return fmod(a, b); },
       {7, -7, 7, -7, 1},
       {3, 3, -3, -3, 0},
       {1, -1, 1, -1, nan},
       {1, 1, 1, 1, 1},
       {-2, 2, 2, -2, -inf}},
      {"remainder",
       [](const Tensor& a, const Tensor& b) { return remainder(a, b); },
       {7, -7, 7, -7, -5},
       {3, 3, -3, -3, inf},
       {1, 2, -2, -1, inf},
       {1, 1, 1, 1, 1},
       {-2, 3, 3, -2, 1}},
      {"div_floor",
       [](const Tensor& a, const Tensor& b) { return div(a, b, {.rounding_mode = "floor"}); },
       {7, -7, 1, -1},
       {2, 2, 0, 0},
       {3, -4, inf, -inf},
       {0, 0, 0, 0},
       {0, 0, 0, 0}},
      {"div",
       [](const Tensor& a, const Tensor& b) { return div(a, b); },
       {1, 0, -1},
       {0, 0, 0},
       {inf, nan, -inf},
       {inf, inf, inf},
       {-inf, nan, inf}},
      {"xlogy",
       [](const Tensor& a, const Tensor& b) { return xlogy(a, b); },
       {0, 0, 2, 0},
       {0, 2, 1, nan},
       {0, 0, 0, nan},
       {0, std::log(2), 0, nan},
       {nan, 0, 2, nan}},
      {"logaddexp",
       [](const Tensor& a, const Tensor& b) { return logaddexp(a, b); },
       {0, 1000, -inf},
       {0, 0, 0},
       {std::log(2), 1000, 0},
       {0.5, 1, 0},
       {0.5, 0, 1}},
      {"copysign",
       [](const Tensor& a, const Tensor& b) { return copysign(a, b); },
       {0, 2, -2},
       {-1, -1, 1},
       {0, -2, 2},
       {0, -1, -1},
       {0, 0, 0}},
      {"clamp_min",
       [](const Tensor& a, const Tensor& b) { return clamp(a, {.min = b}); },
       {1, 2, 3},
       {2, 2, 2},
       {2, 2, 3},
       {0, 1, 1},
       {1, 0, 0}},
      {"clamp_max",
       [](const Tensor& a, const Tensor& b) { return clamp(a, {.max = b}); },
       {1, 2, 3},
       {2, 2, 2},
       {1, 2, 2},
       {1, 1, 0},
       {0, 0, 1}},
  };
  for (const Kink2& k : kinks) {
    SCOPED_TRACE(k.name);
    expect_close(k.f(of(k.a), of(k.b)), k.value);
    const auto g = slopes(k.f, of(k.a), of(k.b));
    expect_close(of(g[0]), k.slope_a);
    expect_close(of(g[1]), k.slope_b);
  }
}

TEST(Kinks, WithoutDerivative) {
  const Tensor x = of({1}).requires_grad_();
  EXPECT_FALSE(eq(x, x).requires_grad());
  EXPECT_FALSE(isnan(x).requires_grad());
  expect_close(heaviside(of({-1, 0, 1}), of({5, 5, 5})), {0, 5, 1});
  EXPECT_EQ(signbit(of({-0., 0.})).to_vector<bool>(), (std::vector<bool>{true, false}));
  expect_close(floor_divide(of({7, -7, inf, 1}), of({2, 2, 1, inf})), {3, -4, nan, 0});
}

TEST(Kinks, OfComplexNumbersAtTheOrigin) {
  using C = std::complex<double>;
  for (Tensor (*f)(const Tensor&) : {+[](const Tensor& z) { return abs(z); }, +[](const Tensor& z) { return angle(z); },
                                     +[](const Tensor& z) { return sgn(z); }}) {
    Tensor z = tensor(std::vector<C>{0}, {1}).requires_grad_();
    const Tensor y = f(z);
    EXPECT_EQ(y.detach().to(complex128).to_vector<C>()[0], C(0));
    EXPECT_EQ(grad(y, z, ones_like(y)).to_vector<C>()[0], C(0));
    EXPECT_EQ(grad(f(z), z, ones_like(y), {.create_graph = true}).detach().to_vector<C>()[0], C(0));
  }
}

}  // namespace
}  // namespace neura::test
