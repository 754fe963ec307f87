#include <cmath>

#include "neura/backend/kernels/loss.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using LossKernels = Kernels<loss_kernels>;
using Numbers = Array<std::int64_t>;

// Two samples of three times and three classes, all alike: a path is as likely as any other.
struct Even {
  Array<double> x = filled<double>({3, 2, 3}, std::log(1.0 / 3)), g = Array<double>({2}, {1, 2});
  Numbers targets = Numbers({2, 2}, {1, 2, 1, 1}), times = Numbers({2}, {3, 3}), labels = Numbers({2}, {2, 2});
  Array<double> loss = Array<double>({2}), alpha = Array<double>({2, 3, 5}), gx = Array<double>({3, 2, 3});
  CtcOperands operands() { return {x, targets, times, labels}; }
};

TEST_F(LossKernels, CtcCountsPaths) {
  Even e;
  run(&loss_kernels::ctc_loss, e.operands(), 0, e.loss, e.alpha);
  // 112 122 012 102 120 spell 1 2; only 101 spells 1 1
  expect_near(e.loss, {std::log(27.0 / 5), std::log(27.0)}, 1e-14);
  Array<double> alone({2});
  run(&loss_kernels::ctc_loss, e.operands(), 0, alone, View{});
  EXPECT_EQ(alone.values(), e.loss.values());
  run(&loss_kernels::ctc_loss_backward, e.g, e.operands(), e.loss, e.alpha, 0, false, e.gx);
  // g (1 / 3 - the part of the paths with that class at that time)
  std::vector<double> want;
  const double first[3][3] = {{1, 4, 0}, {1, 2, 2}, {1, 0, 4}}, second[3][3] = {{0, 1, 0}, {1, 0, 0}, {0, 1, 0}};
  for (int t = 0; t < 3; ++t) {
    for (int c = 0; c < 3; ++c) want.push_back(1.0 / 3 - first[t][c] / 5);
    for (int c = 0; c < 3; ++c) want.push_back(2 * (1.0 / 3 - second[t][c]));
  }
  expect_near(e.gx, want, 1e-13);
}
TEST_F(LossKernels, CtcOfWhatDoesNotFit) {
  Even e;
  const auto refused_with = [&](Numbers Even::*which, std::int64_t at, std::int64_t value) {
    Even wrong;
    (wrong.*which).at(at) = value;
    const auto r = refused(&loss_kernels::ctc_loss, wrong.operands(), 0, wrong.loss, wrong.alpha);
    EXPECT_EQ(wrong.loss.values(), (std::vector<double>{0, 0}));
    return r;
  };
  EXPECT_EQ(refused_with(&Even::targets, 3, 3), (Index{3, 3}));
  EXPECT_EQ(refused_with(&Even::times, 0, 4), (Index{4, 4}));
  EXPECT_EQ(refused_with(&Even::labels, 1, -1), (Index{-1, 3}));
}
TEST_F(LossKernels, CtcWithoutAPath) {
  for (const bool zero : {false, true}) {
    Even e;
    e.times.at(1) = 2;  // too short for 1 0 1
    run(&loss_kernels::ctc_loss, e.operands(), 0, e.loss, e.alpha);
    EXPECT_TRUE(std::isinf(e.loss.at(1)));
    run(&loss_kernels::ctc_loss_backward, e.g, e.operands(), e.loss, e.alpha, 0, zero, e.gx);
    for (int t = 0; t < 3; ++t)
      for (int c = 0; c < 3; ++c) {
        EXPECT_TRUE(std::isfinite(e.gx(t, 0, c)));
        if (zero || t == 2) EXPECT_EQ(e.gx(t, 1, c), 0);
        else EXPECT_TRUE(std::isnan(e.gx(t, 1, c)));
      }
  }
}

}  // namespace
}  // namespace neura::test
