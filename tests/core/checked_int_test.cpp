#include "neura/core/checked_int.h"

#include <gtest/gtest.h>

#include "neura/core/error.h"

namespace neura {
namespace {

constexpr std::int64_t kMost = INT64_MAX, kLeast = INT64_MIN;

TEST(CheckedInt, ResultsWithinSixtyFourBitsAreThemselves) {
  EXPECT_EQ((CheckedInt(3) * 4 + 5 - 7).of("f"), 10);
  EXPECT_EQ((CheckedInt(kMost) * 1).of("f"), kMost);
  EXPECT_EQ((0 - CheckedInt(kMost) - 1).of("f"), kLeast);
}

TEST(CheckedInt, WhatLeftThemStaysRefusedWhateverFollows) {
  for (const CheckedInt& e :
       {CheckedInt(kMost) + 1, CheckedInt(kLeast) - 1, CheckedInt(1LL << 32) * (1LL << 31), 0 - CheckedInt(kLeast)}) {
    EXPECT_FALSE(e.fits());
    EXPECT_FALSE((e * 0).fits());
    EXPECT_FALSE((1 + e).fits());
    EXPECT_THROW(e.of("f"), ValueError);
  }
  try {
    (CheckedInt(kMost) * 2).of("tile");
  } catch (const ValueError& e) {
    EXPECT_EQ(std::string(e.what()).find("tile: expected sizes"), 0u);
  }
}

TEST(CheckedInt, ListsThatNoMachineHoldsAreRefusedAndShortOnesAreNot) {
  EXPECT_NO_THROW(check_room("f", 1000, kTensorBytes));
  EXPECT_NO_THROW(check_room("f", 1 << 20, 8));
  EXPECT_THROW(check_room("f", kMost, 1), OutOfMemoryError);
  EXPECT_THROW(check_room("f", kMost / 8, 8), OutOfMemoryError);
}

}  // namespace
}  // namespace neura
