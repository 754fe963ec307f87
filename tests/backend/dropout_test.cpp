#include "neura/backend/kernels/dropout.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using DropoutKernels = Kernels<dropout_kernels>;

TEST_F(DropoutKernels, KeepsAndScalesTheShareThatIsLeft) {
  Array<float> x = filled<float>({100, 100}, 3), y({100, 100}), again = y;
  run(&dropout_kernels::dropout, x, DropoutDraw{5, 1, 0.25}, 1, y);
  std::int64_t dropped = 0;
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    dropped += y.at(i) == 0;
    EXPECT_TRUE(y.at(i) == 0 || y.at(i) == 4) << y.at(i);
  }
  EXPECT_NEAR(double(dropped), 2500, 220);
  run(&dropout_kernels::dropout, x, DropoutDraw{5, 1, 0.25}, 1, again);  // backward makes the same numbers
  EXPECT_EQ(again.values(), y.values());
  run(&dropout_kernels::dropout, x, DropoutDraw{5, 2, 0.25}, 1, again);
  EXPECT_NE(again.values(), y.values());
}
TEST_F(DropoutKernels, GroupsOfNeighboursShareANumber) {
  Array<float> x = filled<float>({60, 7}, 1), y({60, 7});
  run(&dropout_kernels::dropout, x, DropoutDraw{5, 1, 0.5}, 7, y);
  std::int64_t dropped = 0;
  for (int i = 0; i < 60; ++i) {
    dropped += y(i, 0) == 0;
    for (int j = 1; j < 7; ++j) EXPECT_EQ(y(i, j), y(i, 0));
  }
  EXPECT_TRUE(dropped > 10 && dropped < 50) << dropped;
}
TEST_F(DropoutKernels, AllOrNone) {
  Array<double> x = eighths<double>({33}), y({33});
  run(&dropout_kernels::dropout, x, DropoutDraw{5, 1, 0}, 1, y);
  EXPECT_EQ(y.values(), x.values());
  run(&dropout_kernels::dropout, x, DropoutDraw{5, 1, 1}, 1, y);
  EXPECT_EQ(y.values(), std::vector<double>(33, 0));
}
TEST_F(DropoutKernels, OfNothing) {
  Array<float> x({0, 3}), y({0, 3});
  run(&dropout_kernels::dropout, x, DropoutDraw{}, 1, y);
  run(&dropout_kernels::dropout, x, DropoutDraw{}, 3, y);
}
TEST_F(DropoutKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths({1000, 333});
  for (const std::int64_t group : {1, 333})
    expect_same_on_any_threads([&] {
      Array<float> y(x.spec().sizes());
      run(&dropout_kernels::dropout, x, DropoutDraw{9, 4, 0.3}, group, y);
      return y.bytes();
    });
}

}  // namespace
}  // namespace neura::test
