#include "neura/core/settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace neura {
namespace {

constexpr Setting kSwitch = Setting::offline;  // which no test of this program asks for otherwise

struct Variable {
  explicit Variable(const char* value) { setenv(variable_of(kSwitch), value, 1); }
  ~Variable() { unsetenv(variable_of(kSwitch)); }
};

TEST(Settings, NoVariableIsListedTwice) {
  std::set<std::string> seen;
#define SETTING(name, ...)                                                                    \
  EXPECT_TRUE(!*variable_of(Setting::name) || seen.insert(variable_of(Setting::name)).second) \
      << variable_of(Setting::name);  // those of CUDA have no name in a library for browsers
#include "neura/tables/settings.def"
#undef SETTING
  EXPECT_STREQ(variable_of(Setting::num_threads), "NEURA_NUM_THREADS");
}

TEST(Settings, WhatIsNotSetOrEmptyLeavesASwitchAsItWas) {
  EXPECT_EQ(setting(kSwitch), nullptr);
  EXPECT_TRUE(setting_on(kSwitch, true));
  EXPECT_FALSE(setting_on(kSwitch, false));
  const Variable empty("");
  EXPECT_STREQ(setting(kSwitch), "");
  EXPECT_EQ(setting_given(kSwitch), nullptr);
  EXPECT_TRUE(setting_on(kSwitch, true));
  EXPECT_FALSE(setting_on(kSwitch, false));
}

TEST(Settings, ZeroAloneSwitchesOff) {
  {
    const Variable zero("0");
    EXPECT_FALSE(setting_on(kSwitch, true));
  }
  for (const char* value : {"1", "yes", "01"}) {
    const Variable other(value);
    EXPECT_TRUE(setting_on(kSwitch, false)) << value;
  }
}

}  // namespace
}  // namespace neura
