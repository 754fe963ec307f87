#include "neura/backend/backend.h"

#include "neura/backend/plugin.h"
#include "neura/backend/registered.h"
#include "neura/core/memory.h"

namespace neura {

void* Context::scratch(std::size_t bytes) {
  void* p = nullptr;
  if (device.is_cpu()) p = memory::allocate(bytes);
  else throw_failure(device_api(device).allocate(device.index, bytes, &p, &bytes), "scratch");
  blocks_.push_back({p, bytes});
  return p;
}
void Context::release() {
  for (const Block& b : blocks_)
    if (device.is_cpu()) memory::release(b.data, b.bytes);
    else device_api(device).release(device.index, b.data);
}

const Backend& backend_of(Device device) {
  return device.is_cpu() ? cpu_backend() : is_registered(device) ? registered_backend() : plugin_of(device).backend;
}

}  // namespace neura
