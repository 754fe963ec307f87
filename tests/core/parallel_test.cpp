#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "neura/core/parallel.h"
#include "neura/core/random.h"
#include "tests/support/engine.h"

namespace neura {
namespace {

std::int64_t sum_to(std::int64_t n) {
  std::atomic<std::int64_t> total{0};
  parallel_for(n, 100, [&](std::int64_t b, std::int64_t e) {
    std::int64_t s = 0;
    for (std::int64_t i = b; i < e; ++i) s += i;
    total += s;
  });
  return total;
}
TEST(Parallel, EveryIndexOnce) {
  for (std::int64_t n : {0, 1, 99, 100, 101, 12345}) {
    std::vector<int> seen(std::size_t(n), 0);
    parallel_for(n, 7, [&](std::int64_t b, std::int64_t e) {
      for (; b < e; ++b) ++seen[std::size_t(b)];
    });
    for (int s : seen) EXPECT_TRUE(s == 1);
  }
  for (int i = 0; i < 3000; ++i) EXPECT_TRUE(sum_to(5000) == 4999 * 2500);
}
TEST(Parallel, NestedRegionsRunWhereTheyAre) {
  std::atomic<std::int64_t> total{0};
  parallel_for(8, 1, [&](std::int64_t b, std::int64_t e) {
    for (; b < e; ++b) total += sum_to(1000);
  });
  EXPECT_TRUE(total == 8 * 499500);
}
TEST(Parallel, ExceptionsComeOutAndThePoolLivesOn) {
  for (int round = 0; round < 200; ++round) {
    EXPECT_ERROR(std::runtime_error, "at 7", parallel_for(64, 1, [](std::int64_t b, std::int64_t e) {
                   for (; b < e; ++b)
                     if (b == 7) throw std::runtime_error("at 7");
                 }));
    EXPECT_TRUE(sum_to(1000) == 499500);
  }
}
TEST(Parallel, TwoCallersAtOnce) {
  std::atomic<int> wrong{0};
  const auto call = [&] {
    for (int i = 0; i < 2000; ++i) wrong += sum_to(3000) != 2999 * 1500;
  };
  std::thread a(call), b(call);
  call(), a.join(), b.join();
  EXPECT_TRUE(wrong == 0);
}
#ifndef __SANITIZE_THREAD__  // TSan cannot start threads in a forked child
TEST(Parallel, AForkedChildComputes) {
  const std::int64_t n = 200000;
  const Tensor x = full({n}, 1.0);
  std::atomic<bool> stop{false};
  std::thread churn([&] {
    while (!stop) {
      Tensor t = x + 1;
      full({100}, 2.0);
      default_generator().reserve();
    }
  });  // holds locks at the moment of the fork
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (!child) {
      Tensor y = x + x;
      default_generator().reserve();
      const bool ok = at(y, 0) == 2 && at(y, n - 1) == 2 && sum_to(100000) == 99999ll * 50000;
      _exit(ok ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true, churn.join();
}
#endif

}  // namespace
}  // namespace neura
