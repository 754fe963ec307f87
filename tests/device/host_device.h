// A device for tests: memory of this process that nobody but the device's own kernels may touch, and the cpu's kernels
// over it. It answers as cuda:0 and cuda:1, so that what stands above kernels (on which device a result is, what may
// meet, what is copied, what is said when a kernel fails) is tested where there is no other device. Whoever reads its
// memory directly gets a segmentation fault, as with a real one.
#pragma once
#include <atomic>
#include <cstdint>

namespace neura::test {

struct HostDevice {
  // so far
  std::atomic<std::int64_t> to_device{0}, from_device{0}, between_devices{0};  // copies
  std::atomic<std::int64_t> non_blocking{0};                                   // of them, that need not wait
  std::atomic<std::int64_t> rows{0}, kernels{0}, conversions{0};               // pointwise lines, others, assignments
  std::atomic<std::int64_t> waits{0}, shared{0};  // of a stream for another one; blocks that a second stream used
  std::atomic<std::int64_t> pinned{0};            // blocks, at present
  std::atomic<std::int64_t> emptied{0};           // caches: the devices', and the one of pinned memory
  // from now on
  std::atomic<bool> kernels_fail{false}, memory_fails{false};
  std::int64_t work() const { return rows + kernels + conversions; }
};
HostDevice& host_device();

}  // namespace neura::test
