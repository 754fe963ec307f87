// Work in steps that threads share within one parallel region. Between regions a thread may fall asleep, and takes
// longer to wake than a step takes; here it spins.
#pragma once
#include <atomic>
#include <thread>

#include "neura/core/parallel.h"
#include "neura/core/spin_guard.h"

namespace neura {

// f(step, task) for each task of [0, tasks(step)) of each step of [0, count). A step begins when the one before has
// ended. `alone`: there is too little to do for a second thread.
template <class Tasks, class F> void run_steps(std::int64_t count, bool alone, Tasks&& tasks, F&& f) {
  std::atomic<std::int64_t> next{0}, done{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    std::int64_t step = 0, first = 0, size = count ? tasks(0) : 0;  // of the step: its first task, how many
    for (;;) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      while (step < count && i >= first + size) first += size, size = ++step < count ? tasks(step) : 0;
      if (step == count) return;
      // Only tasks of earlier steps can be done before.
      for (int round = 0; done.load(std::memory_order_acquire) < first; ++round) {
        if (failed.load(std::memory_order_relaxed)) return;
        if (round < 10000) pause_cpu();
        else std::this_thread::yield();
      }
      f(step, i - first);
      done.fetch_add(1, std::memory_order_acq_rel);
    }
  };
  parallel_for(alone ? 1 : get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
    try {
      work();
    } catch (...) {
      failed.store(true);
      throw;
    }
  });
}

}  // namespace neura
