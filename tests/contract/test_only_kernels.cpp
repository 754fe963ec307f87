// The kernels of tests/tables/test_only.def, for the baseline alone: the tests do not link Highway.
#ifndef HWY_COMPILE_ONLY_STATIC
#define HWY_COMPILE_ONLY_STATIC
#endif
#define NEURA_FAMILY test_only
#define NEURA_TABLE "tests/tables/test_only.def"
#include "neura/backend/cpu/family.cpp"
