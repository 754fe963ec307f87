// Pointwise operations that ONNX lacks, as formulas of those that it has.
#include <numbers>

#include "neura/onnx/row_call.h"

namespace neura::onnx {
namespace {

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10, kPi = std::numbers::pi;

// x and y: the operands in the dtype of the result.
#define FORMULA(name, ...)                                                                     \
  void write_##name(RowCall& c) {                                                              \
    [[maybe_unused]] const Term x = c.in(0, c.out().dtype);                                    \
    [[maybe_unused]] const auto y = [&](std::size_t i = 1) { return c.in(i, c.out().dtype); }; \
    c.result(__VA_ARGS__);                                                                     \
  }
Term exp(const Term& x) { return call("Exp", x); }
Term log(const Term& x) { return call("Log", x); }
Term sqrt(const Term& x) { return call("Sqrt", x); }
Term abs(const Term& x) { return call("Abs", x); }
Term truncated(const Term& x) { return call("Sign", x) * call("Floor", abs(x)); }
Term larger(const Term& a, const Term& b) { return call("Max", a, b); }
Term smaller(const Term& a, const Term& b) { return call("Min", a, b); }
// log(1 + x), exact for small x: x * log(u) / (u - 1) with u = 1 + x (W. Kahan).
Term log1p(const Term& x) {
  const Term u = x + 1.0, d = u - 1.0, none = compare("Equal", d, d.number(0));
  const Term plain = compare("Or", none, compare("Equal", abs(x), x.number(HUGE_VAL)));
  return where(plain, x, x * log(u) / where(none, d.number(1), d));
}
// exp(x) - 1 = 2 sinh(x / 2) exp(x / 2), and -1 where exp(x) is negligible.
Term expm1(const Term& x) {
  return where(compare("Less", x, x.number(-50)), x.number(-1), call("Sinh", x * 0.5) * exp(x * 0.5) * 2.0);
}

FORMULA(square, x* x)
FORMULA(rsqrt, 1.0 / sqrt(x))
FORMULA(exp2, exp(x* kLn2))
FORMULA(expm1, expm1(x))
FORMULA(log2, log(x) / kLn2)
FORMULA(log10, log(x) / kLn10)
FORMULA(log1p, log1p(x))
FORMULA(erfc, 1.0 - call("Erf", x))
FORMULA(trunc, truncated(x))
FORMULA(frac, x - truncated(x))
FORMULA(deg2rad, x*(kPi / 180))
FORMULA(rad2deg, x*(180 / kPi))
FORMULA(round_decimals, call("Round", x* c.real("scale") / c.real("inverse")) * c.real("inverse") / c.real("scale"))
FORMULA(lerp, x + (y(1) - x) * y(2))
FORMULA(addcmul, x + y(1) * y(2) * c.real("value"))
FORMULA(addcdiv, x + y(1) / y(2) * c.real("value"))
FORMULA(xlogy, where(compare("Equal", x, x.number(0)), x.number(0), x* log(y())))
FORMULA(sinc, where(compare("Equal", x, x.number(0)), x.number(1), call("Sin", x* kPi) / (x * kPi)))
#undef FORMULA

void write_logaddexp(RowCall& c) {
  const Term x = c.in(0, c.out().dtype), y = c.in(1, c.out().dtype), most = larger(x, y);
  const Term endless = compare("Equal", abs(most), most.number(HUGE_VAL));  // x - y may be NaN
  c.result(where(endless, most, most + log1p(exp(call("Neg", abs(x - y))))));
}
// Without squares that overflow.
void write_hypot(RowCall& c) {
  const Term x = abs(c.in(0, c.out().dtype)), y = abs(c.in(1, c.out().dtype)), most = larger(x, y),
             part = smaller(x, y) / most;
  const Term plain =
      compare("Or", compare("Equal", most, most.number(0)), compare("Equal", most, most.number(HUGE_VAL)));
  c.result(where(plain, most, most * sqrt(part * part + 1.0)));
}
// Of float32 or wider, which hold what they are compared with.
Term wide(RowCall& c) { return c.in(0, onnx::wide(c.in(0).dtype)); }
void write_isposinf(RowCall& c) { c.result(compare("Equal", wide(c), wide(c).number(HUGE_VAL))); }
void write_isneginf(RowCall& c) { c.result(compare("Equal", wide(c), wide(c).number(-HUGE_VAL))); }
void write_logit(RowCall& c) {
  Term x = c.in(0, c.out().dtype);
  const double eps = c.real("eps");
  if (eps >= 0) x = smaller(larger(x, x.number(eps)), x.number(1 - eps));
  c.result(log(x / (1.0 - x)));
}
void write_nan_to_num(RowCall& c) {
  Term x = c.in(0);
  if (!is_floating(x.dtype)) return c.result(x);
  x = where(predicate("IsNaN", x), x.number(c.real("nan")), x);
  x = where(compare("Equal", x, x.number(HUGE_VAL)), x.number(c.real("posinf")), x);
  c.result(where(compare("Equal", x, x.number(-HUGE_VAL)), x.number(c.real("neginf")), x));
}

constexpr RowWriter kWriters[] = {
    {"square", write_square, "Mul"},
    {"rsqrt", write_rsqrt, "Sqrt, Div"},
    {"exp2", write_exp2, "Exp"},
    {"expm1", write_expm1, "Sinh, Exp"},
    {"log2", write_log2, "Log"},
    {"log10", write_log10, "Log"},
    {"log1p", write_log1p, "Log, Where"},
    {"erfc", write_erfc, "Erf"},
    {"trunc", write_trunc, "Sign, Floor, Abs"},
    {"frac", write_frac, "Sign, Floor, Abs"},
    {"deg2rad", write_deg2rad, "Mul"},
    {"rad2deg", write_rad2deg, "Mul"},
    {"round_decimals", write_round_decimals, "Round"},
    {"hypot", write_hypot, "Sqrt"},
    {"logaddexp", write_logaddexp, "Max, Log, Exp"},
    {"lerp", write_lerp, "Sub, Mul, Add"},
    {"addcmul", write_addcmul, "Mul, Add"},
    {"addcdiv", write_addcdiv, "Div, Add"},
    {"xlogy", write_xlogy, "Log, Where"},
    {"sinc", write_sinc, "Sin, Where"},
    {"isposinf", write_isposinf, "Equal"},
    {"isneginf", write_isneginf, "Equal"},
    {"logit", write_logit, "Log"},
    {"nan_to_num", write_nan_to_num, "IsNaN, Where"},
};

}  // namespace

std::span<const RowWriter> formula_writers() { return kWriters; }

}  // namespace neura::onnx
