#include "neura/core/storage.h"

#include <sched.h>

#include <cstring>

#include "neura/core/arena.h"
#include "neura/core/device_api.h"
#include "neura/core/error.h"
#include "neura/core/memory_fast.h"
#include "neura/core/parallel.h"
#include "neura/core/pending.h"
#include "neura/core/storage_lock.h"

namespace neura {
namespace {

constexpr std::size_t kInline = (std::size_t{16} << 10) - sizeof(Storage);  // capacity up to which bytes are there

// What an allocation of so many bytes really gives.
std::size_t granted(std::size_t bytes) {
  if (bytes <= memory::kPages) return memory::class_size(memory::size_class(bytes));
  return (bytes + memory::kHuge - 1) / memory::kHuge * memory::kHuge;
}

using Sharers = std::atomic<std::uint32_t>;  // the number of storages that have the same bytes
Sharers& sharers(const Storage* s) { return *static_cast<Sharers*>(s->context); }

void release_on_device(Storage* s) { device_api(s->device).release(s->device.index, s->data); }
void let_go(Storage* s) {
  if (sharers(s).fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (s->device.is_cpu()) memory::release(s->data, s->capacity);
  else release_on_device(s);
  delete &sharers(s);
}

struct Block {
  void* data;
  std::size_t capacity;
};
Block allocate_on(Device device, std::size_t bytes) {
  Block b{};
  throw_failure(device_api(device).allocate(device.index, bytes, &b.data, &b.capacity), "allocate");
  return b;
}
Storage* make_on(Device device, std::size_t bytes) {
  const Block b = allocate_on(device, bytes);
  Storage* s = new (memory::allocate(sizeof(Storage))) Storage;
  s->data = b.data, s->bytes = bytes, s->capacity = b.capacity, s->device = device;
  s->release = &release_on_device;
  return s;
}

Block copy_of(const Storage& s) {
  if (!s.device.is_cpu()) {
    const Block b = allocate_on(s.device, s.bytes);
    const DeviceApi& api = device_api(s.device);
    if (const Failed failed = api.copy(s.device, b.data, s.device, s.data, s.bytes)) {
      api.release(s.device.index, b.data);
      throw_failure(failed, "copy");
    }
    return b;
  }
  char* copy = static_cast<char*>(memory::allocate(s.bytes));
  parallel_for(std::int64_t(s.bytes), std::int64_t{1} << 20, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(copy + begin, static_cast<const char*>(s.data) + begin, std::size_t(end - begin));
  });
  return {copy, granted(s.bytes)};
}

}  // namespace

StorageLock::StorageLock(Storage& s) : sharing(s.sharing) {
  while ((now = sharing.exchange(Storage::changing, std::memory_order_acquire)) == Storage::changing) sched_yield();
}

// Small bytes follow the Storage in its block. Bigger ones have a block of their own: after a Storage, a power of two
// would need the next class of blocks, a quarter larger.
Storage* Storage::make(std::size_t bytes, Device device) {
  if (!device.is_cpu()) return make_on(device, bytes);
  if (bytes <= kInline) {
    const int c = memory::size_class(sizeof(Storage) + bytes);
    Storage* s = new (memory::take_block(c)) Storage;
    s->data = s + 1, s->bytes = bytes;
    s->capacity = memory::class_size(c) - sizeof(Storage);
    return s;
  }
  if (Storage* s = storage_in_arena(bytes)) return s;
  void* data = memory::allocate(bytes);
  Storage* s = new (memory::allocate(sizeof(Storage))) Storage;
  s->data = data, s->bytes = bytes, s->capacity = granted(bytes);
  return s;
}

Storage* Storage::wrap(void* data, std::size_t bytes, void (*release)(Storage*), void* context) {
  Storage* s = new (memory::allocate(sizeof(Storage))) Storage;
  // An empty view gets a non-null address, which is never read: a null pointer means an absent operand.
  s->data = data || bytes ? data : s;
  s->bytes = bytes, s->capacity = bytes, s->release = release, s->context = context;
  return s;
}

void Storage::destroy(Storage* s) {
  if (s->release) {
    s->release(s);
  } else if (s->capacity <= kInline) {
    return memory::give_block(s, memory::size_class(sizeof(Storage) + s->capacity));
  } else {
    memory::release(s->data, s->capacity);
  }
  memory::release(s, sizeof(Storage));
}

void* Storage::expose() {
  announce_access(this);
  return own(), exposed = true, data;
}

void (*release_of_block(Device device))(Storage*) { return device.is_cpu() ? nullptr : &release_on_device; }
bool has_block(const Storage* s) {
  return static_cast<void (*)(Storage*)>(s->release) == release_of_block(s->device) && s->data != s + 1;
}

Storage* Storage::lazy_clone() {
  StorageLock hold(*this);
  if (exposed || (device.is_cpu() && capacity <= kInline)) return nullptr;
  if (hold.now == alone && release != release_of_block(device)) return nullptr;
  Storage* s = new (memory::allocate(sizeof(Storage))) Storage;
  if (hold.now == alone) context = new Sharers(1), release = let_go, hold.now = lazy;
  sharers(this).fetch_add(1, std::memory_order_relaxed);
  s->data = data, s->bytes = bytes, s->capacity = capacity, s->device = device;
  s->release = &let_go, s->context = context, s->sharing = lazy;
  return s;
}

[[gnu::cold, gnu::noinline]] bool Storage::part() {
  if (is_promise(this)) return settle(this), true;
  StorageLock hold(*this);
  const bool last = hold.now == lazy && sharers(this).load(std::memory_order_acquire) == 1;
  if (hold.now == alone) return true;  // another thread was first
  if (last) {
    delete &sharers(this);
  } else {
    const Block copy = copy_of(*this);
    let_go(this);
    data = copy.data, capacity = copy.capacity;
  }
  release = release_of_block(device), context = nullptr;
  hold.now = alone;
  return !last;
}

}  // namespace neura
