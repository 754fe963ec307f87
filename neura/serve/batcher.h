// The queue of a model. Requests that come while it computes go through it together afterwards.
//
// There is no thread of its own: a thread that finds the model idle runs it, and hands it on to the first that waits.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "neura/serve/metrics.h"
#include "neura/serve/model.h"

namespace neura::serve {

using Clock = std::chrono::steady_clock;

struct BatchOptions {
  std::int64_t max_rows = 32;                 // of a batch; one request may have more. 1: requests run alone
  std::chrono::microseconds max_delay{2000};  // that an idle model waits for requests which are being read
  std::size_t queue = 256;                    // requests that wait; further ones are refused
};

class Batcher {
 public:
  Batcher(std::shared_ptr<const Model>, const BatchOptions&, std::shared_ptr<ModelMetrics>);
  Batcher(const Batcher&) = delete;

  // While it lives, announces a request that is about to arrive: the batcher waits for it, for max_delay at most.
  class Arrival {
   public:
    explicit Arrival(Batcher&);
    Arrival(const Arrival&) = delete;
    ~Arrival();

   private:
    friend Batcher;
    void end();
    Batcher* batcher_;  // null when it has arrived
    std::multiset<Clock::time_point>::iterator since_;
  };

  // The results of the model for `inputs`, which fit its ports; `arrival` is over once they are in the queue.
  // ErrorResponse: 429 where that is full, 503 where nothing had begun by the deadline. What the model throws comes
  // out, to those whose inputs caused it.
  std::vector<Tensor> run(std::vector<Tensor> inputs, Clock::time_point deadline, Arrival* arrival = nullptr);

 private:
  struct Job {
    std::vector<Tensor> inputs, results;
    std::exception_ptr error;
    std::int64_t rows = 0;  // 0: it runs alone
    Clock::time_point arrived;
    bool leads = false, taken = false, done = false;
    std::condition_variable wake;
  };
  using Lock = std::unique_lock<std::mutex>;

  std::int64_t rows_of(const std::vector<Tensor>&) const;
  void lead(Lock&, Job&);
  void gather(Lock&, Job&);
  void compute() const;
  void together() const;
  std::vector<Tensor> timed(const std::vector<Tensor>& inputs, std::int64_t rows) const;

  const std::shared_ptr<const Model> model_;
  const BatchOptions options_;
  const std::shared_ptr<ModelMetrics> metrics_;
  std::mutex mutex_;
  std::deque<Job*> queue_;   // of those that wait
  std::vector<Job*> batch_;  // the leader's
  bool busy_ = false;
  std::multiset<Clock::time_point> arriving_;  // since when
  Job* gathering_ = nullptr;                   // the job that waits for arrivals
};

}  // namespace neura::serve
