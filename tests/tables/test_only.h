// The functions of test_only.def, as declared for any table.
#pragma once
#include "neura/ops/declare_rows.h"

namespace neura {
#define NEURA_TABLES "tests/tables/test_only.def"
#include "neura/ops/declare_table.h"
#undef NEURA_TABLES
}  // namespace neura
