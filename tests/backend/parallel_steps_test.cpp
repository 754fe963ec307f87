#include "neura/backend/cpu/linalg/parallel_steps.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace neura {
namespace {

struct Steps : testing::TestWithParam<int> {
  void SetUp() override { set_num_threads(GetParam()); }
  void TearDown() override { set_num_threads(before); }
  const int before = get_num_threads();
};

TEST_P(Steps, EachTaskRunsOnceAndAfterTheStepBefore) {
  constexpr std::int64_t kCounts[] = {1, 0, 7, 3, 0, 0, 40, 1};
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<std::atomic<int>>> runs;
    for (const std::int64_t count : kCounts) runs.emplace_back(std::size_t(count));
    std::atomic<bool> early{false};
    run_steps(
        std::ssize(kCounts), false, [&](std::int64_t step) { return kCounts[step]; },
        [&](std::int64_t step, std::int64_t task) {
          for (std::int64_t s = 0; s < step; ++s)
            for (const auto& times : runs[std::size_t(s)])
              if (times != 1) early = true;
          ++runs[std::size_t(step)][std::size_t(task)];
        });
    EXPECT_FALSE(early);
    for (const auto& step : runs)
      for (const auto& times : step) EXPECT_EQ(times, 1);
  }
}

TEST_P(Steps, AnExceptionEndsAllThreads) {
  const auto run = [] {
    run_steps(
        3, false, [](std::int64_t) { return std::int64_t(8); },
        [](std::int64_t step, std::int64_t task) {
          if (step == 1 && task == 2) throw std::runtime_error("task");
        });
  };
  for (int round = 0; round < 50; ++round) EXPECT_THROW(run(), std::runtime_error);
}

TEST_P(Steps, OfNothing) {
  run_steps(
      0, false, [](std::int64_t) { return std::int64_t(1); }, [](std::int64_t, std::int64_t) { FAIL(); });
  run_steps(
      2, true, [](std::int64_t) { return std::int64_t(0); }, [](std::int64_t, std::int64_t) { FAIL(); });
}

INSTANTIATE_TEST_SUITE_P(Threads, Steps, testing::Values(1, 2, 3));

}  // namespace
}  // namespace neura
