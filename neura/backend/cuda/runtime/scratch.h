// Memory of a kernel's own, given back when the call ends: in the stream's order nothing uses it after.
#pragma once
#include "neura/backend/cuda/runtime/memory.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {

class Scratch {
 public:
  Scratch(int index, cudaStream_t stream) : index_(index), stream_(stream) {}
  Scratch(const Scratch&) = delete;
  ~Scratch() {
    for (int i = 0; i < count_; ++i) memory::release(index_, blocks_[i]);
  }
  template <class T> Failed take(std::size_t bytes, T** data) {
    *data = nullptr;
    if (count_ == 8) return fail(DeviceFailure::device, "a kernel asked for more than eight blocks of scratch memory");
    void* p = nullptr;
    std::size_t capacity;
    if (Failed f = memory::allocate(index_, stream_, bytes, &p, &capacity)) return f;
    *data = static_cast<T*>(p), blocks_[count_++] = p;
    return nullptr;
  }

 private:
  int index_;
  cudaStream_t stream_;
  void* blocks_[8];
  int count_ = 0;
};

}  // namespace neura::cuda
