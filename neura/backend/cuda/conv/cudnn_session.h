// cuDNN's handles. It promises nothing for two threads with one handle or one plan: each call leases a session, with
// the plans that were made in it.
#pragma once
#include "neura/backend/cuda/conv/cudnn.h"
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/lease.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {

bool cudnn_wanted();  // it is loaded, and not switched off; conv_cudnn.cpp

inline Failed failed(cudnnStatus_t s, const char* what) {
  if (s == CUDNN_STATUS_SUCCESS) return nullptr;
  return fail(DeviceFailure::device, "cuDNN: %s (%s)", cudnn().cudnnGetErrorString(s), what);
}

struct CudnnSession {  // derived classes add plans
  cudnnHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
};

template <class Session> class CudnnLease : public Lease<Session> {
 public:
  using Lease<Session>::Lease;
  Failed open(cudaStream_t stream) {
    Session& s = **this;
    if (!s.handle) {
      if (Failed f = failed(cudnn().cudnnCreate(&s.handle), "a handle")) return f;
    } else if (s.stream == stream) {
      return nullptr;
    }
    s.stream = stream;
    return failed(cudnn().cudnnSetStream(s.handle, stream), "the stream");
  }
};

}  // namespace neura::cuda
