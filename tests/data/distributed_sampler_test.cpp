#include "neura/data/distributed_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/close.h"

namespace neura::data {
namespace {

using Indices = std::vector<std::int64_t>;
std::vector<Indices> shares(std::int64_t n, std::int64_t ranks, DistributedOptions o) {
  std::vector<Indices> all;
  o.num_replicas = ranks;
  for (o.rank = 0; o.rank < ranks; ++o.rank) {
    const DistributedSampler sampler(n, o);
    all.push_back(sampler.indices());
    EXPECT_EQ(std::int64_t(all.back().size()), sampler.size());
  }
  return all;
}

TEST(DistributedSampler, SharesFairly) {
  const DistributedOptions in_order{.shuffle = false}, whole{.shuffle = false, .drop_last = true};
  EXPECT_EQ(shares(6, 2, in_order), (std::vector<Indices>{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(shares(5, 2, in_order), (std::vector<Indices>{{0, 2, 4}, {1, 3, 0}}));
  EXPECT_EQ(shares(5, 2, whole), (std::vector<Indices>{{0, 2}, {1, 3}}));
  EXPECT_EQ(shares(1, 3, in_order), (std::vector<Indices>{{0}, {0}, {0}}));
  EXPECT_EQ(shares(0, 2, in_order), (std::vector<Indices>{{}, {}}));
  EXPECT_EQ(shares(2, 3, whole), (std::vector<Indices>{{}, {}, {}}));
}

TEST(DistributedSampler, ShufflesAlikeOnAllRanks) {
  Indices all;
  for (const Indices& share : shares(90, 3, {.seed = 5})) all.insert(all.end(), share.begin(), share.end());
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  for (std::int64_t i = 0; i < 90; ++i) EXPECT_EQ(all[std::size_t(i)], i);
  DistributedSampler sampler(20, {.num_replicas = 2});
  Generator unused(3);
  const Indices first = sampler.indices(unused);
  EXPECT_EQ(sampler.indices(), first);
  sampler.set_epoch(1);
  EXPECT_NE(sampler.indices(), first);
}

TEST(DistributedSampler, NamesMistakes) {
  EXPECT_EQ(test::error_of<ValueError>([] { DistributedSampler(3, {.num_replicas = 2, .rank = 2}); }),
            "DistributedSampler: expected a rank in [0, 2), got 2");
  EXPECT_EQ(test::error_of<ValueError>([] { DistributedSampler(-1, {}); }),
            "DistributedSampler: expected a size of 0 or more, got -1");
}

}  // namespace
}  // namespace neura::data
