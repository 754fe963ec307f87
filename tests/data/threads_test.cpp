// Workers of a loader and kernels together: never more threads at work than were asked for.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "neura/core/parallel.h"
#include "neura/data/loader.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

// Threads of this process that run or could, but for the one that asks. The list is read while they go on: where one
// thread hands its work to another, both may be seen running.
int busy_threads() {
  int busy = 0;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (task.path().filename() == std::to_string(syscall(SYS_gettid))) continue;
    std::ifstream file(task.path() / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_ends = line.rfind(')');
    busy += name_ends != line.npos && line.size() > name_ends + 2 && line[name_ends + 2] == 'R';
  }
  return busy;
}

Tensor computed(std::int64_t seed) {
  const Tensor x = test::sample({96, 96}, float64, {.seed = std::uint64_t(seed)});
  const Tensor y = matmul(x, x.t());
  return sum(exp(test::sample({300000}, float32, {.seed = std::uint64_t(seed)})), 0) + sum(y);
}
struct Computed {  // items that take kernels of every kind
  std::int64_t size() const { return 24; }
  Tensor get(std::int64_t i) const { return computed(i); }
};

TEST(Threads, WorkersAndKernelsAreNoMoreThanWasAskedFor) {
  if (!std::filesystem::exists("/proc/self/task")) GTEST_SKIP() << "no list of threads";
  constexpr int kThreads = 3, kWorkers = 2;
  const int before = get_num_threads();
  set_num_threads(kThreads);
  computed(0);  // the pool is there
  std::atomic<bool> done = false;
  std::int64_t looks = 0, busy = 0, too_many = 0;
  std::thread observer([&] {
    for (; !done; ++looks) {
      const int seen = busy_threads();
      busy += seen > 0;
      too_many += seen > kThreads + kWorkers;
    }
  });
  double total = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    DataLoader loader(Computed(), {.batch_size = 2, .num_workers = kWorkers});
    for (const Tensor& batch : loader) total += (sum(batch) + computed(7)).item<double>();
  }
  done = true;
  observer.join();
  set_num_threads(before);
  EXPECT_TRUE(std::isfinite(total));
  EXPECT_GT(busy, 0);
  EXPECT_LE(too_many, looks / 10) << looks << " looks";  // pools of the workers' own would be seen at most of them
}

}  // namespace
}  // namespace neura::data
