// Memory: what the allocator of a device holds, limits, and memory of the host that is pinned.
#pragma once
#include <string>
#include <vector>

#include "neura/core/memory.h"
#include "neura/core/memory_api.h"
#include "neura/core/pinned_api.h"
#include "neura/cuda/device.h"

namespace neura::cuda {

struct MemoryStats : DeviceMemory, MemoryCounts {};
MemoryStats memory_stats(Device = current_device());  // bytes held and in use, now and at most

struct MemorySegment {  // what was taken from the device at once
  struct Block {
    const void* data;
    std::size_t size;
    bool used;
  };
  const void* data;
  std::size_t size, used;
  void* stream;        // in whose order its blocks are given again
  std::uint64_t pool;  // 0, or the one of captured graphs
  std::vector<Block> blocks;
};
std::vector<MemorySegment> memory_snapshot(Device = current_device());  // all segments
std::string memory_summary(Device = current_device());                  // a table for people

// The most that this process takes of the device's memory; ValueError outside of (0, 1].
void set_per_process_memory_fraction(double fraction, Device = current_device());
// Gives what is kept, and is in no tensor, back: of one device, or of all and of pinned memory. neura::empty_cache()
// does the second, and the same for the other memory of the host.
void empty_cache(Device);
void empty_cache();

// The values in pinned memory, from which copies with non_blocking need no waiting; itself if it is there already.
// DeviceError where there is no CUDA, and for a tensor that is not on the cpu.
Tensor pin_memory(const Tensor&);
Tensor empty_pinned(const Shape&, DType = DType::float32);  // uninitialised
bool is_pinned(const Tensor&);
PinnedMemory pinned_memory();  // zeros where there is no CUDA

class PinnedRange {  // pins memory that is there already, for as long as it lives
 public:
  PinnedRange(void* data, std::size_t bytes);
  explicit PinnedRange(const Tensor&);  // on the cpu; keeps it alive
  PinnedRange(PinnedRange&& o) noexcept;
  PinnedRange& operator=(PinnedRange&&) = delete;
  ~PinnedRange();

 private:
  void* data_;
  Tensor kept_;
};

}  // namespace neura::cuda
