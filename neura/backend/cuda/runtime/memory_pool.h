// State of the caching allocator of one device.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "neura/core/memory_api.h"

namespace neura::cuda::memory {

struct Block {
  char* data;
  std::size_t size;
  cudaStream_t stream;
  std::uint64_t pool;  // 0: shared by all; else of captured graphs, which continue using what they released
  bool small, used = false;
  Block *before = nullptr, *behind = nullptr;  // neighbours in the segment
  std::vector<cudaStream_t> others{};          // streams that use it too
  int pending = 0;                             // of their ends, which are not reached yet
};
struct Less {
  bool operator()(const Block* a, const Block* b) const {
    return a->size != b->size ? a->size < b->size : a->data < b->data;
  }
};
using Free = std::set<Block*, Less>;
struct Waiting {  // released, but another stream may still be at work on it
  cudaEvent_t event;
  Block* block;
};

struct Pool {
  std::mutex mutex;
  std::map<std::tuple<std::uint64_t, cudaStream_t, bool>, Free> free;  // by pool, stream and smallness
  std::unordered_map<void*, Block*> used;
  std::vector<Waiting> waiting;
  std::vector<Block*> captured;         // released during a capture, with other streams: their ends cannot be marked
  std::map<std::uint64_t, int> graphs;  // that have a pool; none: its free segments may be shared by all
  DeviceMemory now{};
  MemoryCounts counts{};
  double fraction = 1;
};
Pool& pool_of(int index);
Failed out_of_memory(Pool&, int index, std::size_t bytes);
Failed empty(int index);
const MemoryApi& api();
std::size_t limit_of(Pool&);  // bytes

// Pools of captured graphs. While a thread uses one, all that it allocates comes from there.
void hold(int index, std::uint64_t pool);
void drop(int index, std::uint64_t pool);  // waits for the device; then its memory is shared by all
void use(int index, std::uint64_t pool);   // 0: shared by all

}  // namespace neura::cuda::memory
