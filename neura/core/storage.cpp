#include "neura/core/storage.h"

#include <algorithm>

#include "neura/core/device_api.h"
#include "neura/core/error.h"
#include "neura/core/memory_fast.h"

namespace neura {
namespace {
constexpr std::size_t kInline = memory::kPages - sizeof(Storage);
std::size_t paged(std::size_t bytes) { return std::max(bytes, memory::kPages + 1); }

Storage* make_on(Device device, std::size_t bytes) {
  const DeviceApi& api = device_api(device);
  void* data = nullptr;
  std::size_t capacity = 0;
  throw_failure(api.allocate(device.index, bytes, &data, &capacity), "allocate");
  Storage* s = new (memory::allocate(sizeof(Storage))) Storage;
  s->data = data, s->bytes = bytes, s->capacity = capacity, s->device = device;
  s->release = [](Storage* self) { device_api(self->device).release(self->device.index, self->data); };
  return s;
}
}  // namespace

// Small bytes follow the Storage in its block; big ones have pages of their own.
Storage* Storage::make(std::size_t bytes, Device device) {
  if (!device.is_cpu()) return make_on(device, bytes);
  if (bytes <= kInline) {
    const int c = memory::size_class(sizeof(Storage) + bytes);
    Storage* s = new (memory::take_block(c)) Storage;
    s->data = s + 1, s->bytes = bytes;
    s->capacity = memory::class_size(c) - sizeof(Storage);
    return s;
  }
  void* data = memory::allocate(paged(bytes));
  Storage* s = new (memory::allocate(sizeof(Storage))) Storage;
  s->data = data, s->bytes = bytes, s->capacity = (paged(bytes) + memory::kHuge - 1) / memory::kHuge * memory::kHuge;
  return s;
}

Storage* Storage::wrap(void* data, std::size_t bytes, void (*release)(Storage*), void* context) {
  Storage* s = new (memory::allocate(sizeof(Storage))) Storage;
  s->data = data, s->bytes = bytes, s->capacity = bytes, s->release = release, s->context = context;
  return s;
}

void Storage::destroy(Storage* s) {
  if (s->release) {
    s->release(s);
  } else if (s->data == s + 1) {
    return memory::give_block(s, memory::size_class(sizeof(Storage) + s->capacity));
  } else {
    memory::release(s->data, s->capacity);
  }
  memory::release(s, sizeof(Storage));
}

}  // namespace neura
