// A lock for a handful of instructions, never for a kernel or a callback.
#pragma once
#include <atomic>

namespace neura {

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct SpinGuard {
  std::atomic<bool>& flag;
  explicit SpinGuard(std::atomic<bool>& f) : flag(f) {
    while (flag.exchange(true, std::memory_order_acquire)) pause_cpu();
  }
  ~SpinGuard() { flag.store(false, std::memory_order_release); }
};

}  // namespace neura
