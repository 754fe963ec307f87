#include "neura/backend/cpu/instruction_sets.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace {

TEST(Targets, LoadingTheLibraryMeasuresNoClock) {  // what libhwy would do with its own function: 5 ms
  using Resolution = std::uint64_t();
  auto* found = reinterpret_cast<Resolution*>(dlsym(RTLD_DEFAULT, "_ZN3hwy8platform15TimerResolutionEv"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found(), 1u);
}

TEST(Targets, ThereIsAtLeastOne) { EXPECT_GE(neura::cpu_targets(), 1); }

}  // namespace
