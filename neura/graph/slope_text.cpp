// The formulas of slopes, as the tables have them.
#include "neura/graph/fused_text.h"
#include "neura/op/pointwise/rows.h"

namespace neura::graph {
namespace {

struct Formulas {
  const Row* row;
  const char* slope[3];
};
const Formulas kFormulas[] = {
#define ROW1(name, types, attributes, formula, d, text) {&rows::name, {#d}},
#define ROW2(name, types, attributes, formula, d0, d1, text) {&rows::name, {#d0, #d1}},
#define ROW3(name, types, attributes, formula, d0, d1, d2, text) {&rows::name, {#d0, #d1, #d2}},
#include "neura/tables/kinds.h"
#include "neura/tables/families.def"
#include "neura/tables/end_kinds.h"
};

}  // namespace

std::string formula_of(const Row& row) {
  if (row.kind != Row::slope) return row.formula;
  for (const Formulas& f : kFormulas)
    if (f.row == row.of) return f.slope[row.operand];
  return "";
}

}  // namespace neura::graph
