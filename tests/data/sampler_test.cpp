#include "neura/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/close.h"

namespace neura::data {
namespace {

using test::error_of;
using Indices = std::vector<std::int64_t>;

Indices draw(const Sampler& s, std::uint64_t seed = 1) {
  Generator g(seed);
  Indices i = s.indices(g);
  EXPECT_EQ(std::int64_t(i.size()), s.size());
  return i;
}
Indices sorted(Indices i) {
  std::sort(i.begin(), i.end());
  return i;
}
Indices range(std::int64_t n) {
  Indices i(static_cast<std::size_t>(n));
  std::iota(i.begin(), i.end(), std::int64_t{0});
  return i;
}

TEST(SequentialSampler, YieldsEveryIndexInOrder) {
  for (std::int64_t n : {0, 1, 10}) EXPECT_EQ(draw(SequentialSampler(n)), range(n));
}

TEST(RandomSampler, YieldsAPermutationThatTheSeedDecides) {
  const RandomSampler s(1000);
  const Indices first = draw(s);
  EXPECT_EQ(sorted(first), range(1000));
  EXPECT_NE(first, range(1000));
  EXPECT_EQ(draw(s), first);
  EXPECT_NE(draw(s, 2), first);
  EXPECT_EQ(draw(RandomSampler(0)), Indices{});
}

TEST(RandomSampler, IsUniform) {
  std::vector<int> counts(6);  // of the permutations of three
  Generator g(3);
  const RandomSampler s(3);
  for (int i = 0; i < 6000; ++i) {
    const Indices p = s.indices(g);
    ++counts[std::size_t(p[0] * 2 + (p[1] > p[2]))];
  }
  for (int c : counts) EXPECT_NEAR(c, 1000, 150);
}

TEST(RandomSampler, SaysThatThereIsNoRoomForSoMany) {
  Generator g(1);
  for (const bool replacement : {false, true}) {
    const RandomSampler s(10, {.replacement = replacement, .num_samples = std::int64_t{1} << 60});
    EXPECT_NE(error_of<OutOfMemoryError>([&] { s.indices(g); }).find("RandomSampler"), std::string::npos);
  }
  const WeightedRandomSampler weighted({1, 2}, std::int64_t{1} << 60, true);
  EXPECT_NE(error_of<OutOfMemoryError>([&] { weighted.indices(g); }).find("WeightedRandomSampler"), std::string::npos);
  const SequentialSampler all(std::int64_t{1} << 60);
  EXPECT_NE(error_of<OutOfMemoryError>([&] { all.indices(g); }).find("SequentialSampler"), std::string::npos);
}

TEST(RandomSampler, DrawsAnyNumberWithAndWithoutReplacement) {
  const Indices seven = draw(RandomSampler(3, {.num_samples = 7}));
  EXPECT_EQ(sorted(Indices(seven.begin(), seven.begin() + 3)), range(3));
  EXPECT_EQ(sorted(Indices(seven.begin() + 3, seven.begin() + 6)), range(3));
  EXPECT_EQ(draw(RandomSampler(100, {.num_samples = 5})).size(), 5u);
  const Indices many = draw(RandomSampler(10, {.replacement = true, .num_samples = 1000}));
  EXPECT_EQ(*std::min_element(many.begin(), many.end()), 0);
  EXPECT_EQ(*std::max_element(many.begin(), many.end()), 9);
  EXPECT_NE(error_of<ValueError>([] { RandomSampler(0, {.num_samples = 1}); }), "no error");
  EXPECT_EQ(error_of<ValueError>([] { RandomSampler(-1); }), "RandomSampler: expected a size of 0 or more, got -1");
}

TEST(SubsetRandomSampler, YieldsAPermutationOfItsIndices) {
  const SubsetRandomSampler s({3, 1, 4, 1, 5, 9, 2, 6});
  EXPECT_EQ(sorted(draw(s)), sorted({3, 1, 4, 1, 5, 9, 2, 6}));
  EXPECT_EQ(draw(s), draw(s));
  EXPECT_NE(draw(s, 1), draw(s, 2));
}

TEST(WeightedRandomSampler, FollowsTheWeights) {
  std::vector<int> counts(4);
  for (std::int64_t i : draw(WeightedRandomSampler({1, 0, 3, 6}, 10000))) ++counts[std::size_t(i)];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0], 1000, 150);
  EXPECT_NEAR(counts[2], 3000, 250);
  EXPECT_NEAR(counts[3], 6000, 250);
}

TEST(WeightedRandomSampler, DrawsNothingTwiceWithoutReplacement) {
  EXPECT_EQ(sorted(draw(WeightedRandomSampler({1, 0, 3, 6}, 3, false))), (Indices{0, 2, 3}));
  std::vector<int> first(3);
  Generator g(5);
  const WeightedRandomSampler s({1, 3, 6}, 2, false);
  for (int i = 0; i < 5000; ++i) ++first[std::size_t(s.indices(g)[0])];
  EXPECT_NEAR(first[0], 500, 120);
  EXPECT_NEAR(first[2], 3000, 200);
}

TEST(WeightedRandomSampler, RefusesImpossibleWeights) {
  EXPECT_EQ(error_of<ValueError>([] {
              WeightedRandomSampler({1, -2}, 1);
            }),
            "WeightedRandomSampler: expected finite weights of 0 and more, got -2 at index 1");
  EXPECT_NE(error_of<ValueError>([] { WeightedRandomSampler({0, 0}, 1); }), "no error");
  EXPECT_NE(error_of<ValueError>([] { WeightedRandomSampler({1, 0}, 2, false); }), "no error");
}

TEST(BatchSampler, GroupsWithAndWithoutTheRest) {
  Generator g(1);
  const auto seven = std::make_shared<SequentialSampler>(7);
  const BatchSampler all(seven, 3), full(seven, 3, true);
  EXPECT_EQ(all.batches(g), (std::vector<Indices>{{0, 1, 2}, {3, 4, 5}, {6}}));
  EXPECT_EQ(full.batches(g), (std::vector<Indices>{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(all.size(), 3);
  EXPECT_EQ(full.size(), 2);
  EXPECT_NE(error_of<ValueError>([&] { BatchSampler(seven, 0); }), "no error");
}

}  // namespace
}  // namespace neura::data
