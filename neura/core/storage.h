// The bytes of one device, shared by a tensor and its views.
#pragma once
#include <cstddef>

#include "neura/core/device.h"
#include "neura/core/ref.h"

namespace neura {

struct Row;

struct alignas(64) Storage {
  std::atomic<std::uint32_t> count{1};
  Relaxed<std::uint32_t> version = 0;    // raised by every write; no read-modify-write, it needs only to differ
  Relaxed<const Row*> writer = nullptr;  // the last writer, for the error that names it
  void* data;
  std::size_t bytes;     // asked for
  std::size_t capacity;  // may be read and written beyond `bytes`: kernels have no tails
  Device device;
  void (*release)(Storage*) = nullptr;  // of foreign memory; null: ours
  void* context = nullptr;              // release's

  static Storage* make(std::size_t bytes, Device = {});
  // Wraps memory that belongs to somebody else; `release` is called once, when the last tensor lets go.
  static Storage* wrap(void* data, std::size_t bytes, void (*release)(Storage*), void* context);
  static void destroy(Storage*);
  void written(const Row* row) { version = version + 1, writer = row; }
};

}  // namespace neura
