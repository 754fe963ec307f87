// What a kernel gets besides its operands: scratch memory, and a place to report a bad index or a failure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neura/core/device_api.h"

namespace neura {

struct Backend;

class Context {
 public:
  Context(const Backend& b, Device d, const char* o) : backend(b), device(d), op(o) {}
  Context(const Context&) = delete;
  ~Context() {
    if (!blocks_.empty()) release();
  }

  // Memory of the device, uninitialised and 64-byte aligned, which is gone when the call ends. `bytes` may be 0. For
  // operations and the cpu's kernels. Device back ends have their own scratch memory (cuda/runtime/scratch.h).
  void* scratch(std::size_t bytes);
  template <class T> T* scratch_of(std::int64_t n) { return static_cast<T*>(scratch(std::size_t(n) * sizeof(T))); }

  // The kernel met an index outside [0, bound); it must have written nothing. The caller throws IndexError after it
  // returns, and names the operation. Only the first report counts.
  void fail_index(std::int64_t value, std::int64_t bound) {
    if (!failed) failed = true, value_ = value, bound_ = bound;
  }
  bool failed = false;
  // The device could not do it, or has no such kernel.
  void fail(Failed f) {
    if (f && !failure) failure = f;
  }
  Failed failure = nullptr;
  std::int64_t value() const { return value_; }
  std::int64_t bound() const { return bound_; }

  const Backend& backend;
  const Device device;
  const char* const op;  // the operation's name, which lives as long as the program

 private:
  void release();
  struct Block {
    void* data;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
  std::int64_t value_ = 0, bound_ = 0;
};

}  // namespace neura
