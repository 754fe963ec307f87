// The rows of the tests' own table: functions, in-place and out= forms, derivatives.
#include "tests/tables/test_only.h"

#include "neura/backend/backend.h"

namespace neura {
const void* cpu_rows_test_only();
static const void* kernels_of_test_only(const Backend&) { return cpu_rows_test_only(); }
}  // namespace neura
#define NEURA_OWN kernels_of_test_only
#define NEURA_TABLE "tests/tables/test_only.def"
#include "neura/op/pointwise/define_table.h"
