// How CUDA's errors become Neura's.
#pragma once
#include <cuda_runtime_api.h>

#include "neura/core/device_api.h"

namespace neura::cuda {

Failed fail(DeviceFailure::Kind, const char* format, ...) __attribute__((format(printf, 2, 3)));
Failed failed(cudaError_t, const char* what);  // null if it is none
// Where nothing else can be done about a failure, such as at the end of a handle: it is forgotten, so that no later
// call is taken to have failed.
void discard(cudaError_t);
// After the launches of a kernel of this device: null, or why one was refused. With NEURA_CUDA_LAUNCH_BLOCKING=1 it
// waits, so that every failure is met by the operation that caused it.
Failed launched(int index);
#define NEURA_CUDA_TRY(call, what)                                       \
  do {                                                                   \
    if (::neura::Failed f = ::neura::cuda::failed(call, what)) return f; \
  } while (false)

// Makes a device current for this thread, and the old one again.
class OnDevice {
 public:
  explicit OnDevice(int index) : error_(cudaGetDevice(&old_)) {
    if (error_ == cudaSuccess && old_ != index) error_ = cudaSetDevice(index), changed_ = error_ == cudaSuccess;
  }
  ~OnDevice() {
    if (changed_) discard(cudaSetDevice(old_));
  }
  OnDevice(const OnDevice&) = delete;
  cudaError_t error() const { return error_; }  // of cudaSetDevice; checked before memory is allocated there

 private:
  int old_ = 0;
  cudaError_t error_;
  bool changed_ = false;
};

}  // namespace neura::cuda
