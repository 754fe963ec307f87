// The row objects of all families and the functions that users call.
#include "neura/ops/rows.h"

#define NEURA_FAMILY arithmetic
#define NEURA_TABLE "neura/tables/arithmetic.def"
#include "neura/ops/define_table.h"
#undef NEURA_FAMILY
#define NEURA_FAMILY compare
#define NEURA_TABLE "neura/tables/compare.def"
#include "neura/ops/define_table.h"
#undef NEURA_FAMILY
#define NEURA_FAMILY elementary
#define NEURA_TABLE "neura/tables/elementary.def"
#include "neura/ops/define_table.h"
#undef NEURA_FAMILY
#define NEURA_FAMILY activation
#define NEURA_TABLE "neura/tables/activation.def"
#include "neura/ops/define_table.h"
#undef NEURA_FAMILY
#define NEURA_FAMILY special
#define NEURA_TABLE "neura/tables/special.def"
#include "neura/ops/define_table.h"
#undef NEURA_FAMILY
#define NEURA_FAMILY select
#define NEURA_TABLE "neura/tables/select.def"
#include "neura/ops/define_table.h"
#undef NEURA_FAMILY

namespace neura {

#define ROW1(name, ...) &rows::name,
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
static constinit const Row* const kRows[] = {
#include "neura/ops/all_tables.h"
};
#include "neura/tables/end_kinds.h"

std::span<const Row* const> all_rows() { return kRows; }

const Row* find_row(std::string_view name) {
  for (const Row* row : kRows)
    if (name == row->name) return row;
  return nullptr;
}

}  // namespace neura
