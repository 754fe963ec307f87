#include "neura/core/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "neura/core/error.h"
#include "neura/core/processors.h"
#include "neura/core/settings.h"
#include "neura/core/spin_guard.h"
#include "neura/core/state.h"

namespace neura {
namespace {
constexpr std::uint32_t kClosed = 1u << 31;
constexpr int kSpin = 1000;  // rounds of pause (30 ns) before a worker sleeps
constexpr int kWait = 300;   // the same for the caller at the end of a region

std::atomic<int> wanted_threads{0};  // 0: not said; then by the affinity mask or NEURA_NUM_THREADS
int wanted() {
  if (const int n = wanted_threads.load(std::memory_order_relaxed)) return n;
  int n = 0;
  if (const char* text = setting(Setting::num_threads)) n = std::atoi(text);
  if (n < 1) n = Processors().count();
  int none = 0;
  return wanted_threads.compare_exchange_strong(none, n) ? n : none;
}

struct Pool {
  Processors processors;
  int started = 0;                                  // threads there are
  bool refused = false;                             // the system gives no more of them
  std::atomic<std::uint32_t> limit{0};              // workers that may enter this region
  std::mutex owner;                                 // the thread that holds it may open a region
  alignas(64) std::atomic<std::uint32_t> epoch{0};  // a futex: raised when a region opens
  std::atomic<int> caller_cpu{-1};
  alignas(64) std::atomic<std::uint32_t> inside{
      kClosed};  // a futex: workers within the region, and whether it is closed
  std::atomic<std::uint32_t> asleep{0};
  alignas(64) std::atomic<std::int64_t> next{0};
  std::int64_t n = 0, chunk = 0;
  Body body = nullptr;
  void* context = nullptr;
  std::atomic<bool> failed{false};
  std::exception_ptr error;

  // How many of the workers there are. A system may give fewer, and a browser may give none.
  int start(int workers) {
    try {
      for (; started < workers && !refused; ++started) std::thread([this] { work(); }).detach();
    } catch (const std::system_error&) {
      refused = true;
    }
    return std::min(workers, started);
  }

  void chunks() {
    state.parallel = true;
    for (std::int64_t b; (b = next.fetch_add(chunk, std::memory_order_relaxed)) < n;) {
      try {
        body(context, b, std::min(n, b + chunk));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        next.store(n, std::memory_order_relaxed);
      }
    }
    state.parallel = false;
  }

  // A worker that the system does not schedule in time never enters, and no thread waits for it.
  bool enter() {
    std::uint32_t seen = inside.load(std::memory_order_acquire);
    while (!(seen & kClosed) && seen < limit.load(std::memory_order_relaxed))
      if (inside.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  // The system tends to wake a worker on the caller's processor. There it only takes the caller's time, spinning most
  // of all.
  bool on_callers_cpu() const {
    const int here = Processors::current();
    return here >= 0 && here == caller_cpu.load(std::memory_order_relaxed);
  }

  void work() {
    for (std::uint32_t seen = 0;;) {
      for (int i = 0; i < kSpin && epoch.load(std::memory_order_acquire) == seen && (i % 32 || !on_callers_cpu()); ++i)
        pause_cpu();
      if (epoch.load(std::memory_order_acquire) == seen) {
        asleep.fetch_add(1);
        while (epoch.load() == seen) sleep_while(epoch, seen);
        asleep.fetch_sub(1);
      }
      seen = epoch.load(std::memory_order_acquire);
      if (on_callers_cpu()) processors.leave(caller_cpu.load(std::memory_order_relaxed));
      if (!enter()) continue;
      chunks();
      if (inside.fetch_sub(1, std::memory_order_acq_rel) == (kClosed | 1)) wake(inside, 1);
    }
  }

  void run(std::int64_t count, std::int64_t grain, Body b, void* c, int workers) {
    workers = start(workers), limit.store(std::uint32_t(workers), std::memory_order_relaxed);
    n = count, chunk = std::max(grain, (count + (workers + 1) * 16 - 1) / ((workers + 1) * 16)), body = b, context = c;
    next.store(0, std::memory_order_relaxed), failed.store(false, std::memory_order_relaxed);
    caller_cpu.store(Processors::current(), std::memory_order_relaxed);
    inside.store(0, std::memory_order_release);
    epoch.fetch_add(1);
    if (asleep.load()) wake(epoch, workers);
    chunks();
    std::uint32_t left = inside.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
    for (int i = 0; left != kClosed; left = inside.load(std::memory_order_acquire))
      if (++i < kWait) pause_cpu();
      else sleep_while(inside, left);
    if (failed.load()) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

std::atomic<Pool*> pool{nullptr};
std::mutex pool_lock;
Pool& the_pool() {  // never destroyed; made again in a forked child, which has none of the threads
  if (Pool* p = pool.load(std::memory_order_acquire)) return *p;
  std::lock_guard hold(pool_lock);
  if (Pool* p = pool.load()) return *p;
  static const int once = pthread_atfork([] { pool_lock.lock(); }, [] { pool_lock.unlock(); },
                                         [] { pool.store(nullptr), state.parallel = false, pool_lock.unlock(); });
  (void)once;
  Pool* p = new Pool;
  pool.store(p, std::memory_order_release);
  return *p;
}
}  // namespace

int get_num_threads() { return wanted(); }
void set_num_threads(int n) {
  check<ValueError>(n >= 1 && n <= 1024, [&] {
    return "set_num_threads: expected a number from 1 to 1024, got " + std::to_string(n) +
           "; 1 means no worker threads";
  });
  wanted_threads.store(n, std::memory_order_relaxed);
}

void parallel_run(std::int64_t n, std::int64_t grain, Body body, void* context) {
  if (n <= 0) return;
  if (n <= grain || state.parallel) return body(context, 0, n);
  const int workers = wanted() - 1;
  if (workers == 0) return body(context, 0, n);
  Pool& p = the_pool();
  std::unique_lock own(p.owner, std::try_to_lock);
  if (!own) return body(context, 0, n);
  p.run(n, grain, body, context, workers);
}

}  // namespace neura
