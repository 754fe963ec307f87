// One trained model, many threads that ask it at the same time, as those of a server do. In evaluation mode nothing of
// it is written, so that they share it without a lock; what comes together may also be answered together, as one batch.
// For a network as small as this one handing over costs more than that saves; where a row takes a millisecond it pays.
// (`neura serve` is such a server, over HTTP: docs/serving.md.)
#include <neura/neura.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "example.h"

using namespace neura;

constexpr int kThreads = 16;
constexpr std::int64_t kFeatures = 32, kMostRows = 16;

// Answers requests of one row together. Whoever waits gets the row that is its own.
class Batcher {
 public:
  explicit Batcher(nn::Sequential& model) : model_(model), thread_([this] { work(); }) {}
  ~Batcher() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Tensor ask(const Tensor& row) {
    std::future<Tensor> answer;
    {
      const std::lock_guard lock(mutex_);
      answer = waiting_.emplace_back(Request{row, {}}).answer.get_future();
    }
    wake_.notify_one();
    return answer.get();  // or what the model threw
  }
  std::int64_t batches() const { return batches_; }

 private:
  struct Request {
    Tensor row;
    std::promise<Tensor> answer;
  };
  void work() {
    const InferenceMode on;  // belongs to this thread
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, [this] { return ends_ || !waiting_.empty(); }), !waiting_.empty()) {
      const auto end = waiting_.begin() + std::min<std::ptrdiff_t>(kMostRows, std::ssize(waiting_));
      std::vector<Request> batch(std::move_iterator(waiting_.begin()), std::move_iterator(end));
      waiting_.erase(waiting_.begin(), end);
      lock.unlock();  // others may ask meanwhile
      answer(batch);
      lock.lock();
    }
  }
  void answer(std::vector<Request>& batch) {
    ++batches_;
    try {
      TensorList rows;
      for (const Request& r : batch) rows.push_back(r.row);
      const Tensor answers = softmax(model_(stack(rows)), 1);
      for (std::size_t i = 0; i < batch.size(); ++i) batch[i].answer.set_value(answers[std::int64_t(i)]);
    } catch (...) {
      for (Request& r : batch) r.answer.set_exception(std::current_exception());
    }
  }

  nn::Sequential& model_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Request> waiting_;
  bool ends_ = false;
  std::atomic<std::int64_t> batches_ = 0;
  std::thread thread_;  // last: it uses what is above
};

// Each thread asks for rows of its own, and compares with what is known. The milliseconds that all of it took.
template <class F> double from_threads(const Tensor& rows, const Tensor& known, const F& answer) {
  std::atomic<int> wrong = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t i = t; i < rows.size(0); i += kThreads)
        wrong += !allclose(answer(rows[i]), known[i], {.rtol = 1e-4, .atol = 1e-6});
    });
  for (std::thread& t : threads) t.join();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  example::check(wrong == 0, "every thread got the answers to its own questions");
  return took.count();
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Threads share one model, with and without batches.");
  manual_seed(1);
  nn::Sequential model{nn::Linear(kFeatures, 256), nn::BatchNorm1d(256), nn::ReLU(), nn::Dropout(0.5),
                       nn::Linear(256, 4)};
  model.to(device);
  optim::Adam optimizer(model.parameters(), {.lr = 0.01});
  const Tensor x = randn({1024, kFeatures}).to(device), y = x.slice(1, 0, 4).argmax(1);
  for (int step = 0; step < (quick ? 20 : 60); ++step) {
    optimizer.zero_grad();
    cross_entropy(model(x), y).backward();
    optimizer.step();
  }
  model.eval();  // Dropout passes, BatchNorm keeps its statistics: nothing is written

  const Tensor rows = randn({quick ? 200 : 2000, kFeatures}).to(device);
  Tensor known;
  {
    const InferenceMode on;
    known = softmax(model(rows), 1);
  }
  const int before = get_num_threads();
  set_num_threads(1);  // the requests are what runs side by side
  const double alone = from_threads(rows, known, [&](const Tensor& row) {
    const InferenceMode on;
    return softmax(model(row.unsqueeze(0)), 1)[0];
  });
  Batcher batcher(model);
  const double together = from_threads(rows, known, [&](const Tensor& row) { return batcher.ask(row); });
  set_num_threads(before);
  std::printf("%d threads, %lld requests: %.1f ms one by one, %.1f ms in %lld batches\n", kThreads,
              static_cast<long long>(rows.size(0)), alone, together, static_cast<long long>(batcher.batches()));

  // A request that is wrong is told so, and the others continue.
  bool refused = false;
  try {
    batcher.ask(randn({kFeatures + 1}).to(device));
  } catch (const ShapeError& e) {
    refused = true;
    std::printf("%s\n", e.what());
  }
  example::check(refused, "an error reaches the one who asked");
  example::check(allclose(batcher.ask(rows[0]), known[0], {.rtol = 1e-4, .atol = 1e-6}), "and the next is answered");
}
