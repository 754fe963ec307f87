// Ranges of integers beyond the 53 bits of double, up to the ends of 64; triangles whose rows are not walked.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/ops/create/create.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

using Values = std::vector<std::int64_t>;
constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX, k53 = std::int64_t(1) << 53, k62 = std::int64_t(1) << 62;

Values range(std::int64_t start, std::int64_t end, std::int64_t step) {
  return arange(start, end, step).to_vector<std::int64_t>();
}

TEST(Range, ArangeCountsInIntegers) {
  EXPECT_EQ(range(k53 + 1, k53 + 4, 1), (Values{k53 + 1, k53 + 2, k53 + 3}));
  EXPECT_EQ(range(k62, k62 + 5, 2), (Values{k62, k62 + 2, k62 + 4}));
  EXPECT_EQ(range(kMost, kMost - 4, -1), (Values{kMost, kMost - 1, kMost - 2, kMost - 3}));
  EXPECT_EQ(range(kLeast, kMost, k62), (Values{kLeast, -k62, 0, k62}));
  EXPECT_EQ(range(kMost, kLeast, kLeast), (Values{kMost, -1}));
  EXPECT_EQ(range(kLeast, kLeast + 3, 1), (Values{kLeast, kLeast + 1, kLeast + 2}));
  EXPECT_EQ(range(5, 5, -1), Values{});
  EXPECT_EQ(range(-3, -10, -3), (Values{-3, -6, -9}));
}

TEST(Range, ArangeOfIntegersInAnotherDtypeHasTheSameLength) {
  for (const DType d : {int32, float32, float64, bfloat16})
    for (std::int64_t n = 0; n < 40; ++n)
      for (const std::int64_t step : {1, 3, 7}) {
        EXPECT_EQ(arange(0, n, step, {.dtype = d}).size(0), (n + step - 1) / step);
        EXPECT_EQ(arange(n, 0, -step, {.dtype = d}).size(0), (n + step - 1) / step);
      }
  EXPECT_EQ(arange(k53, k53 + 3, 1, {.dtype = float64}).size(0), 3);
}

TEST(Range, ArangeRefusesWhatLeadsAway) {
  EXPECT_THROW(arange(kMost - 1, kMost, -1), ValueError);
  EXPECT_THROW(arange(kMost, kMost - 1, 1), ValueError);
  EXPECT_THROW(arange(0, 5, 0), ValueError);
  EXPECT_EQ(error_of<ValueError>([] { arange(kLeast, kMost); }),
            "arange: expected fewer than 2**63 values, got 18446744073709551615");
}

TEST(Range, LinspaceOfIntegersIsExact) {
  const auto line = [](std::int64_t a, std::int64_t b, std::int64_t n) {
    return linspace(a, b, n, {.dtype = int64}).to_vector<std::int64_t>();
  };
  EXPECT_EQ(line(k53 + 1, k53 + 5, 5), (Values{k53 + 1, k53 + 2, k53 + 3, k53 + 4, k53 + 5}));
  EXPECT_EQ(line(kMost, kLeast, 3), (Values{kMost, 0, kLeast}));
  EXPECT_EQ(line(kLeast, kMost, 2), (Values{kLeast, kMost}));
  EXPECT_EQ(line(0, 10, 5), (Values{0, 2, 5, 7, 10}));
  EXPECT_EQ(line(-10, 0, 5), (Values{-10, -7, -5, -2, 0}));  // towards 0
  EXPECT_EQ(line(7, 9, 1), Values{7});
  EXPECT_EQ(line(7, 9, 0), Values{});
  EXPECT_EQ(linspace(0, 255, 4, {.dtype = uint8}).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 85, 170, 255}));
}

TEST(Range, TrianglesAreThoseOfTheDefinition) {
  for (const std::int64_t rows : {0, 1, 3, 6})
    for (const std::int64_t cols : {0, 1, 4, 5})
      for (const std::int64_t offset :
           {kLeast, std::int64_t(-4), std::int64_t(-1), std::int64_t(0), std::int64_t(2), kMost}) {
        Values lower, upper, at[4];
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < cols; ++j) {
            const bool below = offset > 100 || (offset > -100 && j - i <= offset);
            const bool above = offset < -100 || (offset < 100 && j - i >= offset);
            if (below) at[0].push_back(i), at[1].push_back(j);
            if (above) at[2].push_back(i), at[3].push_back(j);
          }
        at[0].insert(at[0].end(), at[1].begin(), at[1].end()), at[2].insert(at[2].end(), at[3].begin(), at[3].end());
        EXPECT_EQ(tril_indices(rows, cols, offset).to_vector<std::int64_t>(), at[0]) << rows << cols << offset;
        EXPECT_EQ(triu_indices(rows, cols, offset).to_vector<std::int64_t>(), at[2]) << rows << cols << offset;
      }
}

TEST(Range, TrianglesOfManyEmptyRowsAreMadeAtOnce) {
  EXPECT_EQ(tril_indices(kMost, 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(triu_indices(k62, 1).to_vector<std::int64_t>(), (Values{0, 0}));
  EXPECT_EQ(tril_indices(k62, 3, 1 - k62).to_vector<std::int64_t>(), (Values{k62 - 1, 0}));
}

}  // namespace
}  // namespace neura::test
