// One passage through a stretch: the memory that it has and how its launches run; a part of automatic_replay.cpp.
#pragma once
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "neura/core/pending.h"
#include "neura/cuda/stream.h"
#include "neura/graph/automatic_replay.h"
#include "neura/graph/program_internal.h"
#include "neura/graph/stretch.h"

namespace neura::graph {

class StretchRun;

// Of the storage of a result that waits.
struct LaunchResult final : PromisedStorage {
  const std::shared_ptr<StretchRun> run;
  const MemoryId memory;
  LaunchResult(std::shared_ptr<StretchRun> r, MemoryId m) : run(std::move(r)), memory(m) {}
  void keep() override;
};

using MemoryOfRun = std::vector<Ref<Storage>>;  // by MemoryId

class StretchRun : public std::enable_shared_from_this<StretchRun> {
 public:
  explicit StretchRun(std::shared_ptr<Stretch>);
  ~StretchRun();
  using Lock = std::unique_lock<std::recursive_mutex>;
  Lock lock();  // releases the interpreter's lock while it waits

  // All under the lock.
  // Takes the call as the next launch: false if the stretch has another one there. A stretch that is not complete yet
  // is written down.
  bool take(Call&, const Spec* results, std::uint64_t hash);
  // From here on as another stretch, which begins with the launches that wait.
  void change_to(std::shared_ptr<Stretch> s) { memory_.resize((stretch = std::move(s))->memory.size()); }
  void run_apart(const char* why);  // the launches that wait, one by one
  void done() { next_ = 0, memory_.clear(); }
  bool is_wanted(MemoryId m) const { return memory_[m].result && memory_[m].result->is_wanted(); }
  LaunchResult* result(MemoryId m) const { return memory_[m].result.get(); }
  Storage* external(MemoryId m) const { return memory_[m].external.get(); }
  void* attributes_of(std::size_t launch) const;  // those of this time, if they vary
  // Runs the launches that wait. Memory that is neither wanted nor in `kept` is released after its last use. steps: by
  // launch, the numbers of an optimizer's step on the device. Versions are left as they are: the writes were counted
  // when their calls were made.
  void execute(MemoryOfRun& memory, const std::vector<bool>& kept, std::span<const Tensor> steps);

  std::shared_ptr<Stretch> stretch;
  std::size_t waiting() const { return next_; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Memory {
    Ref<Storage> external;  // held
    Ref<LaunchResult> result;
  };
  MemoryId known(const Storage*) const;
  MemoryId identify(const TensorImpl*, MemoryId expected);
  void execute_one(std::size_t launch, MemoryOfRun&, const Tensor& steps) const;
  bool identify_all(const Call&, bool writes_down);
  void make_results(Call&, const Spec* results, bool writes_down);
  static void count_writes(const Call&);

  std::recursive_mutex mutex_;
  bool running_ = false;
  std::size_t next_ = 0;                                                // launches that wait
  std::vector<Memory> memory_;                                          // by MemoryId
  std::vector<std::pair<std::size_t, std::unique_ptr<OpMemory>>> own_;  // attributes that vary, by launch
  std::vector<MemoryId> operands_, made_;                               // of the call that is taken
  std::vector<std::uint64_t> scratch_;
  std::optional<cuda::Stream> stream_;
  std::exception_ptr error_;  // of a launch: of its result, and of those after it
};

inline Tensor bytes_of(const Ref<Storage>& s) {
  return tensor_on(Spec::dense(DType::uint8, Shape{std::int64_t(s->bytes)}, s->device), s);
}

void count_replays(const std::function<void(ReplayCounts&)>& change);  // under a lock

}  // namespace neura::graph
