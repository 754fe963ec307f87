// The queue of a model: what goes through it together, what alone, and what is refused.
#include "neura/serve/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/serve/error_response.h"

namespace neura {
namespace {

using serve::Batcher;
using serve::Clock;

// Rows of 2 numbers, doubled; it stops while it is held, notes how many rows came, and fails for -1.
class Held final : public serve::Model {
 public:
  Held() { inputs_ = {{"x", DType::float32, {-1, 2}}}, outputs_ = {{"y", DType::float32, {-1, 2}}}, warm_up(); }
  const char* platform() const override { return "held"; }
  void hold() { set(true); }
  void release() { set(false); }
  void wait_for(std::size_t runs) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rows.size() >= runs; });
  }
  bool ran() const {
    const std::scoped_lock lock(mutex_);
    return !rows.empty();
  }
  mutable std::vector<std::int64_t> rows;

 private:
  void set(bool held) {
    const std::scoped_lock lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  std::vector<Tensor> compute(std::span<const Tensor> inputs) const override {
    {
      std::unique_lock lock(mutex_);
      rows.push_back(inputs[0].size(0));
      changed_.notify_all();
      changed_.wait(lock, [&] { return !held_; });
    }
    for (const float v : inputs[0].to_vector<float>()) check<ValueError>(v != -1, [] { return "minus one"; });
    return {mul(inputs[0], 2)};
  }
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool held_ = false;
};

struct Batching : testing::Test {
  std::shared_ptr<Held> model = std::make_shared<Held>();
  std::shared_ptr<serve::ModelMetrics> metrics = std::make_shared<serve::ModelMetrics>();
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results = std::vector<std::vector<float>>(8);
  std::vector<std::string> errors = std::vector<std::string>(8);

  Batching() { model->rows.clear(); }
  ~Batching() override { join(); }
  static Clock::time_point never() { return Clock::now() + std::chrono::hours(1); }
  // Number i of the requests: a thread of its own, which is then seen to wait.
  void send(Batcher& b, std::size_t i, const Tensor& x, Clock::time_point until = never()) {
    const std::int64_t waiting = metrics->waiting;
    const bool first = !model->ran();  // it runs at once, and may do so before this thread looks again
    threads.emplace_back([this, &b, i, x, until] {
      try {
        results[i] = b.run({x}, until)[0].to_vector<float>();
      } catch (const serve::ErrorResponse& e) {
        errors[i] = std::to_string(e.code);
      } catch (const Error& e) {
        errors[i] = e.what();
      }
    });
    if (first) model->wait_for(1);
    else
      while (metrics->waiting == waiting) std::this_thread::yield();
  }
  void join() {
    model->release();
    for (std::thread& t : threads) t.join();
    threads.clear();
  }
};

Tensor row(float v, std::int64_t rows = 1) { return full({rows, 2}, v, {.dtype = DType::float32}); }

TEST_F(Batching, PutsRowsOfThoseWhoWaitTogether) {
  ASSERT_TRUE(model->batches());
  Batcher b(model, {}, metrics);
  model->hold();
  send(b, 0, row(1)), send(b, 1, row(2)), send(b, 2, row(3, 2)), send(b, 3, row(4));
  join();
  EXPECT_EQ(model->rows, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(results[0], (std::vector<float>{2, 2}));
  EXPECT_EQ(results[1], (std::vector<float>{4, 4}));
  EXPECT_EQ(results[2], (std::vector<float>{6, 6, 6, 6}));
  EXPECT_EQ(results[3], (std::vector<float>{8, 8}));
}

TEST_F(Batching, ClosesABatchAtItsMostRows) {
  Batcher b(model, {.max_rows = 3}, metrics);
  model->hold();
  send(b, 0, row(1)), send(b, 1, row(2, 2)), send(b, 2, row(3, 2)), send(b, 3, row(4)), send(b, 4, row(5, 9));
  join();
  EXPECT_EQ(model->rows, (std::vector<std::int64_t>{1, 3, 2, 9}));
  EXPECT_EQ(results[3], (std::vector<float>{8, 8}));
  EXPECT_EQ(results[4], std::vector<float>(18, 10));
}

TEST_F(Batching, LeavesOneRowAloneWhereItIsToldTo) {
  Batcher b(model, {.max_rows = 1}, metrics);
  model->hold();
  send(b, 0, row(1)), send(b, 1, row(2)), send(b, 2, row(3));
  join();
  EXPECT_EQ(model->rows, (std::vector<std::int64_t>{1, 1, 1}));
}

TEST_F(Batching, GivesAnErrorToThoseWhoCausedIt) {
  Batcher b(model, {}, metrics);
  model->hold();
  send(b, 0, row(1)), send(b, 1, row(-1)), send(b, 2, row(3));
  join();
  EXPECT_EQ(errors[1], "minus one");
  EXPECT_EQ(errors[2], "");
  EXPECT_EQ(results[2], (std::vector<float>{6, 6}));
}

TEST_F(Batching, RefusesWhatComesTooLateOrTooMuch) {
  Batcher b(model, {.queue = 2}, metrics);
  model->hold();
  send(b, 0, row(1));
  send(b, 1, row(2), Clock::now() + std::chrono::milliseconds(400));
  send(b, 2, row(3));
  try {
    b.run({row(4)}, never());
    ADD_FAILURE() << "the queue took a third request";
  } catch (const serve::ErrorResponse& e) {
    EXPECT_EQ(e.code, 429);
  }
  while (metrics->waiting == 2) std::this_thread::yield();  // until the second one's deadline
  join();
  EXPECT_EQ(errors[1], "503");
  EXPECT_EQ(results[2], (std::vector<float>{6, 6}));
  EXPECT_EQ(model->rows, (std::vector<std::int64_t>{1, 1}));
}

TEST_F(Batching, WaitsForARequestThatIsOnItsWay) {
  Batcher b(model, {.max_delay = std::chrono::seconds(60)}, metrics);
  auto arrival = std::make_unique<Batcher::Arrival>(b);
  threads.emplace_back([&] { results[0] = b.run({row(1)}, never())[0].to_vector<float>(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(model->rows.empty());
  threads.emplace_back([&] { results[1] = b.run({row(2)}, never(), arrival.get())[0].to_vector<float>(); });
  join();
  EXPECT_EQ(model->rows, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(results[0], (std::vector<float>{2, 2}));
  EXPECT_EQ(results[1], (std::vector<float>{4, 4}));
}

TEST_F(Batching, DoesNotWaitForWhoDoesNotArrive) {
  using std::chrono::seconds;
  Batcher b(model, {.max_delay = seconds(2)}, metrics);
  const Batcher::Arrival stuck(b);  // a body without end
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(b.run({row(1)}, never())[0].to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_GE(Clock::now() - start, seconds(2));  // it might have come
  const Clock::time_point again = Clock::now();
  EXPECT_EQ(b.run({row(2)}, never())[0].to_vector<float>(), (std::vector<float>{4, 4}));
  EXPECT_LT(Clock::now() - again, seconds(1));
}

// Counts in its memory, and shows that memory.
class Counting final : public serve::Model {
 public:
  Counting() { inputs_ = {{"x", DType::float32, {1}}}, outputs_ = {{"y", DType::float32, {1}}}; }
  const char* platform() const override { return "counting"; }
  mutable std::atomic<int> most = 0;

 private:
  bool shared() const override { return false; }
  std::vector<Tensor> compute(std::span<const Tensor>) const override {
    most = std::max<int>(most, ++inside_);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --inside_;
    Tensor count = count_;
    return {add_(count, 1)};
  }
  mutable std::atomic<int> inside_ = 0;
  Tensor count_ = zeros({1});
};
TEST(ServedModel, ThatWritesItsMemoryIsRunByOneThreadAtATime) {
  const Counting model;
  std::vector<float> seen(16);
  std::vector<Tensor> kept(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (std::size_t k = 0; k < 4; ++k) {
        kept[i] = model.run(std::vector{zeros({1})})[0];
        seen[4 * i + k] = kept[i].item<float>();
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(model.most, 1);
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(seen[i], float(i + 1));
  EXPECT_NE(kept[0].item<float>(), kept[1].item<float>());  // results are not that memory
}

}  // namespace
}  // namespace neura
