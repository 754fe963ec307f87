#include "neura/core/meta.h"

#include <atomic>

#include "neura/core/device_api.h"
#include "neura/core/error.h"
#include "neura/core/spec.h"

namespace neura {
namespace {

// Far from memory that there is, so that reading there by mistake is a fault.
Failed allocate(int, std::size_t bytes, void** data, std::size_t* capacity) {
  static std::atomic<std::uintptr_t> next{std::uintptr_t{1} << (sizeof(std::uintptr_t) * 8 - 2)};
  const std::uintptr_t room = (std::uintptr_t(bytes) | 63) + 1;
  std::uintptr_t at;
  do at = next.fetch_add(room, std::memory_order_relaxed);
  while (!at);  // null would be a storage that waits
  *data = reinterpret_cast<void*>(at), *capacity = bytes;
  return nullptr;
}

}  // namespace

const DeviceApi& meta_api() {
  static constexpr DeviceApi api{
      .count = [] { return 1; },
      .info = [](int, DeviceInfo* i) -> Failed { return *i = {"meta", 0, 0, 0, 0, 0, 0}, nullptr; },
      .allocate = allocate,
      .release = [](int, void*) {},
      .copy = [](Device, void*, Device, const void*, std::size_t) -> Failed { return nullptr; },
      .synchronize = [](int) -> Failed { return nullptr; },
      .memory = [](int, DeviceMemory* m) -> Failed { return *m = {}, nullptr; },
      .reset_peak = [](int) {},
      .empty_cache = []() -> Failed { return nullptr; }};
  return api;
}

void refuse_values(const char* op, const Spec& s) {
  throw NotImplementedError(std::string(op) + ": expected a tensor with values, got " + s.str() +
                            ", where there are none; make another by empty_like(x, device=...), or give a module "
                            "memory by to_empty(device=...)");
}

}  // namespace neura
