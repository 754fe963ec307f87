// Memory for what is made in a scope: one block, from which tensors are cut one after the other, and which is free
// again at the scope's end, in one step, however many they were. So a round of a loop takes what it needs in the same
// time and from the same bytes as the last one, also where sizes differ from round to round.
//     Arena arena(64 << 20);
//     for (const Tensor& request : requests) {
//       const ArenaScope scope(arena);
//       const Tensor y = model(request);
//       const NoArena outside;
//       answers.push_back(y.clone());  // a copy outlives the scope
//     }
// It serves tensors of the cpu above 16 KiB; smaller ones come from the thread's free lists, without a lock. What does
// not fit comes from where it otherwise would, and is counted. A tensor that is still there when the scope ends stays
// valid: its block goes back when the last such tensor does, and the arena takes another one. Memory that another
// device has comes from its pool as ever.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "neura/core/ref.h"

namespace neura {

struct Storage;

struct ArenaStats {
  std::size_t bytes, used;   // of the block, and of it since the scope began
  std::size_t peak;          // the most that a scope requested, whether it fitted or not: a good value of `bytes`
  std::int64_t cut, missed;  // tensors from the block, and those that did not fit
  std::int64_t escaped;      // scopes at whose end a tensor was still there
};

class Arena {
 public:
  explicit Arena(std::size_t bytes);  // takes the block at once; ValueError without bytes, OutOfMemoryError
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();
  ArenaStats stats() const;

 private:
  friend class ArenaScope;
  friend Storage* storage_in_arena(std::size_t);
  struct Block;
  Storage* cut(std::size_t bytes);
  void reset();

  Ref<Block> block_;
  ArenaStats stats_{};
  std::size_t asked_ = 0;  // since the scope began
  std::atomic<bool> taken_ = false;
};

// On this thread; the innermost one counts. ValueError where the arena is in a scope already.
class ArenaScope {
 public:
  explicit ArenaScope(Arena&);
  ArenaScope(const ArenaScope&) = delete;
  ~ArenaScope();

 private:
  Arena& arena_;
  Arena* outer_;
};
class NoArena {
 public:
  NoArena();
  NoArena(const NoArena&) = delete;
  ~NoArena();

 private:
  Arena* outer_;
};

Storage* storage_in_arena(std::size_t bytes);  // for Storage::make; null where the thread is in no scope, or it is full

}  // namespace neura
