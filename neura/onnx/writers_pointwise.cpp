// Pointwise operations that ONNX has, and those that are formulas of such.
#include <cmath>
#include <numbers>

#include "neura/onnx/row_call.h"

namespace neura::onnx {
namespace {

Term x0(RowCall& c) { return c.in(0, c.common()); }
Term x1(RowCall& c) { return c.in(1, c.common()); }

Term f0(RowCall& c) { return c.in(0, c.out().dtype); }
Term f1(RowCall& c) { return c.in(1, c.out().dtype); }

void bool_or(RowCall& c, const char* op, const char* of_bool) {
  c.result(call(c.common() == DType::boolean ? of_bool : op, x0(c), x1(c)));
}
void write_add(RowCall& c) { bool_or(c, "Add", "Or"); }
void write_mul(RowCall& c) { bool_or(c, "Mul", "And"); }
void write_div(RowCall& c) { c.result(f0(c) / f1(c)); }
void write_pow(RowCall& c) { c.result(call("Pow", x0(c), x1(c))); }
void write_maximum(RowCall& c) { bool_or(c, "Max", "Or"); }
void write_minimum(RowCall& c) { bool_or(c, "Min", "And"); }

// Of the divisor's sign. ONNX's Mod is so for integers, and has the dividend's sign for floats.
Term remainder_of(const Term& a, const Term& b) {
  if (!is_floating(a.dtype)) return call("Mod", a, b);
  const Term r = call("Mod", a, b, {attribute("fmod", std::int64_t{1})}), zero = r.number(0);
  const Term other = compare("Xor", compare("Less", r, zero), compare("Less", b, zero));
  return where(compare("And", predicate("Not", compare("Equal", r, zero)), other), r + b, r);
}
// ONNX divides integers towards zero; floor_divide rounds down.
void write_div_floor(RowCall& c) {
  const Term a = x0(c), b = x1(c);
  const Term whole = (a - remainder_of(a, b)) / b;
  if (!is_floating(c.common())) return c.result(whole);
  c.result(where(compare("Equal", b, b.number(0)), a / b, call("Round", whole)));
}
void write_div_trunc(RowCall& c) {
  const Term q = x0(c) / x1(c);
  c.result(is_floating(c.common()) ? call("Sign", q) * call("Floor", call("Abs", q)) : q);
}
void write_remainder(RowCall& c) { c.result(remainder_of(x0(c), x1(c))); }
void write_fmod(RowCall& c) { c.result(call("Mod", x0(c), x1(c), {attribute("fmod", std::int64_t{1})})); }

template <class F> void comparison(RowCall& c, F of) {
  DType d = c.common();
  const bool small = d == DType::boolean || d == DType::int8 || d == DType::uint8 || d == DType::int16;
  if (small) d = DType::int32;
  c.result(of(c.in(0, d), c.in(1, d)));
}
#define COMPARES(name, ...)                                                  \
  void write_##name(RowCall& c) {                                            \
    comparison(c, [](const Term& a, const Term& b) { return __VA_ARGS__; }); \
  }
COMPARES(eq, compare("Equal", a, b))
COMPARES(ne, predicate("Not", compare("Equal", a, b)))
COMPARES(lt, compare("Less", a, b))
COMPARES(gt, compare("Greater", a, b))
COMPARES(ge, compare("GreaterOrEqual", a, b))
COMPARES(le, compare("LessOrEqual", a, b))
#undef COMPARES

Term truth(const Term& x) { return x.cast(DType::boolean); }
void write_and(RowCall& c) { c.result(compare("And", truth(x0(c)), truth(x1(c)))); }
void write_or(RowCall& c) { c.result(compare("Or", truth(x0(c)), truth(x1(c)))); }
void write_xor(RowCall& c) { c.result(compare("Xor", truth(x0(c)), truth(x1(c)))); }
void write_not(RowCall& c) { c.result(predicate("Not", truth(x0(c)))); }
void bitwise(RowCall& c, const char* of_bool, const char* of_integers) {
  if (c.common() != DType::boolean && c.to.opset < 18) c.refuse("integers", "ask for an opset_version of 18 or more");
  c.result(call(c.common() == DType::boolean ? of_bool : of_integers, x0(c), x1(c)));
}
void write_bitwise_and(RowCall& c) { bitwise(c, "And", "BitwiseAnd"); }
void write_bitwise_or(RowCall& c) { bitwise(c, "Or", "BitwiseOr"); }
void write_bitwise_xor(RowCall& c) { bitwise(c, "Xor", "BitwiseXor"); }
void write_bitwise_not(RowCall& c) {
  if (c.common() == DType::boolean) return c.result(predicate("Not", x0(c)));
  if (c.to.opset < 18) c.refuse("integers", "ask for an opset_version of 18 or more");
  c.result(call("BitwiseNot", x0(c)));
}
void write_isnan(RowCall& c) {
  if (is_floating(c.common())) return c.result(predicate("IsNaN", x0(c)));
  c.result(predicate("Not", compare("Equal", x0(c), x0(c))));
}
Term infinite(const Term& x) { return compare("Equal", call("Abs", x), x.number(HUGE_VAL)); }
void write_isinf(RowCall& c) { c.result(infinite(c.in(0, wide(c.common())))); }
void write_isfinite(RowCall& c) {
  const Term x = c.in(0, wide(c.common()));
  c.result(compare("Less", call("Abs", x), x.number(HUGE_VAL)));
}

void write_where(RowCall& c) {
  c.result(where(c.in(0, DType::boolean), c.in(1, c.out().dtype), c.in(2, c.out().dtype)));
}
void write_clamp(RowCall& c) {
  Term x = x0(c);
  const double low = c.real("min"), high = c.real("max");
  if (low != -HUGE_VAL) x = call("Max", x, x.number(low));
  if (high != HUGE_VAL) x = call("Min", x, x.number(high));
  c.result(x);
}
void write_hardtanh(RowCall& c) {
  const Term x = x0(c);
  c.result(call("Min", call("Max", x, x.number(c.real("min_val"))), x.number(c.real("max_val"))));
}
void write_clamp_between(RowCall& c) { c.result(call("Min", call("Max", x0(c), x1(c)), c.in(2, c.common()))); }

// Activations.
void write_leaky_relu(RowCall& c) {
  c.result(call("LeakyRelu", x0(c), {attribute("alpha", c.real("negative_slope"))}));
}
void write_elu(RowCall& c) { c.result(call("Elu", x0(c), {attribute("alpha", c.real("alpha"))})); }
void write_celu(RowCall& c) { c.result(call("Celu", x0(c), {attribute("alpha", c.real("alpha"))})); }
void write_relu6(RowCall& c) { c.result(call("Min", call("Relu", x0(c)), x0(c).number(6))); }
void write_gelu(RowCall& c) {
  const Term x = x0(c);
  if (c.to.opset >= 20) return c.result(call("Gelu", x));
  c.result(x * (call("Erf", x * std::numbers::sqrt2 * 0.5) + 1.0) * 0.5);
}
void write_gelu_tanh(RowCall& c) {
  const Term x = x0(c);
  if (c.to.opset >= 20) return c.result(call("Gelu", x, {attribute("approximate", "tanh")}));
  const Term inner = (x + x * x * x * 0.044715) * std::sqrt(2 / std::numbers::pi);
  c.result(x * (call("Tanh", inner) + 1.0) * 0.5);
}
void write_silu(RowCall& c) { c.result(x0(c) * call("Sigmoid", x0(c))); }
void write_mish(RowCall& c) {
  if (c.to.opset >= 18) return c.result(call("Mish", x0(c)));
  c.result(x0(c) * call("Tanh", call("Softplus", x0(c))));
}
void write_softplus(RowCall& c) {
  const double beta = c.real("beta");
  if (beta == 1 && c.real("threshold") >= 20) return c.result(call("Softplus", x0(c)));  // equal within rounding there
  const Term x = x0(c) * beta;
  c.result(where(compare("Greater", x, x.number(c.real("threshold"))), x0(c), call("Softplus", x) / beta));
}
void write_hardsigmoid(RowCall& c) {
  c.result(call("HardSigmoid", x0(c), {attribute("alpha", 1.0 / 6), attribute("beta", 0.5)}));
}
void write_hardswish(RowCall& c) {
  c.result(x0(c) * call("HardSigmoid", x0(c), {attribute("alpha", 1.0 / 6), attribute("beta", 0.5)}));
}
void write_hardshrink(RowCall& c) {
  c.result(call("Shrink", x0(c), {attribute("lambd", c.real("lambd")), attribute("bias", 0.0)}));
}
void write_softshrink(RowCall& c) {
  c.result(call("Shrink", x0(c), {attribute("lambd", c.real("lambd")), attribute("bias", c.real("lambd"))}));
}
void write_tanhshrink(RowCall& c) { c.result(x0(c) - call("Tanh", x0(c))); }
void write_threshold(RowCall& c) {
  const Term x = x0(c);
  c.result(where(compare("Greater", x, x.number(c.real("threshold"))), x, x.number(c.real("value"))));
}
void write_logsigmoid(RowCall& c) { c.result(call("Neg", call("Softplus", call("Neg", x0(c))))); }

#define OF_FLOAT(name, operator_name) \
  void write_##name(RowCall& c) { c.result(call(operator_name, f0(c))); }
// clang-format off
OF_FLOAT(exp, "Exp")
OF_FLOAT(log, "Log")
OF_FLOAT(sqrt, "Sqrt")
OF_FLOAT(sin, "Sin")
OF_FLOAT(cos, "Cos")
OF_FLOAT(tan, "Tan")
OF_FLOAT(asin, "Asin")
OF_FLOAT(acos, "Acos")
OF_FLOAT(atan, "Atan")
OF_FLOAT(sinh, "Sinh")
OF_FLOAT(cosh, "Cosh")
OF_FLOAT(tanh, "Tanh")
OF_FLOAT(asinh, "Asinh")
OF_FLOAT(acosh, "Acosh")
OF_FLOAT(atanh, "Atanh")
OF_FLOAT(sigmoid, "Sigmoid")
OF_FLOAT(erf, "Erf")
OF_FLOAT(reciprocal, "Reciprocal")
// clang-format on
#undef OF_FLOAT

constexpr RowWriter kWriters[] = {
    {"add", write_add, "Add, Or"},
    {"sub", nullptr, "Sub"},
    {"mul", write_mul, "Mul, And"},
    {"div", write_div, "Div"},
    {"div_floor", write_div_floor, "Div, Mod, Round"},
    {"floor_divide", write_div_floor, "Div, Mod, Round"},
    {"div_trunc", write_div_trunc, "Div, Floor"},
    {"remainder", write_remainder, "Mod, Where"},
    {"fmod", write_fmod, "Mod"},
    {"pow", write_pow, "Pow"},
    {"maximum", write_maximum, "Max, Or"},
    {"minimum", write_minimum, "Min, And"},
    {"neg", nullptr, "Neg"},
    {"abs", nullptr, "Abs"},
    {"sign", nullptr, "Sign"},
    {"sgn", nullptr, "Sign"},
    {"ceil", nullptr, "Ceil"},
    {"floor", nullptr, "Floor"},
    {"round", nullptr, "Round"},
    {"reciprocal", write_reciprocal, "Reciprocal"},
    {"exp", write_exp, "Exp"},
    {"log", write_log, "Log"},
    {"sqrt", write_sqrt, "Sqrt"},
    {"sin", write_sin, "Sin"},
    {"cos", write_cos, "Cos"},
    {"tan", write_tan, "Tan"},
    {"asin", write_asin, "Asin"},
    {"acos", write_acos, "Acos"},
    {"atan", write_atan, "Atan"},
    {"sinh", write_sinh, "Sinh"},
    {"cosh", write_cosh, "Cosh"},
    {"tanh", write_tanh, "Tanh"},
    {"asinh", write_asinh, "Asinh"},
    {"acosh", write_acosh, "Acosh"},
    {"atanh", write_atanh, "Atanh"},
    {"sigmoid", write_sigmoid, "Sigmoid"},
    {"erf", write_erf, "Erf"},
    {"eq", write_eq, "Equal"},
    {"ne", write_ne, "Equal, Not"},
    {"lt", write_lt, "Less"},
    {"gt", write_gt, "Greater"},
    {"ge", write_ge, "GreaterOrEqual"},
    {"le", write_le, "LessOrEqual"},
    {"logical_and", write_and, "And"},
    {"logical_or", write_or, "Or"},
    {"logical_xor", write_xor, "Xor"},
    {"logical_not", write_not, "Not"},
    {"bitwise_and", write_bitwise_and, "And, BitwiseAnd"},
    {"bitwise_or", write_bitwise_or, "Or, BitwiseOr"},
    {"bitwise_xor", write_bitwise_xor, "Xor, BitwiseXor"},
    {"bitwise_not", write_bitwise_not, "Not, BitwiseNot"},
    {"isnan", write_isnan, "IsNaN"},
    {"isinf", write_isinf, "Abs, Equal"},
    {"isfinite", write_isfinite, "Abs, Less"},
    {"where", write_where, "Where"},
    {"clamp", write_clamp, "Max, Min"},
    {"clamp_min", nullptr, "Max"},
    {"clamp_max", nullptr, "Min"},
    {"clamp_between", write_clamp_between, "Max, Min"},
    {"hardtanh", write_hardtanh, "Max, Min"},
    {"relu", nullptr, "Relu"},
    {"relu6", write_relu6, "Relu, Min"},
    {"leaky_relu", write_leaky_relu, "LeakyRelu"},
    {"elu", write_elu, "Elu"},
    {"celu", write_celu, "Celu"},
    {"selu", nullptr, "Selu"},
    {"gelu", write_gelu, "Gelu, Erf"},
    {"gelu_tanh", write_gelu_tanh, "Gelu, Tanh"},
    {"silu", write_silu, "Sigmoid, Mul"},
    {"mish", write_mish, "Mish, Softplus"},
    {"softplus", write_softplus, "Softplus"},
    {"softsign", nullptr, "Softsign"},
    {"hardsigmoid", write_hardsigmoid, "HardSigmoid"},
    {"hardswish", write_hardswish, "HardSigmoid, Mul"},
    {"hardshrink", write_hardshrink, "Shrink"},
    {"softshrink", write_softshrink, "Shrink"},
    {"tanhshrink", write_tanhshrink, "Tanh, Sub"},
    {"threshold", write_threshold, "Where"},
    {"logsigmoid", write_logsigmoid, "Softplus, Neg"},
    {"prelu", nullptr, "PRelu"},
};

}  // namespace

std::span<const RowWriter> pointwise_writers() { return kWriters; }

}  // namespace neura::onnx
