#include "neura/backend/backend.h"

#include "neura/core/error.h"
#include "neura/core/memory.h"

namespace neura {

void* Context::scratch(std::size_t bytes) {
  void* p = memory::allocate(bytes);
  blocks_.push_back({p, bytes});
  return p;
}
void Context::release() {
  for (const Block& b : blocks_) memory::release(b.data, b.bytes);
}

const Backend& backend_of(Device device) {
  check<DeviceError>(device.is_cpu(), [&] {
    return "device: expected one that this build of neura has, got " + device.str() + "; there is the cpu alone";
  });
  return cpu_backend();
}

}  // namespace neura
