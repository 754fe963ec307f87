#include "neura/core/pending.h"

#include <sched.h>

#include "neura/core/memory.h"
#include "neura/core/storage_lock.h"

namespace neura {
namespace {

Promise* promise(const Storage* s) { return static_cast<Promise*>(s->context); }
void forget(Storage* s) {
  promise(s)->forgotten();
  Ref<Promise>::drop(promise(s));
}
void drop_lender(Storage* s) { Ref<Storage>::drop(static_cast<Storage*>(s->context)); }
void nothing(Storage*) {}

}  // namespace

Storage* promise_bytes(std::size_t bytes, Device device, Ref<Promise> p) {
  Storage* s = Storage::wrap(nullptr, bytes, &forget, p.leave());
  s->capacity = 0, s->device = device;
  s->sharing.store(Storage::lazy, std::memory_order_relaxed);  // own() asks
  return s;
}

bool is_promise(const Storage* s) { return s->release.acquire() == &forget; }

Ref<Promise> promise_of(Storage* s) {
  if (!is_promise(s)) return {};
  const StorageLock lock(*s);
  return is_promise(s) ? Ref<Promise>::share(promise(s)) : Ref<Promise>();
}

void PromisedStorage::forgotten() {
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  storage_ = nullptr;
  busy_.clear(std::memory_order_release);
}
Ref<Storage> PromisedStorage::hold() {
  while (busy_.test_and_set(std::memory_order_acquire)) sched_yield();
  Ref<Storage> held;
  if (Storage* s = storage_) {
    std::uint32_t count = s->count.load(std::memory_order_relaxed);
    while (count && !s->count.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) {
    }
    if (count) held = Ref<Storage>::adopt(s);
  }
  busy_.clear(std::memory_order_release);
  return held;
}

// Bytes in a block of their own are taken over. Those that follow their Storage stay there. Capacity comes after
// the bytes: a thread that sees it sees them. `release` comes last: until then others wait for the lock.
static void take_over(Storage* s, Storage* from) {
  const bool own_block = has_block(from);
  __atomic_store_n(&s->data, from->data, __ATOMIC_RELEASE);
  if (own_block) __atomic_store_n(&s->capacity, from->capacity, __ATOMIC_RELEASE);
  s->context = own_block ? nullptr : Ref<Storage>::share(from).leave();
  s->release.publish(own_block ? release_of_block(s->device) : &drop_lender);
  if (own_block) from->data = nullptr, from->capacity = 0, from->release = &nothing;
}

void keep_promise(Storage* s, const Tensor& bytes) {
  Ref<Promise> kept;
  StorageLock lock(*s);
  if (!is_promise(s)) return;
  kept = Ref<Promise>::adopt(promise(s));
  take_over(s, bytes.impl()->storage);
  lock.now = Storage::alone;
}

bool is_lent(const Storage* s) { return s->release.acquire() == &drop_lender; }
bool has_kept_bytes(const Storage* s) {
  return s->sharing.load(std::memory_order_acquire) == Storage::alone && (is_lent(s) || has_block(s));
}

void exchange_bytes(Storage* s, const Tensor& bytes) {
  const StorageLock lock(*s);
  NEURA_ASSERT(is_lent(s));
  const Ref<Storage> before = Ref<Storage>::adopt(static_cast<Storage*>(s->context));
  take_over(s, bytes.impl()->storage);
}

void settle(Storage* s) {
  if (const Ref<Promise> p = promise_of(s)) p->keep();
}

}  // namespace neura
