// The calls of a window that wait, and how they run; a part of window.cpp.
#pragma once
#include <mutex>

#include "neura/core/pending.h"
#include "neura/graph/program.h"
#include "neura/graph/window.h"

namespace neura::graph {

// The promise of the storage of a delayed call's result. It outlives the window where its values could not be
// computed.
struct DelayedResult final : PromisedStorage {
  std::shared_ptr<PendingCalls> stream;
  std::size_t call;

  DelayedResult(std::shared_ptr<PendingCalls> s, std::size_t c) : stream(std::move(s)), call(c) {}
  void keep() override;
};

struct Plan {
  std::vector<std::uint64_t> key;
  Program program;                // its externals are inputs
  std::vector<std::size_t> last;  // by value: see last_uses
};

class PendingCalls : public std::enable_shared_from_this<PendingCalls> {
 public:
  static std::shared_ptr<PendingCalls> make();  // possibly a reused one
  static void put_back(std::shared_ptr<PendingCalls>);
  using Lock = std::unique_lock<std::recursive_mutex>;
  Lock lock();  // releases the interpreter's lock while it waits

  // All under the lock. The operands of a call that is to wait: false if one of them cannot be kept as it is now.
  bool operands(const Call&);
  Tensor add(const Call&, const Spec& result);    // after operands(): the call waits
  bool rewrite(const Call&, const Spec& result);  // the same in place; false if its memory has bytes by now
  ValueId waiting(const TensorImpl*) const;       // the call that makes it, kNoValue: none here
  void run(const char* why);                      // all that waits; what it throws leaves them waiting
  bool empty() const { return !some_.load(std::memory_order_acquire); }  // without the lock: for its thread

 private:
  struct ExternalMemory {  // memory from outside, as it was when the first call read it
    Ref<Storage> storage;
    std::uint32_t version;
    Tensor tensor;
    bool restores;  // it is shared lazily with the storage, which was alone before
  };
  struct DelayedCall {
    const Row* row;
    double attributes[5];  // or the bytes of a conversion
    std::size_t first;     // its operands in args_
    int inputs;
    Spec result;
    Ref<DelayedResult> promise;  // null once its memory is written again
  };

  std::optional<ValueId> outside(const TensorImpl*);
  void push(const Call&, const Spec& result, Ref<DelayedResult>);
  Program program(const std::vector<std::size_t>& wanted) const;
  void write_key(const std::vector<std::size_t>& wanted);
  std::vector<Tensor> compute(const std::vector<std::size_t>& wanted, Explanation&);
  std::shared_ptr<const Plan> plan(const std::vector<std::size_t>& wanted, Explanation&);
  Tensor alone();  // of a single call
  std::vector<Tensor> execute(const Plan&);
  void clear();

  std::recursive_mutex mutex_;
  bool running_ = false;
  std::atomic<bool> some_ = false;  // does a call wait?
  std::vector<DelayedCall> calls_;
  std::vector<Arg> args_;  // values: kMade and the number of a call, or that of an external
  std::vector<ExternalMemory> outside_;
  std::vector<std::uint64_t> key_;
  std::vector<Tensor> values_;     // of a run
  std::vector<Operand> operands_;  // of one of its calls
};

}  // namespace neura::graph
