// The bytes of one device, shared by a tensor and its views.
#pragma once
#include <cstddef>

#include "neura/core/device.h"
#include "neura/core/ref.h"

namespace neura {

struct Row;

struct alignas(64) Storage {
  std::atomic<std::uint32_t> count{1};
  // Raised by every write; no read-modify-write, it needs only to differ. Those of a tensor's `data` count in the upper
  // bits, which saved values are not compared by.
  RelaxedAtomic<std::uint32_t> version = 0;
  RelaxedAtomic<const Row*> writer = nullptr;  // the last writer, for the error that names it
  void* data;
  std::size_t bytes;     // asked for
  std::size_t capacity;  // may be read and written beyond `bytes`: kernels have no tails
  Device device;
  enum Sharing : std::uint8_t { alone, lazy, changing };
  std::atomic<Sharing> sharing{alone};  // lazy: a lazy clone has the same bytes, until either of the two is written
  RelaxedAtomic<bool> exposed = false;  // a caller holds a pointer to the bytes, and may write unnoticed
  // Frees foreign and lazily cloned memory; null: the memory is this storage's alone. Its value also tags the storage
  // (promise, extension); hence atomic: threads read the tag while another settles the promise or moves the bytes.
  RelaxedAtomic<void (*)(Storage*)> release = nullptr;
  void* context = nullptr;  // release's

  static Storage* make(std::size_t bytes, Device = {});
  // Wraps memory that is owned elsewhere; `release` is called once, when the last reference is dropped.
  static Storage* wrap(void* data, std::size_t bytes, void (*release)(Storage*), void* context);
  static void destroy(Storage*);

  // A storage of its own, with a version of its own, that shares the bytes until either is written. Null where nothing
  // is gained or a write could not be noticed: small bytes, foreign memory, memory that a caller has a pointer to.
  Storage* lazy_clone();
  // Call it before a write to the bytes. The first write after lazy_clone() moves this storage to bytes of its own: no
  // other thread may use any part of it meanwhile, but may use the clone. True if they moved.
  bool own() { return sharing.load(std::memory_order_acquire) != alone && part(); }
  bool written(const Row* row, bool unversioned = false) { return count_write(row, unversioned), own(); }
  void count_write(const Row* row, bool unversioned) {
    version = version + (unversioned ? kUnversioned : 1), writer = row;
  }
  std::uint32_t tracked() const { return version % kUnversioned; }
  void* expose();

 private:
  static constexpr std::uint32_t kUnversioned = 1u << 22;
  bool part();
};

}  // namespace neura
