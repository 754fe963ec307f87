// The hot half of memory.h, inline: a block of a known class from the thread's own list. For the library neura alone.
#pragma once
#include "neura/core/memory.h"
#include "neura/core/state.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

namespace neura::memory {

void* refill(int c);             // the thread's list is empty
void spill(void* block, int c);  // or full

inline void*& next(void* block) { return *static_cast<void**>(block); }
inline void* poisoned(void* block, int c) { return ASAN_POISON_MEMORY_REGION(block, class_size(c)), block; }
inline void* fresh(void* block, int c) { return ASAN_UNPOISON_MEMORY_REGION(block, class_size(c)), block; }
inline void count(FreeList& list, int by) {  // no read-modify-write: only the owner writes
  list.live.store(list.live.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

inline void* take_block(int c) {
  FreeList& list = state.cache->list[c];
  if (!list.head) [[unlikely]]
    return refill(c);
  void* p = fresh(list.head, c);
  list.head = next(p), --list.count, count(list, 1);
  return p;
}
inline void give_block(void* block, int c) {
  FreeList& list = state.cache->list[c];
  if (list.count >= list.limit) [[unlikely]]
    return spill(block, c);
  next(block) = list.head, list.head = poisoned(block, c), ++list.count, count(list, -1);
}

}  // namespace neura::memory
