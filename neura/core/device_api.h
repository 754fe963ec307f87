// The services of a device other than the cpu for core: memory, copies, waiting. A back end hands one table over when
// it is loaded. No exception crosses this border: a function that fails returns why, in memory of the calling thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "neura/core/device.h"

namespace neura {

struct DeviceFailure {
  enum Kind : std::uint8_t { memory, device, absent, index, singular } kind = device;
  char text[600];
  char op[64] = "";  // of `index`: the operation that met it, which had been called before
};
using Failed = const DeviceFailure*;  // null: all is well

struct DeviceInfo {
  char name[96];
  int major, minor;     // compute capability
  int driver, runtime;  // versions, as 13000 for 13.0
  int multiprocessors;
  std::size_t total;  // bytes of the device's memory
};
struct DeviceMemory {                     // bytes
  std::size_t allocated, allocated_peak;  // in tensors
  std::size_t reserved, reserved_peak;    // taken from the device
  std::size_t free, total;                // of the device, as its driver says
  std::int64_t allocations;               // so far
};

struct StreamApi;  // core/stream_api.h
struct PinnedApi;  // core/pinned_api.h
struct GraphApi;   // core/graph_api.h

struct DeviceApi {
  int (*count)();
  Failed (*info)(int index, DeviceInfo*);
  // Memory belongs to the current stream; its `capacity` is at least `bytes`.
  Failed (*allocate)(int index, std::size_t bytes, void** data, std::size_t* capacity);
  void (*release)(int index, void* data);
  // In order with the current stream. What goes to the cpu is there when the call returns. An index that a kernel found
  // outside of its range is reported by this call and by those that wait.
  Failed (*copy)(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes);
  Failed (*synchronize)(int index);
  Failed (*memory)(int index, DeviceMemory*);
  void (*reset_peak)(int index);
  Failed (*empty_cache)();
  // Null where the device has none.
  const StreamApi* streams = nullptr;
  const PinnedApi* pinned = nullptr;
  const GraphApi* graphs = nullptr;
};

// The table of a device's type. DeviceError where there is none, which says what is missing.
const DeviceApi& device_api(Device);
void throw_failure(Failed,
                   const char* op);  // OutOfMemoryError, CudaError, NotImplementedError, IndexError, LinAlgError

namespace detail {  // set by the loader of back ends
inline const DeviceApi& (*find_device_api)(Device) = nullptr;
}

}  // namespace neura
