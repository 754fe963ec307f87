#include "neura/surface/rows.h"

#include <algorithm>
#include <string_view>

#include "neura/op/pointwise/rows.h"

namespace neura::surface {
namespace {

#define ROW1(name, ...) #name,
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
constexpr std::string_view kNames[] = {
#include "neura/tables/families.def"
};
#include "neura/tables/end_kinds.h"

constexpr unsigned kTensors = 0, kFirst = 1, kSecond = 2, kThird = 4;
struct Fact {
  std::string_view name;
  unsigned numbers;
  std::array<const char*, 3> operands = {"input", "other", ""};
};
// Rows of several operands; of the others, the second may be a number and is called `other`.
constexpr Fact kFacts[] = {
    {"mul", kFirst | kSecond},
    {"floor_divide", kFirst | kSecond},
    {"remainder", kFirst | kSecond},
    {"xlogy", kFirst | kSecond},
    {"xlog1py", kFirst | kSecond},
    {"bitwise_and", kFirst | kSecond},
    {"bitwise_or", kFirst | kSecond},
    {"bitwise_xor", kFirst | kSecond},
    {"bitwise_left_shift", kFirst | kSecond},
    {"bitwise_right_shift", kFirst | kSecond},
    {"pow", kFirst | kSecond, {"input", "exponent", ""}},
    {"maximum", kTensors},
    {"minimum", kTensors},
    {"fmax", kTensors},
    {"fmin", kTensors},
    {"atan2", kTensors},
    {"hypot", kTensors},
    {"heaviside", kTensors, {"input", "values", ""}},
    {"gcd", kTensors},
    {"lcm", kTensors},
    {"logaddexp", kTensors},
    {"logaddexp2", kTensors},
    {"logical_and", kTensors},
    {"logical_or", kTensors},
    {"logical_xor", kTensors},
    {"clamp_min", kSecond, {"input", "min", ""}},
    {"clamp_max", kSecond, {"input", "max", ""}},
    {"lerp", kThird, {"input", "end", "weight"}},
    {"addcmul", kTensors, {"input", "tensor1", "tensor2"}},
    {"addcdiv", kTensors, {"input", "tensor1", "tensor2"}},
};
constexpr std::string_view kInPlace[] = {"relu", "relu6", "elu",         "selu",     "leaky_relu",
                                         "silu", "mish",  "hardsigmoid", "hardswish"};
// Beside the family of special functions; lgamma is gammaln there.
constexpr std::string_view kSpecial[] = {"erf",   "erfc",  "erfinv", "exp2",    "expm1",
                                         "log1p", "logit", "sinc",   "xlog1py", "xlogy"};
constexpr Alias kAliases[] = {{"absolute", "abs"},
                              {"negative", "neg"},
                              {"fix", "trunc"},
                              {"less", "lt"},
                              {"greater", "gt"},
                              {"less_equal", "le"},
                              {"greater_equal", "ge"},
                              {"not_equal", "ne"},
                              {"arccos", "acos"},
                              {"arcsin", "asin"},
                              {"arctan", "atan"},
                              {"arccosh", "acosh"},
                              {"arcsinh", "asinh"},
                              {"arctanh", "atanh"},
                              {"arctan2", "atan2"},
                              {"multiply", "mul"},
                              {"expit", "sigmoid", true},
                              {"psi", "digamma", true},
                              {"gammaln", "lgamma", true},
                              {"special_xlogy", "xlogy"}};

RowFunction function_of(const Row& row) {
  const std::string_view name = row.name;
  RowFunction f{&row, {"input", "other", ""}, row.inputs == 1 ? kTensors : kSecond, false, false};
  if (name.find("polynomial") != std::string_view::npos) f.operands[1] = "n", f.numbers = kFirst | kSecond;
  for (const Fact& fact : kFacts)
    if (fact.name == name) f.operands = fact.operands, f.numbers = fact.numbers;
  f.takes_inplace = std::find(std::begin(kInPlace), std::end(kInPlace), name) != std::end(kInPlace);
  f.special = (row.family == Family::special && name != "lgamma") ||
              std::find(std::begin(kSpecial), std::end(kSpecial), name) != std::end(kSpecial);
  return f;
}

}  // namespace

const std::vector<RowFunction>& row_functions() {
  static const std::vector<RowFunction>* all = [] {
    auto* list = new std::vector<RowFunction>;  // functions of other languages point here until the process ends
    const auto rows = all_rows();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (kNames[i].front() != '_') list->push_back(function_of(*rows[i]));
    return list;
  }();
  return *all;
}
const RowFunction* find_row_function(std::string_view name) {
  for (const RowFunction& f : row_functions())
    if (name == f.row->name) return &f;
  return nullptr;
}
std::span<const Alias> row_aliases() { return kAliases; }

}  // namespace neura::surface
