// The functions of test_only.def, as declared for any table.
#pragma once
#include "neura/op/pointwise/row_literals.h"

namespace neura {
#define NEURA_TABLES "tests/tables/test_only.def"
#include "neura/op/pointwise/declare_table.h"
#undef NEURA_TABLES
}  // namespace neura
