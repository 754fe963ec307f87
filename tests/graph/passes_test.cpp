// Each pass on a program that shows what it does, and what it must leave.
#include "neura/graph/passes.h"

#include "neura/neura.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using graph::parse;
using graph::Program;
using graph::str;

std::string program(const std::string& lines) { return "program\n" + lines; }

TEST(Passes, DeadCallsGoAndDrawsStay) {
  const Program p =
      parse(program("%0 = input : float32 [2]\n"
                    "%1 = captured w : float32 [2]\n"
                    "%2 = captured v : float32 [2]\n"
                    "%3 = exp(%0) : float32 [2]\n"
                    "%4 = mul(%3, %2) : float32 [2]\n"
                    "%5 = dropout(%0) {numbers=[seed=1, offset=2, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%6 = add(%1, 1) in %1 : float32 [2]\n"
                    "%7 = sin(%0) : float32 [2]\n"
                    "update %1 = %6\n"
                    "return %7\n"));
  EXPECT_EQ(str(without_dead(p)),
            program("%0 = input : float32 [2]\n"
                    "%1 = captured w : float32 [2]\n"
                    "%2 = dropout(%0) {numbers=[seed=1, offset=2, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%3 = add(%1, 1) in %1 : float32 [2]\n"
                    "%4 = sin(%0) : float32 [2]\n"
                    "update %1 = %3\n"
                    "return %4\n"));
}
TEST(Passes, EqualCallsAreMadeOnce) {
  const Program p =
      parse(program("%0 = input : float32 [2]\n"
                    "%1 = exp(%0) : float32 [2]\n"
                    "%2 = exp(%0) : float32 [2]\n"
                    "%3 = add(%1, %2) : float32 [2]\n"
                    "%4 = add(%2, %1) : float32 [2]\n"
                    "%5 = mul(%3, 2) : float32 [2]\n"
                    "%6 = mul(%4, 2.0) : float32 [2]\n"
                    "%7 = exp(%0) region 1 : float32 [2]\n"
                    "%8 = mul(%4, 2) in %4 : float32 [2]\n"
                    "%9 = sub(%5, %6) : float32 [2]\n"
                    "%10 = sub(%7, %8) : float32 [2]\n"
                    "%11 = exp(%0) : float32 [2]\n"
                    "return %9, %10, %11\n"));
  EXPECT_EQ(str(without_repeats(p)), program("%0 = input : float32 [2]\n"
                                             "%1 = exp(%0) : float32 [2]\n"
                                             "%2 = add(%1, %1) : float32 [2]\n"
                                             "%3 = mul(%2, 2) : float32 [2]\n"
                                             "%4 = mul(%2, 2.0) : float32 [2]\n"
                                             "%5 = exp(%0) region 1 : float32 [2]\n"
                                             "%6 = mul(%2, 2) in %2 : float32 [2]\n"
                                             "%7 = sub(%3, %4) : float32 [2]\n"
                                             "%8 = sub(%5, %6) : float32 [2]\n"
                                             "%9 = exp(%0) : float32 [2]\n"
                                             "return %7, %8, %9\n"));
  const Tensor x = sample({2});
  const auto want = run(p, {{x}}), got = run(without_repeats(p), {{x}});
  for (std::size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i]);
}
TEST(Passes, ConstantsAreComputedInAdvance) {
  const Program p =
      parse(program("%0 = input : float32 [2]\n"
                    "%1 = captured w : float32 [2]\n"
                    "%2 = constant <0000803f00000040> : float32 [2]\n"
                    "%3 = mul(%2, 2) : float32 [2]\n"
                    "%4 = permute(%2) {dims=[0]} : float32 [2]\n"
                    "%5 = add(%4, %3) : float32 [2]\n"
                    "%6 = dropout(%5) {numbers=[seed=0, offset=0, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%7 = mul(%0, %5) : float32 [2]\n"
                    "%8 = add(%3, 1) in %3 : float32 [2]\n"
                    "return %7, %6, %8\n"));
  EXPECT_EQ(str(folded(p)),
            program("%0 = input : float32 [2]\n"
                    "%1 = constant <0000004000008040> : float32 [2]\n"
                    "%2 = constant <000040400000c040> : float32 [2]\n"
                    "%3 = dropout(%2) {numbers=[seed=0, offset=0, reserved=false], p=0.5, group=1} : float32 [2]\n"
                    "%4 = mul(%0, %2) : float32 [2]\n"
                    "%5 = add(%1, 1) in %1 : float32 [2]\n"
                    "return %4, %3, %5\n"));
  const Tensor x = sample({2});
  for (int i = 0; i < 2; ++i) expect_same(run(folded(p), {{x}})[2], tensor({3.0f, 5.0f}));
}

}  // namespace
}  // namespace neura::test
