// Memory of the host that is locked in place, so that a device copies from and to it by itself.
#pragma once
#include "neura/core/device_api.h"

namespace neura {

struct PinnedMemory {           // bytes
  std::size_t allocated, kept;  // in use; for the next ones
  std::size_t waiting;          // released, but a device is still copying
  std::int64_t taken;           // blocks that had to be locked, so far
};

struct PinnedApi {
  Failed (*allocate)(std::size_t bytes, void** data, std::size_t* capacity);
  void (*release)(void* data);
  Failed (*lock)(void* data, std::size_t bytes);  // memory that is there already
  Failed (*unlock)(void* data);
  bool (*contains)(const void* data);
  // As DeviceApi::copy, but returns before the bytes are there where the host's side is pinned.
  Failed (*copy)(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes);
  void (*memory)(PinnedMemory*);
  Failed (*empty)();  // gives back what is kept
};

}  // namespace neura
