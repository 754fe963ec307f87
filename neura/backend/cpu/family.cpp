// The CPU kernels of one family, once per instruction set. CMake writes a file per family, which defines NEURA_FAMILY
// (a file of tables/ without .def) and includes this one. A table that is no family of the library defines NEURA_TABLE
// too.
#define NEURA_ROWS NEURA_JOIN(NEURA_FAMILY, _rows)
#define NEURA_KERNELS NEURA_JOIN(NEURA_FAMILY, _kernels)
#include "neura/backend/families.h"
#if !defined(NEURA_TABLE) || defined(NEURA_LIBRARY_TABLE)
#undef NEURA_TABLE
#define NEURA_LIBRARY_TABLE
// clang-format off
#define NEURA_TABLE NEURA_STRING(neura/tables/NEURA_FAMILY.def)
// clang-format on
#elif !defined(NEURA_OWN_ROWS)  // once, not in every pass
#define NEURA_OWN_ROWS
namespace neura {
#define ROW1(name, ...) KernelSlot name;
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
struct NEURA_ROWS {
#include NEURA_TABLE
};
#include "neura/tables/end_kinds.h"
}  // namespace neura
#endif
#include "neura/backend/number/prelude.h"
#include "neura/backend/type_rule.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/family.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/numbers.h"
#include "neura/backend/number/row_kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"

constexpr NEURA_ROWS table = {
#define ROW1(name, ...) .name = kernel_if_wanted<name##_row, in_build::dtypes_of_row(#name)>(),
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
};
const NEURA_ROWS* NEURA_KERNELS() { return &table; }
}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(NEURA_KERNELS);
const void* NEURA_JOIN(cpu_rows_, NEURA_FAMILY)() { return HWY_DYNAMIC_DISPATCH(NEURA_KERNELS)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
