// Work of a device that is recorded once and launched again as a whole.
#pragma once
#include "neura/core/device_api.h"

namespace neura {

struct GraphApi {
  Failed (*create)(int index, void** graph);
  void (*destroy)(void* graph);
  // From here this thread's work on its current stream, which must not be the default one, is recorded and not done.
  // What it allocates comes from the pool, which lives as long as a graph that has it; 0: one of the graph's own.
  // mode: which unsafe calls are refused meanwhile: 0 those of all threads, 1 of this thread, 2 none.
  Failed (*begin)(void* graph, std::uint64_t pool, int mode);
  Failed (*end)(void* graph);  // makes the graph ready for replay
  void (*abort)(void* graph);  // or forgets what was recorded
  // On the current stream. Null, or two numbers for the random draws that were recorded: the first is added to their
  // offsets, the second changes the bits of their seeds.
  Failed (*replay)(void* graph, const std::uint64_t* numbers);
  void (*reset)(void* graph);
  std::uint64_t (*pool)(void* graph);  // 0 before a capture
  std::uint64_t (*new_pool)();
  bool (*capturing)(int index);  // does this thread's current stream record?
};

// True if this thread records what is done there.
inline bool is_captured(Device d) {
  const GraphApi* graphs = d.is_cpu() ? nullptr : device_api(d).graphs;
  return graphs && graphs->capturing(d.index);
}

}  // namespace neura
