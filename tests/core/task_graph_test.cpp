// Graphs of tasks: their order, their errors, and that what they compute is what it would be without threads.
#include "neura/core/task_graph.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "neura/autograd/autograd.h"
#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::error_of;
struct Threads {
  const int before = get_num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
};

TEST(TaskGraph, ThreadsRunEachTaskOnceAfterThoseItWaitsFor) {
  for (const int threads : {1, 2, 4}) {
    const Threads set(threads);
    std::uint32_t seed = 7;
    const int n = 300;
    std::vector<std::atomic<int>> ended(n);
    std::atomic<int> early = 0, count = 0;
    TaskGraph g;
    for (int i = 0; i < n; ++i) {
      std::vector<int> after;
      for (int k = 0; i && k < i % 4; ++k) after.push_back(int((seed = seed * 1664525 + 1013904223) >> 8) % i);
      const int self = g.add(
          [&, i, after] {
            for (const int t : after) early += !ended[std::size_t(t)];
            ++count, ++ended[std::size_t(i)];
          },
          after);
      EXPECT_EQ(self, i);
    }
    for (int round = 1; round <= 3; ++round) {
      g.run();
      EXPECT_EQ(count, n * round);
      EXPECT_EQ(early, 0);
      for (auto& e : ended) EXPECT_EQ(e, round);
    }
  }
}

// It ends only if two threads are in tasks at once.
TEST(TaskGraph, ThreadsWorkAtTheSameTime) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two processors";
  const Threads set(2);
  std::atomic<int> inside = 0;
  TaskGraph g;
  for (int i = 0; i < 2; ++i)
    g.add([&] {
      ++inside;
      while (inside < 2) std::this_thread::yield();
    });
  g.run();
  EXPECT_EQ(inside, 2);
}

TEST(TaskGraph, ThreadsGiveTheBitsOfASequence) {
  const Tensor x = test::sample({40, 60});
  const auto branch = [&](const Tensor& w) { return tanh(matmul(x, w)); };
  const auto run = [&](bool as_tasks) {
    Tensor u = test::sample({60, 50}, float32, {.seed = 2}).requires_grad_(), a, b, y;
    Tensor v = test::sample({60, 50}, float32, {.seed = 3}).requires_grad_();
    TaskGraph g;
    const int left = g.add([&] { a = branch(u); }), right = g.add([&] { b = branch(v); });
    g.add([&] { y = sum(a * b); }, {left, right});
    if (as_tasks) g.run();
    else a = branch(u), b = branch(v), y = sum(a * b);
    y.backward();
    return std::vector<Tensor>{y.detach(), u.grad(), v.grad()};
  };
  const Threads set(2);
  const std::vector<Tensor> want = run(false), got = run(true);
  for (std::size_t i = 0; i < want.size(); ++i) test::expect_same(got[i], want[i]);
}

TEST(TaskGraph, ThreadsRecordWhatTheirCallerWould) {
  const Threads set(2);
  const Tensor w = ones({3}).requires_grad_();
  std::vector<Tensor> made(8);
  TaskGraph g;
  for (Tensor& t : made) g.add([&] { t = w * 2; });
  g.run();
  for (const Tensor& t : made) EXPECT_TRUE(t.requires_grad());
  {
    const NoGrad off;
    g.run();
  }
  for (const Tensor& t : made) EXPECT_FALSE(t.requires_grad());
  EXPECT_TRUE((w * 2).requires_grad());
}

TEST(TaskGraph, AnExceptionOfATaskComesOut) {
  for (const int threads : {1, 2}) {
    const Threads set(threads);
    bool later = false;
    TaskGraph g;
    const int bad = g.add([] { throw ShapeError("a task: expected nothing"); });
    g.add([&] { later = true; }, {bad});
    EXPECT_EQ(error_of<ShapeError>([&] { g.run(); }), "a task: expected nothing");
    EXPECT_FALSE(later);
  }
  TaskGraph g;
  g.run();  // of nothing
  EXPECT_EQ(error_of<ValueError>([&] { g.add([] {}, {0}); }),
            "TaskGraph: expected tasks that were added before task 0, got 0");
}

}  // namespace
}  // namespace neura
