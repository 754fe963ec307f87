// What a profile says is what ran: each operation once, in order, inside the ranges it ran in.
#include "neura/op/apply.h"
#include "neura/profile/profile.h"

#include <thread>

#include "neura/neura.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

using profiler::Event;
using profiler::Profile;
using profiler::Range;

std::string names(const Profile& p) {
  std::string all;
  for (const Event& e : p.events()) all += (all.empty() ? "" : " ") + e.name + (e.backward ? "'" : "");
  return all;
}

TEST(Profile, EveryOperationOnceForwardAndBackward) {
  Tensor x = ones({4}).requires_grad_();
  exp(x);
  Profile p;
  sum(exp(x)).backward();
  p.stop();
  exp(x);
  const std::string got = names(p);
  EXPECT_EQ(got.find("exp sum "), 0u) << got;
  int forward = 0;
  for (const Event& e : p.events()) forward += !e.backward;
  EXPECT_EQ(forward, 3) << got;  // and the gradient that backward begins with
  EXPECT_NE(got.find(" exp_backward'"), std::string::npos) << got;
}
TEST(Profile, TimesLieInTheirRanges) {
  const Tensor x = ones({100, 100});
  Profile p;
  {
    const Range outer("outer");
    matmul(x, x);
    const Range inner("inner");
    tanh(x);
  }
  tanh(x);
  p.stop();
  const std::vector<Event> e = p.events();
  ASSERT_EQ(names(p), "outer matmul inner tanh tanh");
  EXPECT_TRUE(e[0].kind == Event::range && e[1].kind == Event::operation);
  for (const Event& one : e) EXPECT_LE(one.begin, one.end);
  EXPECT_TRUE(e[0].begin <= e[1].begin && e[1].end <= e[2].begin && e[2].begin <= e[3].begin);
  EXPECT_TRUE(e[3].end <= e[2].end && e[2].end <= e[0].end && e[0].end <= e[4].begin);
}
TEST(Profile, ShapesAndMemory) {
  const Tensor x = ones({3, 5}), w = ones({5, 1024}, {.dtype = float32});
  Profile p({.shapes = true, .memory = true});
  const Tensor y = matmul(x, w);
  const Tensor v = transpose(y, 0, 1);
  p.stop();
  const std::vector<Event> e = p.events();
  ASSERT_EQ(e.size(), 2u) << names(p);
  ASSERT_EQ(e[0].operands.size(), 2u);
  EXPECT_EQ(e[0].operands[1].sizes, Shape({5, 1024}));
  EXPECT_EQ(e[0].operands[1].dtype, DType::float32);
  EXPECT_GE(e[0].bytes, 3 * 1024 * 4);
  EXPECT_LT(e[1].bytes, 3 * 1024 * 4);  // a view
}
TEST(Profile, AnOperationThatFailsAndARangeThatIsOpenHaveAnEnd) {
  Profile p;
  const std::uint64_t open = profiler::begin_range("open");
  EXPECT_THROW(ones({2, 3}) + ones({4}), ShapeError);
  p.stop();
  profiler::end_range(open);
  for (const Event& e : p.events()) EXPECT_TRUE(e.end >= e.begin && e.begin > 0) << e.name;
}
TEST(Profile, OfOneThreadAndOneAtATime) {
  EXPECT_EQ(profiler::begin_range("nobody sees it"), 0u);
  Profile p;
  EXPECT_EQ(error_of<ValueError>([] { Profile second; }),
            "profile: expected no other profile on this thread, got one inside of it; stop() that one first");
  std::thread([&] {
    exp(ones({2}));
    EXPECT_EQ(error_of<ValueError>([&] { p.stop(); }),
              "profile: expected stop() on the thread that it records, got another thread");
  }).join();
  p.stop(), p.stop();
  EXPECT_EQ(names(p), "");
  Profile again;
}
TEST(Profile, InsideOfModes) {
  struct Mode : Interceptor {};
  Profile p;
  {
    const Mode mode;
    exp(ones({2}));  // seen below the mode
    EXPECT_NE(error_of<ValueError>([&] { p.stop(); }).find("the modes that began inside of it"), std::string::npos);
  }
  p.stop();
  EXPECT_NE(names(p).find("exp"), std::string::npos);
}

}  // namespace
}  // namespace neura::test
