// CPU affinity and futex waits, with portable fallbacks.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#ifdef __linux__
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace neura {

#ifdef __linux__
// Sleeps while the word has that value, or until another thread wakes it.
inline void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
inline void wake(std::atomic<std::uint32_t>& word, int n) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
}

class Processors {  // those this process may use, as taskset or a container gave them
 public:
  Processors() {
    CPU_ZERO(&allowed_);
    sched_getaffinity(0, sizeof allowed_, &allowed_);
  }
  int count() const { return std::max(1, CPU_COUNT(&allowed_)); }
  static int current() { return sched_getcpu(); }  // -1: unknown
  void leave(int processor) const {                // the calling thread, if there is another one
    cpu_set_t others = allowed_;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others)) sched_setaffinity(0, sizeof others, &others);
  }

 private:
  cpu_set_t allowed_;
};

#else  // what every standard library has
inline void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) { word.wait(value); }
inline void wake(std::atomic<std::uint32_t>& word, int) { word.notify_all(); }

class Processors {
 public:
  int count() const { return int(std::max(1u, std::thread::hardware_concurrency())); }
  static int current() { return -1; }
  void leave(int) const {}
};
#endif

}  // namespace neura
