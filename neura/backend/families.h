// A family is a file of tables/ with pointwise rows. Its kernels, by name, for any back end: a KernelSlot has no
// default, so a back end that forgets a row does not compile.
#pragma once
#include "neura/backend/row_kernel.h"

namespace neura {

struct KernelSlot {
  const RowKernel* kernel;
  constexpr KernelSlot(const RowKernel* k) : kernel(k) {}
};

#define NEURA_STRING2(x) #x
#define NEURA_STRING(x) NEURA_STRING2(x)
#define NEURA_JOIN2(a, b) a##b
#define NEURA_JOIN(a, b) NEURA_JOIN2(a, b)

#define FAMILY(name) struct name##_rows {
#define END_FAMILY \
  }                \
  ;
#define ROW1(name, ...) KernelSlot name;
#define ROW2 ROW1
#define ROW3 ROW1
#include "neura/tables/kinds.h"
#include "neura/tables/families.def"
#include "neura/tables/end_kinds.h"

}  // namespace neura
