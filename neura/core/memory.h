// Blocks of 64-byte multiples from thread-local free lists; from 1 MiB on, whole 2 MiB pages that are kept when
// released. A block may be released by any thread: it enters that thread's list, and full lists flow back through a
// central one.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "neura/core/device.h"

namespace neura {

// Statistics for programs, for each device; DeviceError where this build has none. Bytes are those of blocks, which are
// rounded up: of tensors (Tensor::nbytes() is one tensor's size, Storage::bytes its storage's), of what autograd
// keeps, and of a running operation.
std::size_t memory_allocated(Device = {});
std::size_t memory_reserved(Device = {});  // taken from the system: allocated, and kept for the next tensors
// The highest since the start or the last reset; blocks below 1 MiB count by the pages they were cut from.
std::size_t max_memory_allocated(Device = {});
void reset_peak_memory_stats(Device = {});
void empty_cache();  // gives what is kept, and is not in use, back to the system

namespace memory {
inline constexpr std::size_t kPages = std::size_t{1} << 20, kHuge = std::size_t{2} << 20;
inline constexpr int kClasses = 56;

struct FreeList {
  void* head = nullptr;
  std::uint32_t count = 0, limit = 0;
  std::atomic<std::int64_t> live{0};  // blocks taken minus blocks returned by this thread; written by its owner only
};
struct ThreadCache {
  FreeList list[kClasses];
};

// 64-byte steps up to 1 KiB, then four classes to a doubling (at most 20 % unused).
constexpr int size_class(std::size_t n) {
  if (n <= 1024) return n ? int((n - 1) >> 6) : 0;
  const int top = 63 - __builtin_clzll(n - 1);
  return 16 + (top - 10) * 4 + int(((n - 1) >> (top - 2)) & 3);
}
constexpr std::size_t class_size(int c) {
  return c < 16 ? std::size_t(c + 1) * 64 : std::size_t(5 + (c - 16) % 4) << (8 + (c - 16) / 4);
}

void* allocate(std::size_t bytes);             // OutOfMemoryError
void release(void* block, std::size_t bytes);  // with the size given to allocate()
void trim();                                   // gives cached pages back to the system

struct Pages {
  std::size_t live, peak, cached;  // bytes in big blocks
};
Pages pages();               // of all threads
void reset_peak();           // peak becomes live
std::int64_t live_blocks();  // small blocks in use, all threads
}  // namespace memory
}  // namespace neura
