#include "neura/core/task_graph.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "neura/core/error.h"
#include "neura/core/parallel.h"
#include "neura/core/state.h"

namespace neura {

int TaskGraph::add(std::function<void()> work, const std::vector<int>& after) {
  const int self = int(tasks_.size());
  for (const int t : after)
    check<ValueError>(t >= 0 && t < self, [&] {
      return "TaskGraph: expected tasks that were added before task " + std::to_string(self) + ", got " +
             std::to_string(t);
    });
  for (const int t : after) tasks_[std::size_t(t)].next.push_back(self);
  tasks_.push_back({std::move(work), {}, int(after.size())});
  return self;
}

struct TaskGraph::Run {
  const std::vector<Task>& tasks;
  const std::uint32_t modes = state.active & (kNoGrad | kInference);
  std::mutex lock;
  std::condition_variable changed;
  std::vector<int> before;
  std::deque<int> ready;
  std::size_t left;
  std::exception_ptr error;

  explicit Run(const std::vector<Task>& all) : tasks(all), left(all.size()) {
    for (const Task& t : all) {
      if (!t.before) ready.push_back(int(before.size()));
      before.push_back(t.before);
    }
  }
  void end(int task) {
    --left;
    for (const int t : tasks[std::size_t(task)].next)
      if (!--before[std::size_t(t)]) ready.push_back(t);
  }
  // Whoever finds nothing ready waits for a thread that is at work.
  void work() {
    const std::uint32_t own = std::exchange(state.active, (state.active & ~(kNoGrad | kInference)) | modes);
    for (std::unique_lock hold(lock); left; changed.notify_all()) {
      if (ready.empty()) {
        changed.wait(hold, [&] { return !left || !ready.empty(); });
        continue;
      }
      const int task = ready.front();
      ready.pop_front(), hold.unlock();
      std::exception_ptr failed;
      try {
        tasks[std::size_t(task)].work();
      } catch (...) {
        failed = std::current_exception();
      }
      hold.lock();
      if (failed && !error) error = failed;
      if (error) left = 0;
      else end(task);
    }
    state.active = own;
  }
};

void TaskGraph::run() const {
  Run run(tasks_);
  parallel_for(get_num_threads(), 1, [&](std::int64_t, std::int64_t) { run.work(); });
  if (run.error) std::rethrow_exception(run.error);
}

}  // namespace neura
