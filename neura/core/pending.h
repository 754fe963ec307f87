// Storage whose bytes are computed when they are first needed (graph/window.h). Until then `data` is null and
// `capacity` is 0. Every write and every pointer for writing settles it by itself (Storage::own); code that reads
// bytes other than those of a call's operands calls settled().
#pragma once
#include "neura/core/tensor.h"

namespace neura {

struct Promise {
  std::atomic<std::uint32_t> count{1};
  virtual ~Promise() = default;
  virtual void keep() = 0;       // gives the storage its bytes, on any thread; throws what computing them throws
  virtual void forgotten() = 0;  // the storage is destroyed without them
  static void destroy(Promise* p) { delete p; }
};

Storage* promise_bytes(std::size_t bytes, Device, Ref<Promise>);
bool is_promise(const Storage*);
Ref<Promise> promise_of(Storage*);  // null if it has bytes
// The promise is kept with the bytes of a tensor that has no other reference.
void keep_promise(Storage*, const Tensor& bytes);
void settle(Storage*);
// False until its bytes are computed, which another thread may be doing.
inline bool has_bytes(const TensorImpl* t) { return __atomic_load_n(&t->storage->data, __ATOMIC_ACQUIRE); }
inline void settled(const TensorImpl* t) {
  if (!has_bytes(t)) [[unlikely]]
    settle(t->storage);
}

}  // namespace neura
