// The tests' own tools must be able to fail.
#include <gtest/gtest.h>

#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura {
using test::close;
using test::from_loop;
using test::sample;

TEST(Support, ADifferenceBeyondTheToleranceIsSeen) {
  const Tensor a = sample({2, 3}, DType::float64), b = sample({2, 3}, DType::float64);
  EXPECT_TRUE(close(a, b));
  test::store_at(b, {1, 2}, test::at(b, {1, 2}) + 1e-8);
  const auto result = close(a, b);
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("at [1, 2] (1 of 6 elements differ"), std::string::npos)
      << result.message();
}

TEST(Support, AnotherShapeOrDtypeIsSeen) {
  EXPECT_FALSE(close(sample({2, 3}), sample({3, 2})));
  EXPECT_FALSE(close(sample({2, 3}, DType::float64), sample({2, 3}, DType::float32)));
}

TEST(Support, NanEqualsNanAndNothingElse) {
  const Tensor nan = from_loop({1}, DType::float32, [](const Shape&) { return NAN; }), one = sample({1});
  EXPECT_TRUE(close(nan, nan));
  EXPECT_FALSE(close(nan, one));
  EXPECT_FALSE(close(one, nan));
}

TEST(Support, LayoutsHoldTheSameElements) {
  const Tensor a = sample({3, 4, 2}, DType::int32, {.low = -50, .high = 50});
  const auto all = test::layouts(a);
  EXPECT_EQ(all.size(), 4u);
  for (const Tensor& t : all) EXPECT_TRUE(close(t, a));
  EXPECT_FALSE(all[2].is_contiguous());
  EXPECT_FALSE(all[3].is_contiguous());
}

TEST(Support, SamplesReplayAndKeepTheirBounds) {
  const Tensor a = sample({100}, DType::float32, {.low = 1, .high = 3, .seed = 7});
  EXPECT_TRUE(close(a, sample({100}, DType::float32, {.low = 1, .high = 3, .seed = 7})));
  EXPECT_FALSE(close(a, sample({100}, DType::float32, {.low = 1, .high = 3, .seed = 8})));
  test::for_each_index(a.shape(), [&](const Shape& i) {
    EXPECT_GE(test::at(a, i), 1);
    EXPECT_LT(test::at(a, i), 3);
  });
}

}  // namespace neura
