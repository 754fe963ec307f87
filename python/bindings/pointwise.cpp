// Pointwise functions whose arguments are more than a row's.
#include "out.h"

namespace neura::python {
namespace {

void some_tensor(const Operand& a, const Operand& b, const char* op) {
  if (!a.is_tensor() && !b.is_tensor())
    throw nb::type_error((std::string(op) + ": expected at least one tensor, got numbers").c_str());
}
void bind_arithmetic(const Names& n) {
  using O = const Operand&;
  n.both(
      "add",
      [](O a, O b, Scalar alpha, nb::object out) {
        return some_tensor(a, b, "add"), into(out, add(a, b, alpha), "add");
      },
      "input"_a, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), "out"_a = nb::none());
  n.both(
      "sub",
      [](O a, O b, Scalar alpha, nb::object out) {
        return some_tensor(a, b, "sub"), into(out, sub(a, b, alpha), "sub");
      },
      "input"_a, "other"_a, nb::kw_only(), "alpha"_a = Scalar(1), "out"_a = nb::none());
  n.alias("subtract", "sub");
  n.both(
      "div",
      [](O a, O b, std::optional<std::string> mode, nb::object out) {
        return some_tensor(a, b, "div"), into(out, div(a, b, {.rounding_mode = mode ? mode->c_str() : nullptr}), "div");
      },
      "input"_a, "other"_a, nb::kw_only(), "rounding_mode"_a = nb::none(), "out"_a = nb::none());
  n.method(
      "__rdiv__", [](const Tensor& a, O b) { return div(b, Operand(a)); }, "self"_a, "other"_a);
  n.alias("divide", "div").alias("true_divide", "div");
  n.both(
      "rsub", [](const Tensor& a, O b, Scalar alpha) { return rsub(a, b, alpha); }, "input"_a, "other"_a, nb::kw_only(),
      "alpha"_a = Scalar(1));
  n.method(
      "add_", [](Tensor& x, O y, Scalar alpha) { return add_(x, y, alpha); }, "self"_a, "other"_a, nb::kw_only(),
      "alpha"_a = Scalar(1));
  n.method(
      "sub_", [](Tensor& x, O y, Scalar alpha) { return sub_(x, y, alpha); }, "self"_a, "other"_a, nb::kw_only(),
      "alpha"_a = Scalar(1));
  n.method(
      "div_",
      [](Tensor& x, O y, std::optional<std::string> mode) {
        return div_(x, y, {.rounding_mode = mode ? mode->c_str() : nullptr});
      },
      "self"_a, "other"_a, nb::kw_only(), "rounding_mode"_a = nb::none());
  n.both(
      "float_power", [](O a, O b) { return some_tensor(a, b, "float_power"), float_power(a, b); }, "input"_a,
      "exponent"_a);
  n.both(
      "ldexp", [](const Tensor& a, const Tensor& b) { return ldexp(a, b); }, "input"_a, "other"_a);
  n.both(
      "nextafter", [](const Tensor& a, const Tensor& b) { return nextafter(a, b); }, "input"_a, "other"_a);
  n.both(
       "igamma", [](const Tensor& a, const Tensor& b) { return igamma(a, b); }, "input"_a, "other"_a)
      .alias("gammainc", "igamma");
  n.both(
       "igammac", [](const Tensor& a, const Tensor& b) { return igammac(a, b); }, "input"_a, "other"_a)
      .alias("gammaincc", "igammac");
  n.function(
      "zeta", [](O a, O b) { return some_tensor(a, b, "zeta"), zeta(a, b); }, "input"_a, "other"_a);
  n.both("square", nb::overload_cast<const Tensor&>(&square), "input"_a)
      .method("square_", nb::overload_cast<Tensor&>(&square_));
}

using Bound = Operand;
Tensor clamped(const Tensor& x, const Bound& min, const Bound& max) { return clamp(x, clamp_options{min, max}); }

void bind_bounds(const Names& n) {
  n.both(
      "round", [](const Tensor& x, int decimals) { return round(x, {decimals}); }, "input"_a, nb::kw_only(),
      "decimals"_a = 0);
  n.method(
      "round_", [](Tensor& x, int decimals) { return round_(x, {decimals}); }, "self"_a, nb::kw_only(),
      "decimals"_a = 0);
  n.both("clamp", &clamped, "input"_a, "min"_a = nb::none(), "max"_a = nb::none()).alias("clip", "clamp");
  for (const char* name : {"clamp_", "clip_"})
    n.method(
        name,
        [](Tensor& x, const Bound& min, const Bound& max) {
          return clamp_(x, clamp_options{min, max});
        },
        "self"_a, "min"_a = nb::none(), "max"_a = nb::none());
  n.both(
      "nan_to_num",
      [](const Tensor& x, std::optional<double> nan, std::optional<double> p, std::optional<double> m) {
        return nan_to_num(x, {nan.value_or(0), p, m});
      },
      "input"_a, "nan"_a = nb::none(), "posinf"_a = nb::none(), "neginf"_a = nb::none());
  n.method(
      "nan_to_num_",
      [](Tensor& x, std::optional<double> nan, std::optional<double> p, std::optional<double> m) {
        return nan_to_num_(x, {nan.value_or(0), p, m});
      },
      "self"_a, "nan"_a = nb::none(), "posinf"_a = nb::none(), "neginf"_a = nb::none());
  n.both(
      "isclose",
      [](const Tensor& a, const Tensor& b, double rtol, double atol, bool nan) {
        return isclose(a, b, {rtol, atol, nan});
      },
      "input"_a, "other"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false);
  n.both(
      "allclose",
      [](const Tensor& a, const Tensor& b, double rtol, double atol, bool nan) {
        return allclose(a, b, {rtol, atol, nan});
      },
      "input"_a, "other"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false);
  n.both("equal", &equal, "input"_a, "other"_a);
  n.both(
      "masked_fill", [](const Tensor& x, const Tensor& m, const Operand& v) { return masked_fill(x, m, v); }, "input"_a,
      "mask"_a, "value"_a);
  n.method(
      "masked_fill_", [](Tensor& x, const Tensor& m, const Operand& v) { return masked_fill_(x, m, v); }, "self"_a,
      "mask"_a, "value"_a);
  n.both(
      "where", [](const Tensor& c) { return where(c); }, "condition"_a);
  n.both(
      "where", [](const Tensor& c, const Operand& a, const Operand& b) { return where(c, a, b); }, "condition"_a,
      "input"_a, "other"_a);
  n.method(
      "_where_method", [](const Tensor& a, const Tensor& c, const Operand& b) { return where(c, a, b); }, "self"_a,
      "condition"_a, "other"_a);
  add_method("where", n.methods.attr("_where_method"));
}

void bind_special(const Names& n) {
  n.both(
      "polygamma", [](int k, const Tensor& x) { return polygamma(k, x); }, "n"_a, "input"_a);
  n.method(
      "_polygamma_method", [](const Tensor& x, int k) { return polygamma(k, x); }, "self"_a, "n"_a);
  add_method("polygamma", n.methods.attr("_polygamma_method"));
  n.both("mvlgamma", &mvlgamma, "input"_a, "p"_a).alias("multigammaln", "mvlgamma");
  n.both("prelu", &prelu, "input"_a, "weight"_a);
}

}  // namespace

void bind_pointwise(const Names& n) {
  bind_arithmetic(n);
  bind_bounds(n);
  bind_special(n);
}

}  // namespace neura::python
