// Pointwise functions whose arguments are more than a row's.
#include "neura/nn/value.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using O = const Operand&;
using N = std::optional<double>;
using Mode = const std::optional<std::string>&;

void some_tensor(const char* op, O a, O b) {
  check<nn::ArgumentError>(a.is_tensor() || b.is_tensor(),
                           [&] { return std::string(op) + ": expected at least one tensor, got numbers"; });
}
div_options rounding(Mode mode) { return {.rounding_mode = mode ? mode->c_str() : nullptr}; }

void add_arithmetic(const List& s) {
  s.add(
       "add(input, other, *, alpha=1)",
       [](O a, O b, Scalar alpha) { return some_tensor("add", a, b), add(a, b, alpha); }, both | out | direct,
       "input + alpha * other, element by element; both broadcast.")
      .writes([](Tensor& x, O y, Scalar alpha) { add_(x, y, alpha); });
  s.add(
       "sub(input, other, *, alpha=1)",
       [](O a, O b, Scalar alpha) { return some_tensor("sub", a, b), sub(a, b, alpha); }, both | out | direct,
       "input - alpha * other, element by element; both broadcast.")
      .writes([](Tensor& x, O y, Scalar alpha) { sub_(x, y, alpha); })
      .alias("subtract", "sub");
  s.add(
       "div(input, other, *, rounding_mode=None)",
       [](O a, O b, Mode mode) { return some_tensor("div", a, b), div(a, b, rounding(mode)); }, both | out | direct,
       "input / other; rounding_mode 'trunc' or 'floor' rounds the quotient. Integers give the default dtype unless "
       "rounded.")
      .writes([](Tensor& x, O y, Mode mode) { div_(x, y, rounding(mode)); })
      .alias("divide", "div")
      .alias("true_divide", "div");
  s.add(
      "__rdiv__(self, other)", [](T a, O b) { return div(b, Operand(a)); }, method, "other / self.");
  s.add(
      "rsub(input, other, *, alpha=1)", [](T a, O b, Scalar alpha) { return rsub(a, b, alpha); }, both,
      "other - alpha * input, element by element; both broadcast.");
  s.add(
       "float_power(input, exponent)", [](O a, O b) { return some_tensor("float_power", a, b), float_power(a, b); },
       both | out, "input ** exponent in float64, or complex128.")
      .writes([](Tensor& x, O e) { write_over("float_power_", x, float_power(readable(x), e), true); });
  s.add(
      "ldexp(input, other)", [](T a, O b) { return ldexp(a, b); }, both | out | in_place, "input * 2**other.");
  s.add(
      "nextafter(input, other)", [](T a, T b) { return nextafter(a, b); }, both | out | in_place,
      "The next floating-point number after input towards other.");
  s.add(
       "igamma(input, other)", [](T a, T b) { return igamma(a, b); }, both | out | in_place,
       "The regularised lower incomplete gamma function P(input, other).")
      .alias("gammainc", "igamma")
      .also("special");
  s.add(
       "igammac(input, other)", [](T a, T b) { return igammac(a, b); }, both | out | in_place,
       "The regularised upper incomplete gamma function Q(input, other).")
      .alias("gammaincc", "igammac")
      .also("special");
  s.add(
       "zeta(input, other)", [](O a, O b) { return some_tensor("zeta", a, b), zeta(a, b); }, function | out,
       "The Hurwitz zeta function of input and other.")
      .also("special");
  s.add("square(input)", overload<T>(&square), both | out, "input * input.").writes(overload<Tensor&>(&square_));
}

void add_table(const List& s) {
#include "neura/surface/entries.h"
#include "neura/tables/functions/pointwise.def"
#include "neura/tables/functions/end.h"
}

void add_bounds(const List& s) {
  s.add(
       "round(input, *, decimals=0)", [](T x, int decimals) { return round(x, {decimals}); }, both | out,
       "Rounds to decimals digits after the point, ties to even.")
      .also("special")
      .writes([](Tensor& x, int decimals) { round_(x, {decimals}); });
  s.add(
       "clamp(input, min=None, max=None)",
       [](T x, O min, O max) {
         return clamp(x, clamp_options{min, max});
       },
       both | out, "Clamps each element to [min, max], numbers or tensors, either of which may be None. NaN stays.")
      .writes([](Tensor& x, O min, O max) {
        clamp_(x, clamp_options{min, max});
      })
      .alias("clip", "clamp");
  s.add(
       "nan_to_num(input, nan=None, posinf=None, neginf=None)",
       [](T x, N nan, N p, N m) {
         return nan_to_num(x, {nan.value_or(0), p, m});
       },
       both | out,
       "Replaces NaN by nan (default 0), infinities by posinf and neginf (default: the largest finite numbers of the "
       "dtype).")
      .writes([](Tensor& x, N nan, N p, N m) {
        nan_to_num_(x, {nan.value_or(0), p, m});
      });
  s.add(
      "isclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False)",
      [](T a, T b, double rtol, double atol, bool nan) {
        return isclose(a, b, {rtol, atol, nan});
      },
      both, "For each element, True if |input - other| <= atol + rtol * |other|; with equal_nan, NaN is close to NaN.");
  s.add(
      "allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False)",
      [](T a, T b, double rtol, double atol, bool nan) {
        return allclose(a, b, {rtol, atol, nan});
      },
      both, "True if |input - other| <= atol + rtol * |other| for all elements.");
  s.add(
      "celu(input, alpha=1)", [](T x, double alpha) { return celu(x, {alpha}); }, function,
      "CELU (Barron, 2017): x for x > 0, else alpha * (exp(x / alpha) - 1). ValueError for alpha 0.");
  s.add(
      "celu_(input, alpha=1)", [](Tensor& x, double alpha) { celu_(x, {alpha}); }, function, "celu, in place.");
  s.add(
      "where(condition)", [](T c) { return where(c); }, both | out,
      "input where condition is True, else other; all broadcast. With condition alone: its indices, as nonzero gives "
      "with as_tuple.");
  s.add(
      "where(condition, input, other)", [](T c, O a, O b) { return where(c, a, b); }, both | out);
}

}  // namespace

void add_pointwise(std::deque<Function>& all) {
  const List s(all, "");
  add_arithmetic(s);
  add_table(s);
  add_bounds(s);
}

}  // namespace neura::surface
