// Prints docs/operations.md: every pointwise operation, from the tables. tools/docs.sh writes the page, or checks it.
#include <cstdio>
#include <iterator>
#include <string>

#include "neura/op/pointwise/rows.h"
#include "neura/op/row.h"

namespace neura {
namespace {

const char* const kFamilies[] = {
#define FAMILY(name) #name,
#include "neura/tables/without_formulas.h"
};

std::string dtypes(DTypeSet s) {
  const struct {
    DTypeSet set;
    const char* words;
  } known[] = {{dtypes::all, "all"},
               {dtypes::numbers, "numbers"},
               {dtypes::ordered, "all but complex"},
               {dtypes::integers | dtypes::floating, "integers, floating"},
               {dtypes::floating | dtypes::complexes, "floating, complex"},
               {dtypes::integers | dtypes::booleans, "integers, bool"},
               {dtypes::integers, "integers"},
               {dtypes::floating, "floating"},
               {dtypes::complexes, "complex"},
               {dtypes::booleans, "bool"}};
  for (const auto& k : known)
    if (k.set == s) return k.words;
  std::string list;
  for (int i = 0; i < kDTypes; ++i)
    if (s >> i & 1) list += (list.empty() ? "" : ", ") + std::string(name(DType(i)));
  return list;
}

const char* gives(ResultType c) {
  switch (c) {
    case ResultType::same:
      return "the same";
    case ResultType::as_float:
      return "floating";
    case ResultType::as_bool:
      return "bool";
    case ResultType::as_real:
      return "the same, real";
    case ResultType::as_real_float:
      return "floating, real";
    case ResultType::as_sum:
      return "the same, int64 for integers";
  }
  return "";
}

std::string cell(const char* text) {  // within a table, a bar ends a cell
  std::string r;
  for (; *text; ++text) r += *text == '|' ? std::string("\\|") : std::string(1, *text);
  return r;
}

std::string call(const Row& row) {
  static const char* const operands[4] = {"", "x", "a, b", "a, b, c"};
  std::string r =
      std::string(row.name + (row.name[0] == '_')) + "(" + (row.types.mask_first ? "mask, a, b" : operands[row.inputs]);
  char number[32];
  for (int i = 0; i < row.attributes.count; ++i) {
    std::snprintf(number, sizeof number, "%g", row.attributes.fallback[i]);
    r += std::string(", ") + row.attributes.name[i] + "=" + number;
  }
  return r + ")";
}

void print_family(int family) {
  std::printf("\n## %s\n\n| operation | formula | takes | gives | derivative | |\n|---|---|---|---|---|---|\n",
              kFamilies[family]);
  for (const Row* row : all_rows()) {
    if (int(row->family) != family) continue;
    std::printf("| `%s` | `%s` | %s | %s | %s | %s |\n", call(*row).c_str(), cell(row->formula).c_str(),
                dtypes(row->types.accepted).c_str(), gives(row->types.result_type),
                row->differentiable ? "yes" : "none", cell(row->text).c_str());
  }
}

void print_promotion() {
  constexpr DType order[] = {boolean, uint8,    int8,    int16,   int32,     int64,
                             float16, bfloat16, float32, float64, complex64, complex128};
  std::printf(
      "\n## Which dtype operands meet in\n\n"
      "The higher category wins (bool, integers, floating, complex), then the wider dtype. A tensor without dimensions "
      "does not raise\nthe dtype within a category, nor does a number: `int32 * 2` is int32, `float32 * 0.5` is "
      "float32, "
      "`int32 * 0.5` is the default\nfloat.\n\n|");
  for (const DType column : order) std::printf(" | %s", name(column));
  std::printf(" |\n|---");
  for (std::size_t i = 0; i < std::size(order); ++i) std::printf("|---");
  std::printf("|\n");
  for (const DType row : order) {
    std::printf("| **%s**", name(row));
    for (const DType column : order) std::printf(" | %s", name(promote(row, column)));
    std::printf(" |\n");
  }
}

}  // namespace
}  // namespace neura

int main() {
  std::printf(
      "# Pointwise operations\n\n"
      "Made from `neura/tables` by `make docs`: do not edit. Each has an in-place form (`tanh_(x)`) and one that "
      "writes into a\n"
      "tensor (`tanh_out(out, x)`). Operands broadcast, and their dtypes meet as in PyTorch; a number takes the dtype "
      "of the tensor\n"
      "it meets. Halves are computed in float32. A derivative can be differentiated again, to any order.\n");
  neura::print_promotion();
  for (int i = 0; i < int(neura::Family::count); ++i) neura::print_family(i);
  return 0;
}
