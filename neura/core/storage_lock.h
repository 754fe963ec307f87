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

// What releases bytes in a block that is a storage's alone: null for the cpu.
void (*release_of_block(Device))(Storage*);
// True if the storage's bytes are in a block of their own, not after its Storage.
bool has_block(const Storage*);

}  // namespace neura
