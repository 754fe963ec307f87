// The row objects of all families and the functions that users call.
#include "neura/op/pointwise/rows.h"

#include <cstddef>

#include "neura/backend/families.h"
#include "neura/op/row.h"

// Where each row's kernel is: its family, and its index in the family's table.
namespace neura::places {
struct Place {
  Family family;
  unsigned slot;
};
#define FAMILY(name)           \
  inline namespace in_##name { \
    using Rows = name##_rows;  \
    constexpr Family family = Family::name;
#define END_FAMILY }
#define ROW1(name, ...) constexpr Place name{family, offsetof(Rows, name) / sizeof(KernelSlot)};
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include "neura/tables/families.def"
#include "neura/tables/end_kinds.h"
}  // namespace neura::places

#define NEURA_TABLE "neura/tables/families.def"
#include "neura/op/pointwise/define_table.h"

namespace neura {

#define ROW1(name, ...) &rows::name,
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
static constinit const Row* const kRows[] = {
#ifdef NEURA_WANTED
#define WANTED_ROW(name, ...) &rows::name,
#include NEURA_WANTED
    &rows::where,  // some row, that none is no mistake
#else
#include "neura/tables/families.def"
#endif
};
#include "neura/tables/end_kinds.h"

std::span<const Row* const> all_rows() { return kRows; }

const Row* find_row(std::string_view name) {
  for (const Row* row : kRows)
    if (name == row->name) return row;
  return nullptr;
}

}  // namespace neura
