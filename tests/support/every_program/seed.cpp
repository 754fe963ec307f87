// Compiled into every test program: each test begins with the same seed, whatever ran before it, so that it passes or
// fails the same way every time. NEURA_TEST_SEED=<n> draws other numbers.
#include <gtest/gtest.h>

#include <cstdlib>

#include "neura/core/random.h"

namespace {

struct Seeds final : testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override {
    const char* given = std::getenv("NEURA_TEST_SEED");
    neura::manual_seed(given ? std::strtoull(given, nullptr, 10) : 20);
  }
};
const bool listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Seeds);
  return true;
}();

}  // namespace
