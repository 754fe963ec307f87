#include "neura/backend/kernels/embedding.h"

#include <cmath>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using EmbeddingKernels = Kernels<embedding_kernels>;
using Ids = Array<std::int64_t>;

TEST_F(EmbeddingKernels, LooksRowsUp) {
  Array<float> table = eighths({5, 3}), y({2, 2, 3});
  Ids ids({2, 2}, {4, 0, 0, 2});
  run(&embedding_kernels::embedding, ids, table, y);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(y.at(i * 3 + j), table(ids.at(i), j));
}
TEST_F(EmbeddingKernels, SumsTheGradientsOfEachRow) {
  Array<float> g = eighths({6, 3}), gw = filled<float>({5, 3}, 9);
  Ids ids({6}, {4, 0, 0, 2, 0, 2});
  for (const bool by_frequency : {false, true}) {
    run(&embedding_kernels::embedding_backward, g, ids, 2, by_frequency, gw);
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(gw(0, j), (g(1, j) + g(2, j) + g(4, j)) / (by_frequency ? 3 : 1));
      EXPECT_EQ(gw(1, j), 0);
      EXPECT_EQ(gw(2, j), 0);  // the padding
      EXPECT_EQ(gw(4, j), g(0, j));
    }
  }
}
TEST_F(EmbeddingKernels, OneHot) {
  Ids ids({3}, {1, 0, 2}), y = filled<std::int64_t>({3, 3}, 7);
  run(&embedding_kernels::one_hot, ids, y);
  EXPECT_EQ(y.values(), (std::vector<std::int64_t>{0, 1, 0, 1, 0, 0, 0, 0, 1}));
}
TEST_F(EmbeddingKernels, LongRowsAreScaledDownOnce) {
  Array<float> table({3, 2}, {3, 4, 0.3f, 0.4f, 6, 8});
  Ids ids({3}, {0, 1, 0});
  run(&embedding_kernels::renormalize, table, ids, 1.0, 2.0);
  expect_near(table, {0.6, 0.8, 0.3, 0.4, 6, 8}, 1e-6);
}
TEST_F(EmbeddingKernels, NumbersOutsideOfTheTable) {
  Array<float> table = eighths({5, 3}), same = table, y({2, 3});
  Ids high({2}, {0, 5}), low({2}, {-1, 0}), hot({2, 5});
  EXPECT_EQ(refused(&embedding_kernels::embedding, high, table, y), (Index{5, 5}));
  EXPECT_EQ(refused(&embedding_kernels::embedding_backward, y, low, -1, false, table), (Index{-1, 5}));
  EXPECT_EQ(refused(&embedding_kernels::one_hot, high, hot), (Index{5, 5}));
  EXPECT_EQ(refused(&embedding_kernels::renormalize, table, high, 0.1, 2.0), (Index{5, 5}));
  EXPECT_EQ(table.values(), same.values());
}
TEST_F(EmbeddingKernels, OfNothing) {
  Array<float> table = eighths({5, 3}), same = table, y({0, 3}), gw = filled<float>({5, 3}, 9);
  Ids ids({0}), hot({0, 5});
  run(&embedding_kernels::embedding, ids, table, y);
  run(&embedding_kernels::embedding_backward, y, ids, -1, false, gw);
  EXPECT_EQ(gw.values(), std::vector<float>(15, 0));
  run(&embedding_kernels::one_hot, ids, hot);
  run(&embedding_kernels::renormalize, table, ids, 0.1, 2.0);
  EXPECT_EQ(table.values(), same.values());
}
TEST_F(EmbeddingKernels, SameOnAnyNumberOfThreads) {
  Array<float> table = eighths({64, 48}), g = eighths({5000, 48}, 2);
  for (std::int64_t i = 0; i < g.numel(); ++i) g.at(i) = 1 / (g.at(i) + 5);  // no exact sums
  Ids ids = eighths<std::int64_t>({5000}, 3);
  expect_same_on_any_threads([&] {
    Array<float> y({5000, 48}), gw({64, 48}), scaled = table;
    Ids hot({5000, 64});
    run(&embedding_kernels::embedding, ids, table, y);
    run(&embedding_kernels::embedding_backward, g, ids, -1, true, gw);
    run(&embedding_kernels::one_hot, ids, hot);
    run(&embedding_kernels::renormalize, scaled, ids, 2.0, 3.0);
    return y.bytes() + gw.bytes() + hot.bytes() + scaled.bytes();
  });
}

}  // namespace
}  // namespace neura::test
