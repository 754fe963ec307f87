// The CUDA kernels of one family of rows. CMake writes a file per family, which defines NEURA_FAMILY (a file of tables/
// without .def) and includes this one.
#include "neura/backend/cuda/pointwise.cuh"
#include "neura/backend/families.h"
// clang-format off
#define NEURA_TABLE NEURA_STRING(neura/tables/NEURA_FAMILY.def)
// clang-format on
#define NEURA_ROWS NEURA_JOIN(NEURA_FAMILY, _rows)

namespace neura::cuda {
#include "neura/backend/number/row_kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"

constexpr NEURA_ROWS table = {
#define ROW1(name, ...) .name = &kernel_of<name##_row>,
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include NEURA_TABLE
#include "neura/tables/end_kinds.h"
};
const void* NEURA_JOIN(rows_, NEURA_FAMILY)() { return &table; }
}  // namespace neura::cuda
