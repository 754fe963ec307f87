#include "neura/core/exact.h"

#include <gtest/gtest.h>

#include "neura/core/error.h"

namespace neura {
namespace {

constexpr std::int64_t kMost = INT64_MAX, kLeast = INT64_MIN;

TEST(Exact, ResultsWithinSixtyFourBitsAreThemselves) {
  EXPECT_EQ((Exact(3) * 4 + 5 - 7).of("f"), 10);
  EXPECT_EQ((Exact(kMost) * 1).of("f"), kMost);
  EXPECT_EQ((0 - Exact(kMost) - 1).of("f"), kLeast);
}

TEST(Exact, WhatLeftThemStaysRefusedWhateverFollows) {
  for (const Exact& e : {Exact(kMost) + 1, Exact(kLeast) - 1, Exact(1LL << 32) * (1LL << 31), 0 - Exact(kLeast)}) {
    EXPECT_FALSE(e.fits());
    EXPECT_FALSE((e * 0).fits());
    EXPECT_FALSE((1 + e).fits());
    EXPECT_THROW(e.of("f"), ValueError);
  }
  try {
    (Exact(kMost) * 2).of("tile");
  } catch (const ValueError& e) {
    EXPECT_EQ(std::string(e.what()).find("tile: expected sizes"), 0u);
  }
}

TEST(Exact, ListsThatNoMachineHoldsAreRefusedAndShortOnesAreNot) {
  EXPECT_NO_THROW(check_room("f", 1000, kTensorBytes));
  EXPECT_NO_THROW(check_room("f", 1 << 20, 8));
  EXPECT_THROW(check_room("f", kMost, 1), OutOfMemoryError);
  EXPECT_THROW(check_room("f", kMost / 8, 8), OutOfMemoryError);
}

}  // namespace
}  // namespace neura
