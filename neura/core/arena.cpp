#include "neura/core/arena.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "neura/core/error.h"
#include "neura/core/memory_fast.h"
#include "neura/core/storage.h"

namespace neura {

// Under the address sanitizer what is not cut, or was before the last reset, cannot be read or written.
struct Arena::Block {
  std::atomic<std::uint32_t> count{1};  // the arena, and each tensor
  std::size_t bytes;
  char* data;
  explicit Block(std::size_t n) : bytes(n), data(static_cast<char*>(memory::allocate(n))) { close(); }
  void close() const { ASAN_POISON_MEMORY_REGION(data, bytes); }
  static void destroy(Block* b) {
    ASAN_UNPOISON_MEMORY_REGION(b->data, b->bytes);
    memory::release(b->data, b->bytes);
    delete b;
  }
};

namespace {
[[gnu::tls_model("initial-exec")]] constinit thread_local Arena* current = nullptr;
}

Arena::Arena(std::size_t bytes) {
  check<ValueError>(bytes, [] { return std::string("Arena: expected a size of at least one byte, got 0"); });
  block_ = Ref<Block>::adopt(new Block(bytes));
  stats_.bytes = bytes;
}
Arena::~Arena() = default;

ArenaStats Arena::stats() const { return stats_; }

Storage* Arena::cut(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;  // more than any machine has: the ordinary allocator reports it
  const std::size_t size = (bytes + 63) / 64 * 64;
  asked_ += size, stats_.peak = std::max(stats_.peak, asked_);
  if (!block_) block_ = Ref<Block>::adopt(new Block(stats_.bytes));
  if (size > stats_.bytes - stats_.used) return ++stats_.missed, nullptr;
  char* const data = block_->data + stats_.used;
  ASAN_UNPOISON_MEMORY_REGION(data, size);
  Storage* s = Storage::wrap(
      data, bytes, [](Storage* self) { Ref<Block>::drop(static_cast<Block*>(self->context)); }, block_.get());
  Ref<Block>(block_).leave();
  s->capacity = size, stats_.used += size, ++stats_.cut;
  return s;
}

void Arena::reset() {
  if (block_ && block_->count.load(std::memory_order_acquire) == 1) block_->close();
  else if (block_) ++stats_.escaped, block_ = {};
  stats_.used = asked_ = 0;
}

Storage* storage_in_arena(std::size_t bytes) { return current ? current->cut(bytes) : nullptr; }

ArenaScope::ArenaScope(Arena& arena) : arena_(arena), outer_(current) {
  check<ValueError>(!arena.taken_.exchange(true, std::memory_order_acquire), [] {
    return std::string("ArenaScope: expected an arena that is in no scope, got one that is; give each its own");
  });
  current = &arena;
}
ArenaScope::~ArenaScope() {
  current = outer_;
  arena_.reset();
  arena_.taken_.store(false, std::memory_order_release);
}
NoArena::NoArena() : outer_(std::exchange(current, nullptr)) {}
NoArena::~NoArena() { current = outer_; }

}  // namespace neura
