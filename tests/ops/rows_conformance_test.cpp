// The pointwise operations against PyTorch's stored answers: values, gradients, second gradients, calls that must fail.
#include <gtest/gtest.h>

#include "neura/op/apply.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/surface/rows.h"
#include "tests/support/conformance.h"

namespace neura::test {
namespace {

using Results = std::vector<Tensor>;

Operand operand(const Value& v) {
  if (v.kind == Value::tensor) return v.data;
  return v.is_number() ? Operand(v.scalar) : Operand();
}
double number(const Value& v) { return v.scalar.real(); }
const Tensor& x(const ConformanceCase& c) { return c.input.data; }
Operand first(const ConformanceCase& c) {
  if (c.raises && c.input.kind != Value::tensor) throw DTypeError("a number where torch takes a tensor");
  return operand(c.argument(0, "other"));
}
Scalar alpha(const ConformanceCase& c) {
  const Value& v = c.kwarg("alpha");
  return v ? v.scalar : Scalar(1);
}

// Any row, called as torch does: operands in order, then attributes by position or name.
CaseFunction by_row(const Row& row, bool tensors_only) {
  return [&row, tensors_only](const ConformanceCase& c) -> Results {
    Operand in[3] = {operand(c.input)};
    if (!in[0].is_tensor() && c.raises) throw DTypeError("a number where torch takes a tensor");
    const char* names[] = {"", row.inputs == 2 ? "other" : "", ""};
    for (int i = 1; i < row.inputs; ++i) {
      in[i] = operand(c.argument(i - 1, names[i]));
      if (tensors_only && !in[i].is_tensor()) throw DTypeError("a number where torch takes a tensor");
    }
    double attributes[4];
    for (int i = 0; i < row.attributes.count; ++i) {
      const Value& v = c.argument(row.inputs - 1 + i, row.attributes.name[i]);
      attributes[i] = v ? number(v) : row.attributes.fallback[i];
    }
    Tensor out;
    Call call{&row, attributes, in, row.inputs, &out};
    apply(call);
    return {out};
  };
}

using Files = std::vector<std::pair<std::string, CaseFunction>>;

void add_rows(Files& t) {
  for (const std::string& name : conformance_names()) {
    std::string plain = name;
    for (const char* prefix : {"nn.functional.", "special."})
      if (plain.rfind(prefix, 0) == 0) plain = plain.substr(std::string(prefix).size());
    if (const auto at = plain.find('#'); at != plain.npos && plain != "silu#complex") continue;
    plain = plain.substr(0, plain.find('#'));
    // Functions of more arguments than their row's are judged below; these have a row's alone and check them first.
    const bool more = plain == "add" || plain == "sub" || plain == "div";
    const bool checked = plain == "igamma" || plain == "igammac" || plain == "zeta";
    const surface::RowFunction* f = surface::find_row_function(plain);
    if (f && !more) t.push_back({name, by_row(*f->row, f->row->inputs > 1 && !f->numbers)});
    else if (checked) t.push_back({name, by_row(*find_row(plain), plain != "zeta")});
  }
}
void add_arithmetic(Files& t) {
  const auto more = [&](const char* name, Results (*f)(const ConformanceCase&)) { t.push_back({name, f}); };
  more("add", [](const ConformanceCase& c) -> Results { return {add(operand(c.input), first(c), alpha(c))}; });
  more("sub", [](const ConformanceCase& c) -> Results { return {sub(operand(c.input), first(c), alpha(c))}; });
  more("rsub", [](const ConformanceCase& c) -> Results { return {rsub(operand(c.input), first(c), alpha(c))}; });
  more("__radd__", [](const ConformanceCase& c) -> Results { return {add(first(c), operand(c.input))}; });
  more("__rsub__", [](const ConformanceCase& c) -> Results { return {sub(first(c), operand(c.input))}; });
  more("__rmul__", [](const ConformanceCase& c) -> Results { return {mul(first(c), operand(c.input))}; });
  more("__rdiv__", [](const ConformanceCase& c) -> Results { return {div(first(c), operand(c.input))}; });
  more("__rmod__", [](const ConformanceCase& c) -> Results { return {remainder(first(c), operand(c.input))}; });
  more("__rpow__", [](const ConformanceCase& c) -> Results { return {pow(first(c), operand(c.input))}; });
  more("__rand__", [](const ConformanceCase& c) -> Results { return {bitwise_and(first(c), operand(c.input))}; });
  more("__ror__", [](const ConformanceCase& c) -> Results { return {bitwise_or(first(c), operand(c.input))}; });
  more("__rxor__", [](const ConformanceCase& c) -> Results { return {bitwise_xor(first(c), operand(c.input))}; });
  more("true_divide", [](const ConformanceCase& c) -> Results { return {true_divide(operand(c.input), first(c))}; });
  more("float_power", [](const ConformanceCase& c) -> Results { return {float_power(operand(c.input), first(c))}; });
  more("ldexp", [](const ConformanceCase& c) -> Results { return {ldexp(operand(c.input), first(c))}; });
  more("positive", [](const ConformanceCase& c) -> Results { return {positive(x(c))}; });
  more("square", [](const ConformanceCase& c) -> Results { return {square(x(c))}; });
  more("max#binary", [](const ConformanceCase& c) -> Results {
    if (c.args[0].kind != Value::tensor) throw DTypeError("a number where torch takes a tensor");
    return {maximum(x(c), first(c))};
  });
  more("min#binary", [](const ConformanceCase& c) -> Results {
    if (c.args[0].kind != Value::tensor) throw DTypeError("a number where torch takes a tensor");
    return {minimum(x(c), first(c))};
  });
  const auto division = [](const ConformanceCase& c) -> Results {
    const Value& mode = c.kwarg("rounding_mode");
    return {div(operand(c.input), first(c), {.rounding_mode = mode ? mode.word.c_str() : nullptr})};
  };
  more("div#floor_rounding", division);
  more("div#trunc_rounding", division);
  more("div#no_rounding_mode", division);
  const auto rounding = [](const ConformanceCase& c) -> Results {
    const Value& d = c.kwarg("decimals");
    return {round(x(c), {.decimals = d ? int(d.scalar.integer()) : 0})};
  };
  for (const char* name : {"round", "round#decimals_0", "round#decimals_3", "round#decimals_neg_3"})
    more(name, rounding);
  more("clamp", [](const ConformanceCase& c) -> Results {
    return {clamp(x(c), {.min = operand(c.argument(0, "min")), .max = operand(c.argument(1, "max"))})};
  });
  more("nn.functional.gelu", [](const ConformanceCase& c) -> Results {
    const Value& a = c.kwarg("approximate");
    return {gelu(x(c), {.approximate = a ? a.word.c_str() : "none"})};
  });
  more("nn.functional.threshold",
       [](const ConformanceCase& c) -> Results { return {threshold(x(c), c.args[0].scalar, c.args[1].scalar)}; });
  more("nn.functional.prelu",
       [](const ConformanceCase& c) -> Results { return {prelu(x(c), c.argument(0, "weight").data)}; });
}
void add_functions(Files& t) {
  const auto more = [&](const char* name, Results (*f)(const ConformanceCase&)) { t.push_back({name, f}); };
  more("nextafter", [](const ConformanceCase& c) -> Results {
    if (c.input.kind != Value::tensor || c.args[0].kind != Value::tensor)
      throw DTypeError("a number where torch takes a tensor");
    return {nextafter(x(c), first(c))};
  });
  for (const char* name :
       {"polygamma#polygamma_n_0", "polygamma#polygamma_n_1", "polygamma#polygamma_n_2", "polygamma#polygamma_n_3",
        "polygamma#polygamma_n_4", "special.polygamma#special_polygamma_n_0"})
    more(name, [](const ConformanceCase& c) -> Results { return {polygamma(int(c.args[0].scalar.integer()), x(c))}; });
  for (const char* name : {"mvlgamma#mvlgamma_p_1", "mvlgamma#mvlgamma_p_3", "mvlgamma#mvlgamma_p_5"})
    more(name, [](const ConformanceCase& c) -> Results {
      return {mvlgamma(x(c), int(c.argument(0, "p").scalar.integer()))};
    });
  more("nn.functional.softsign", [](const ConformanceCase& c) -> Results { return {softsign(x(c))}; });
  more("nn.functional.tanhshrink", [](const ConformanceCase& c) -> Results { return {tanhshrink(x(c))}; });
  more("nn.functional.hardtanh", [](const ConformanceCase& c) -> Results {
    hardtanh_options o;
    if (const Value& v = c.argument(0, "min_val")) o.min_val = number(v);
    if (const Value& v = c.argument(1, "max_val")) o.max_val = number(v);
    return {hardtanh(x(c), o)};
  });
  more("nn.functional.softshrink", [](const ConformanceCase& c) -> Results {
    const Value& v = c.argument(0, "lambd");
    return {softshrink(x(c), {v ? number(v) : 0.5})};
  });
  more("nn.functional.celu", [](const ConformanceCase& c) -> Results {
    const Value& v = c.argument(0, "alpha");
    return {celu(x(c), {v ? number(v) : 1})};
  });
  more("nan_to_num", [](const ConformanceCase& c) -> Results { return {nan_to_num(x(c))}; });
  more("masked_fill",
       [](const ConformanceCase& c) -> Results { return {masked_fill(x(c), c.args[0].data, operand(c.args[1]))}; });
  more("isclose", [](const ConformanceCase& c) -> Results {
    isclose_options o;
    if (c.args[0].kind != Value::tensor) throw DTypeError("a number where torch takes a tensor");
    if (const Value& v = c.kwarg("rtol")) o.rtol = number(v);
    if (const Value& v = c.kwarg("atol")) o.atol = number(v);
    if (const Value& v = c.kwarg("equal_nan")) o.equal_nan = v.scalar.integer();
    return {isclose(x(c), c.args[0].data, o)};
  });
}
TEST(Rows, AnswersArePyTorchs) {
  Files files;
  add_rows(files), add_arithmetic(files), add_functions(files);
  expect_conformance("pointwise", files);
}

}  // namespace
}  // namespace neura::test
