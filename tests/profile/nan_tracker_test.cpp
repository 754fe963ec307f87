#include "neura/profile/nan_tracker.h"

#include <limits>

#include "neura/neura.h"

namespace neura::test {
namespace {

TEST(NanTracker, TheFirstOperationForwardAndBackward) {
  Tensor x = zeros({2}).requires_grad_();
  profiler::NanTracker tracker;
  const Tensor y = sum(sqrt(x) * 0.0);
  EXPECT_FALSE(tracker.found());
  y.backward();
  tracker.stop();
  ASSERT_TRUE(tracker.found());
  EXPECT_TRUE(tracker.found()->backward);
  EXPECT_NE(tracker.found()->text().find("sqrt"), std::string::npos) << tracker.found()->text();
}
TEST(NanTracker, SaysWhatWentIn) {
  profiler::NanTracker tracker;
  const Tensor x = arange(4) - 2.5;
  log(x), log(x * x * 0.0);
  ASSERT_TRUE(tracker.found());
  EXPECT_EQ(tracker.found()->text(), "log gave " + x.spec().str() +
                                         " from -0.693147 to -0.693147, 3 nan\n  operand 0: " + x.spec().str() +
                                         " from -2.5 to 0.5");
}
TEST(NanTracker, InfinitiesCountUnlessTheyAreLeftOut) {
  profiler::NanTracker outer;
  {
    profiler::NanTracker inner(false);
    log(zeros({1}));
    EXPECT_FALSE(inner.found());
    EXPECT_THROW(outer.stop(), ValueError);
  }
  ASSERT_TRUE(outer.found());
  EXPECT_EQ(outer.found()->result, zeros({1}).spec().str() + ", 1 inf");
}

}  // namespace
}  // namespace neura::test
