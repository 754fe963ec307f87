// The kernels of tests/tables/test_only.def, for the baseline alone: the tests do not link Highway.
#if !defined(HWY_COMPILE_ONLY_STATIC) && !defined(HWY_COMPILE_ONLY_EMU128)
#define HWY_COMPILE_ONLY_STATIC
#endif
#define NEURA_FAMILY test_only
#define NEURA_TABLE "tests/tables/test_only.def"
#include "neura/backend/cpu/family.cpp"
