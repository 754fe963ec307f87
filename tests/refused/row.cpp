// The kernels of row.def, as the library makes those of its own tables. CTest compiles this once for each REFUSED.
#define HWY_COMPILE_ONLY_STATIC
#define NEURA_FAMILY refused
#define NEURA_TABLE "tests/refused/row.def"
#include "neura/backend/cpu/family.cpp"
