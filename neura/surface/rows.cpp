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

struct Operands {
  std::string_view row;
  unsigned numbers;
  std::array<const char*, 3> names;
};
namespace operand {  // the words of OPERANDS
constexpr unsigned none = 0, first = 1, second = 2, third = 4;
constexpr Operands kOperands[] = {
#define OPERANDS(row, numbers, ...) {#row, numbers, {__VA_ARGS__}},
#include "neura/tables/without_formulas.h"
};
}  // namespace operand
struct Activation {
  std::string_view function;
  bool takes_inplace;
};
constexpr Activation kActivations[] = {
#define ACTIVATION(Name, function) {#function, false},
#define ACTIVATION_WITH(Name, function, fields) {#function, false},
#define ACTIVATION_INPLACE(Name, function) {#function, true},
#define ACTIVATION_INPLACE_WITH(Name, function, fields) {#function, true},
#include "neura/nn/activations.def"
};
constexpr std::string_view kSpecial[] = {
#define SPECIAL(row) #row,
#include "neura/tables/without_formulas.h"
};
constexpr Alias kAliases[] = {
#define ALIAS(name, row) {#name, #row},
#define SPECIAL_ALIAS(name, row) {#name, #row, true},
#include "neura/tables/without_formulas.h"
};

template <std::size_t n> bool holds(const std::string_view (&list)[n], std::string_view name) {
  return std::find(list, list + n, name) != list + n;
}

RowFunction function_of(const Row& row) {
  const std::string_view name = row.name;
  RowFunction f{&row, {"input", "other", ""}, row.inputs == 1 ? operand::none : operand::second, false, false, false};
  for (const Operands& o : operand::kOperands) {
    if (o.row != name) continue;
    f.numbers = o.numbers;
    for (std::size_t i = 0; i < 3; ++i)
      if (o.names[i]) f.operands[i] = o.names[i];
  }
  for (const Activation& a : kActivations)
    if (a.function == name) f.functional = true, f.takes_inplace = a.takes_inplace;
  f.special = holds(kSpecial, name);
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
