#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "neura/core/parallel_reduce.h"
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
TEST(Parallel, ReductionsJoinFixedPiecesFromTheLeft) {
  const auto text = [](std::int64_t n) {  // neither commutative nor associative with other pieces
    return parallel_reduce(
        n, 3, std::string("-"),
        [](std::int64_t b, std::int64_t e) { return std::to_string(b) + "," + std::to_string(e); },
        [](const std::string& a, const std::string& b) { return "(" + a + b + ")"; });
  };
  const int before = get_num_threads();
  double of_one_thread = 0;
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(text(0), "-");
    EXPECT_EQ(text(2), "(-0,2)");
    EXPECT_EQ(text(7), "(((-0,3)3,6)6,7)");
    const double harmonic = parallel_reduce(
        100000, 64, 0.0,
        [](std::int64_t b, std::int64_t e) {
          double s = 0;
          for (; b < e; ++b) s += 1.0 / double(b + 1);
          return s;
        },
        std::plus<>());
    EXPECT_NEAR(harmonic, 12.090146129863428, 1e-12);
    if (threads == 1) of_one_thread = harmonic;
    EXPECT_EQ(harmonic, of_one_thread) << threads << " threads";
    EXPECT_TRUE(parallel_reduce(
        1000, 1, false, [](std::int64_t b, std::int64_t) { return b == 999; }, std::logical_or<>()));
    EXPECT_ERROR(std::runtime_error, "at 70",
                 parallel_reduce(
                     100, 10, 0,
                     [](std::int64_t b, std::int64_t) -> int {
                       if (b == 70) throw std::runtime_error("at 70");
                       return 0;
                     },
                     std::plus<>()));
  }
  set_num_threads(before);
}
TEST(Parallel, NestedReductionsAreTheSame) {
  const auto inner = [](std::int64_t b, std::int64_t e) {
    return parallel_reduce(
        e - b, 7, std::int64_t{0}, [&](std::int64_t x, std::int64_t y) { return y - x; }, std::plus<>());
  };
  EXPECT_EQ(parallel_reduce(12345, 100, std::int64_t{0}, inner, std::plus<>()), 12345);
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
#ifndef __SANITIZE_ADDRESS__  // which needs room of its own
TEST(Parallel, AForkedChildThatGetsFewThreadsComputes) {
  const pid_t child = fork();
  if (!child) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit little{(pages << 12) + (1 << 20), RLIM_INFINITY};  // less than the stack of one thread
    setrlimit(RLIMIT_AS, &little);
    set_num_threads(64);
    bool good = true;
    for (int i = 0; i < 10; ++i) good &= sum_to(100000) == 99999ll * 50000;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif
#endif

}  // namespace
}  // namespace neura
