// Threads that make an epoch's batches ahead of time and hand them out in order. Knows nothing of datasets or types.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace neura::data {

struct WorkItem {  // what one batch is made of
  virtual ~WorkItem() = default;
};
struct BuiltBatch {  // a batch
  virtual ~BuiltBatch() = default;
};

// What a worker is doing, for the error of a thread that waits for it.
struct Progress {
  std::atomic<std::int64_t> item{-1};  // being fetched
  std::atomic<bool> stopped{false};    // the epoch was abandoned
};

struct BatchSource {
  virtual ~BatchSource() = default;
  // The next batch's work, null after the last. Called in order, never twice at a time.
  virtual std::unique_ptr<WorkItem> draw(Progress&) = 0;
  // The batch. Called by several threads. Errors name `where`.
  virtual std::unique_ptr<BuiltBatch> make(WorkItem&, Progress&) const = 0;
};

using WorkerInit = std::function<void(int worker, std::uint64_t seed)>;

class Workers {
 public:
  // `ahead`: how many batches may be in the making or waiting. Threads start with the first epoch.
  Workers(int count, int ahead, WorkerInit init, std::uint64_t seed);
  Workers(const Workers&) = delete;
  ~Workers();  // stops and waits for the items being fetched; threads that a time-out found stuck are left to
               // themselves

  void start(std::shared_ptr<BatchSource>);  // an epoch; gives up what an earlier one left
  // The next batch, null at the end. Throws what its making threw; an Error that says what each worker is
  // at after `timeout` seconds (0: never).
  std::unique_ptr<BuiltBatch> next(double timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;  // also the threads'
};

}  // namespace neura::data
