// The random numbers themselves: known answers, streams, threads.
#include "neura/core/random.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace neura {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, KnownAnswers) {  // of the authors' kat_vectors
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Generator, SeedAndOffsetDecideEverything) {
  Generator a(7), b(7);
  EXPECT_EQ(a.reserve().offset, 0u);
  EXPECT_EQ(a.reserve().offset, 1u);
  b.set_state(a.state());
  EXPECT_EQ(b.reserve().offset, 2u);
  a.manual_seed(9);
  EXPECT_EQ(a.seed(), 9u);
  EXPECT_EQ(a.state().offset, 0u);
}

TEST(Generator, ThreadsNeverShareAnOffset) {
  Generator g(1);
  std::vector<std::vector<std::uint64_t>> seen(4);
  std::vector<std::thread> threads;
  for (auto& mine : seen)
    threads.emplace_back([&g, &mine] {
      for (int i = 0; i < 1000; ++i) mine.push_back(g.reserve().offset);
    });
  for (std::thread& t : threads) t.join();
  std::set<std::uint64_t> all;
  for (const auto& mine : seen) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000u);
}

TEST(Generator, TheDefaultOneIsSeededByTheSystemUntilManualSeed) {
  manual_seed(5);
  EXPECT_EQ(default_generator().seed(), 5u);
  EXPECT_EQ(default_generator().state().offset, 0u);
}

TEST(Uniform, LiesInTheHalfOpenInterval) {
  EXPECT_EQ(to_uniform32(0), 0);
  EXPECT_LT(to_uniform32(~0u), 1);
  EXPECT_LT(to_uniform64(~0u, ~0u), 1);
  EXPECT_EQ(to_uniform64(1u << 31, 0), 0.5);
}

TEST(GeneratorScope, IsWhatItsThreadDrawsFrom) {
  manual_seed(5);
  Generator outer(1), inner(2);
  {
    const GeneratorScope a(outer);
    EXPECT_EQ(&default_generator(), &outer);
    {
      const GeneratorScope b(inner);
      manual_seed(3);
    }
    EXPECT_EQ(&default_generator(), &outer);
    std::thread([] { EXPECT_EQ(default_generator().seed(), 5u); }).join();
  }
  EXPECT_EQ(inner.seed(), 3u);
  EXPECT_EQ(default_generator().seed(), 5u);
}

}  // namespace neura
