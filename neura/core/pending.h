// Storage whose bytes are computed when they are first needed (graph/window.h). Until then `data` is null and
// `capacity` is 0. Every write and every pointer for writing settles it by itself (Storage::own); code that reads
// bytes other than those of a call's operands calls settled().
#pragma once
#include <compare>

#include "neura/core/tensor.h"

namespace neura {

namespace detail {  // set by who leaves work on a device for later
using Announce = void (*)();
inline constinit Announce before_access = nullptr;
}  // namespace detail
// Before bytes of a device are used by their address.
inline void announce_access(const Storage* s) {
  if (!s->device.is_cpu() && detail::before_access) detail::before_access();
}

struct Promise {
  std::atomic<std::uint32_t> count{1};
  virtual ~Promise() = default;
  virtual void keep() = 0;       // gives the storage its bytes, on any thread; throws what computing them throws
  virtual void forgotten() = 0;  // the storage is destroyed without them
  static void destroy(Promise* p) { delete p; }
};

// A promise that knows its storage, which may be destroyed by any thread.
struct PromisedStorage : Promise {
  Ref<Storage> hold();  // null if it is destroyed or about to be
  void forgotten() override;
  void promises(Storage* s) { storage_ = s; }
  bool is_wanted() const { return storage_.load(std::memory_order_acquire); }

 private:
  std::atomic<Storage*> storage_{nullptr};
  std::atomic_flag busy_;  // while another thread destroys or retains it
};

Storage* promise_bytes(std::size_t bytes, Device, Ref<Promise>);
bool is_promise(const Storage*);
Ref<Promise> promise_of(Storage*);  // null if it has bytes
// The promise is kept with the bytes of a tensor that has no other reference.
void keep_promise(Storage*, const Tensor& bytes);
void settle(Storage*);
bool is_lent(const Storage*);  // keep_promise() let it share bytes
// That, or bytes of its own: memory that no other library knows.
bool has_kept_bytes(const Storage*);
// Other bytes, of a tensor that has no other reference, in the place of those it has, which it shares.
void exchange_bytes(Storage*, const Tensor& bytes);
// False until its bytes are computed, which another thread may be doing.
inline bool has_bytes(const TensorImpl* t) { return __atomic_load_n(&t->storage->data, __ATOMIC_ACQUIRE); }
inline void settled(const TensorImpl* t) {
  if (!has_bytes(t)) [[unlikely]]
    settle(t->storage);
}

// Where a dense tensor's elements are, to compare with others: by address or, as long as bytes are only promised,
// within their storage.
struct MemoryRange {
  const Storage* promised;
  std::uintptr_t begin, end;
  auto operator<=>(const MemoryRange&) const = default;
  bool overlaps(const MemoryRange& o) const { return promised == o.promised && begin < o.end && o.begin < end; }
};
inline MemoryRange range_of(const TensorImpl* t) {
  const bool known = has_bytes(t);
  const std::uintptr_t at = known ? reinterpret_cast<std::uintptr_t>(t->data())
                                  : std::uintptr_t(t->spec.offset) * std::uintptr_t(size_of(t->spec.dtype));
  return {known ? nullptr : t->storage, at, at + t->spec.bytes()};
}

}  // namespace neura
