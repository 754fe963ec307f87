// Gradients of parts of one tensor: written into one buffer, whether the parts have elements in common or not.
#include "neura/neura.h"
#include "neura/op/apply.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

Tensor part_of(const Tensor& x, Dice& dice) {
  Tensor y = x;
  for (std::int64_t n = dice.below(3); n >= 0 && y.dim(); --n) {
    const int d = int(dice.below(y.dim()));
    const std::int64_t begin = dice.below(y.size(d));
    switch (dice.below(4)) {
      case 0:
        y = y.select(d, begin);
        break;
      case 1:
        y = y.slice(d, begin, y.size(d), 1 + dice.below(2));
        break;
      case 2:
        y = y.dim() > 1 ? transpose(y, 0, -1) : y;
        break;
      default:
        y = y.narrow(d, begin, 1 + dice.below(y.size(d) - begin));
    }
  }
  return y;
}

TEST(Windows, GradientsOfRandomPartsAddUp) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Dice dice{seed};
    const Tensor x = sample({4, 6, 5}, float32, {.seed = seed}).requires_grad_();
    const Tensor whole = seed % 2 ? transpose(x * 1.0, 0, 1) : x * 1.0;
    Tensor loss = zeros({}), want = zeros({4, 6, 5});
    const std::uint64_t parts = 1 + seed % 5;
    for (std::uint64_t i = 0; i < parts; ++i) {
      const Dice again = dice;
      const Tensor y = part_of(whole, dice),
                   weight = round(sample(y.shape(), float32, {.low = -9, .high = 9, .seed = seed + i}));
      loss = loss + sum(y * weight);
      Dice same = again;
      const Tensor alone = sample({4, 6, 5}, float32, {.seed = seed}).requires_grad_();
      sum(part_of(seed % 2 ? transpose(alone, 0, 1) : alone, same) * weight).backward();
      want = want + alone.grad();
    }
    if (seed % 7 == 0) loss = loss + sum(whole), want = want + 1.0;
    loss.backward();
    expect_same(x.grad(), want, "seed", int(seed));
  }
}

struct Seen : Interceptor {
  std::string rows;
  void call(Call& c) override {
    rows += std::string(rows.empty() ? "" : " ") + c.row->name;
    apply(c);
  }
};

TEST(Windows, PartsWithoutCommonElementsAreCopied) {
  const Tensor x = sample({4, 6}).requires_grad_(), whole = x * 2.0;
  const TensorList parts = split(whole, 2, 1);
  const Tensor loss = sum(parts[0] * parts[1] + parts[2]);
  Seen seen;
  loss.backward();
  EXPECT_EQ(seen.rows.find("add"), std::string::npos) << seen.rows;
  EXPECT_NE(seen.rows.find("copy"), std::string::npos) << seen.rows;
}

}  // namespace
}  // namespace neura::test
