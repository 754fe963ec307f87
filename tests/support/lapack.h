// Is there a LAPACK library? Machines that are emulated, and WebAssembly, have none.
#pragma once
#include "neura/backend/cpu/linalg/lapack.h"

#define NEURA_NEEDS_LAPACK() \
  if (!neura::lapack::library()) GTEST_SKIP() << "no LAPACK library; install libopenblas0"
