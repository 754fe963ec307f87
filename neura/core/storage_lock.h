// Holds a storage while it changes how its bytes are owned: two threads may clone it, write to parts of it, or settle
// it.
#pragma once
#include "neura/core/storage.h"

namespace neura {

struct StorageLock {
  std::atomic<Storage::Sharing>& sharing;
  Storage::Sharing now;  // what it is afterwards
  explicit StorageLock(Storage&);
  ~StorageLock() { sharing.store(now, std::memory_order_release); }
};

}  // namespace neura
