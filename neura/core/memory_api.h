// Statistics of a device's caching allocator, and its controls.
#pragma once
#include <atomic>

#include "neura/core/device_api.h"

namespace neura {

struct MemoryCounts {                 // so far, except for the last two
  std::int64_t hits, misses;          // allocations served from kept blocks, and from the device
  std::int64_t retries, failures;     // second attempts, after all kept blocks were given back; failed allocations
  std::int64_t taken, given;          // segments: from the device, and back to it
  std::size_t largest_free, waiting;  // bytes: the largest block that is kept; released, but another stream is not done
  std::size_t limit;                  // bytes, of the segments together
};
struct MemoryBlock {
  const void* data;
  std::size_t size;
  void* stream;        // in whose order it is given again
  std::uint64_t pool;  // 0: shared by all; else of captured graphs
  bool used, first;    // first of its segment: blocks come in order, segment by segment
};

struct MemoryApi {
  Failed (*counts)(int index, MemoryCounts*);
  void (*visit)(int index, void (*see)(void* context, const MemoryBlock&), void* context);
  Failed (*limit)(int index, double fraction);  // of the device's memory
  Failed (*empty)(int index);                   // as DeviceApi::empty_cache, of one device
  // `data` is read or written on a stream that is not its own: it is not given again before that work has ended.
  Failed (*used_on)(int index, void* data, void* stream);
};

namespace detail {  // set with a back end: gives back what its devices keep, and pinned memory of the host
inline std::atomic<Failed (*)()> empty_device_caches = nullptr;
}

}  // namespace neura
