#include "neura/ops/random/dropout.h"

#include <cmath>

#include "neura/core/parallel.h"
#include "neura/core/random.h"
#include "tests/ops/arguments.h"
#include "tests/support/engine.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

TEST(Dropout, ElementsFollowPhiloxNumbers) {
  for (DType d : {float32, float64, bfloat16})
    for (std::int64_t n : {1, 7, 33, 1023, 1025, 70000}) {
      manual_seed(5);
      const GeneratorState s = default_generator().state();
      const Tensor y = dropout(full({n}, 1.0, {.dtype = d}), 0.25);
      expect_close(y, from_loop({n}, d, [&](const Shape& i) {
                     const auto words = philox(s.seed, s.offset, std::uint64_t(i[0] / 4));
                     return to_uniform32(words[std::size_t(i[0] % 4)]) >= 0.25 ? 1 / 0.75 : 0;
                   }));
    }
}
TEST(Dropout, GradientUsesTheSameMaskAndThreadsDoNotMatter) {
  Tensor x = sample({123456}, float32).requires_grad_();
  manual_seed(3);
  const Tensor y = dropout(x, 0.4);
  y.sum().backward();
  expect_close(y, x.detach() * x.grad());
  EXPECT_NEAR(x.grad().mean().item<float>(), 1, 0.02);
  const int before = get_num_threads();
  set_num_threads(1);
  manual_seed(3);
  expect_same(dropout(x.detach(), 0.4), y.detach());
  set_num_threads(before);
}
TEST(Dropout, ChannelsFallTogether) {
  const Tensor y = dropout2d(full({8, 16, 3, 5}, 1.0), 0.5);
  std::int64_t dropped = 0;
  for (std::int64_t c = 0; c < 128; ++c) {
    dropped += at(y, c * 15) == 0;
    for (std::int64_t i = 1; i < 15; ++i) EXPECT_EQ(at(y, c * 15 + i), at(y, c * 15));
  }
  EXPECT_TRUE(dropped > 30 && dropped < 98);
  EXPECT_EQ(dropout3d(full({4, 2, 3, 5}, 1.0), 0.5).shape(), (Shape{4, 2, 3, 5}));
  EXPECT_ERROR(ShapeError, "dropout1d", dropout1d(full({4}, 1.0)));
}
TEST(Dropout, AlphaKeepsMeanAndDeviation) {
  const Tensor x = sample({200000}, float32, {.low = -std::sqrt(3.0), .high = std::sqrt(3.0)});  // deviation 1
  const Tensor y = alpha_dropout(x, 0.3, true);
  EXPECT_NEAR(y.mean().item<float>(), 0, 0.02);
  EXPECT_NEAR((y * y).mean().item<float>(), 1, 0.03);
}
TEST(Dropout, Edges) {
  const Tensor x = sample({9}, float32);
  EXPECT_TRUE(dropout(x, 0.5, false).is_same(x) && dropout(x, 0).is_same(x));
  expect_close(dropout(x, 1), std::vector<double>(9, 0.0));
  EXPECT_EQ(error_of<ValueError>([&] { dropout(x, 1.5); }),
            "dropout: expected a probability p between 0 and 1, got 1.5");
  EXPECT_EQ(dropout(full({0, 3}, 1.0)).shape(), (Shape{0, 3}));
}

CaseFunction kind(Tensor (*f)(const Tensor&, double, bool), bool training) {
  return [=](const ConformanceCase& c) -> std::vector<Tensor> {
    const Arguments a{c};
    return {f(c.input.data, a.number(0, "p", 0.5), a.flag(1, "training", training))};
  };
}
TEST(Dropout, StoredAnswers) {
  expect_conformance("dropout",
                     {{"nn.functional.dropout", kind(dropout, true)},
                      {"nn.functional.dropout2d", kind(dropout2d, true)},
                      {"nn.functional.dropout3d", kind(dropout3d, true)},
                      {"nn.functional.alpha_dropout", kind(alpha_dropout, false)},
                      {"nn.functional.feature_alpha_dropout#with_train", kind(feature_alpha_dropout, false)},
                      {"nn.functional.feature_alpha_dropout#without_train", kind(feature_alpha_dropout, false)}});
}

}  // namespace
}  // namespace neura::test
