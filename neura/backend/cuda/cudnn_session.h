// cuDNN's handles. It promises nothing for two threads with one handle or one plan: a call takes a session, with the
// plans that were made in it, for as long as it runs.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "neura/backend/cuda/cudnn.h"
#include "neura/backend/cuda/failure.h"
#include "neura/backend/cuda/stream.h"

namespace neura::cuda {

bool cudnn_wanted();  // it is loaded, and not switched off; conv_cudnn.cpp

inline Failed failed(cudnnStatus_t s, const char* what) {
  if (s == CUDNN_STATUS_SUCCESS) return nullptr;
  return fail(DeviceFailure::device, "cuDNN: %s (%s)", cudnn().cudnnGetErrorString(s), what);
}

struct CudnnSession {  // whoever derives from it adds plans
  cudnnHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
};

template <class Session> class Lease {
 public:
  explicit Lease(int index) : home_(homes()[index]) {
    const std::lock_guard lock(home_.mutex);
    if (home_.sessions.empty()) return;
    session_ = std::move(home_.sessions.back()), home_.sessions.pop_back();
  }
  ~Lease() {
    const std::lock_guard lock(home_.mutex);
    home_.sessions.push_back(std::move(session_));
  }
  Lease(const Lease&) = delete;
  Failed open(cudaStream_t stream) {
    if (!session_) session_ = std::make_unique<Session>();
    if (!session_->handle) {
      if (Failed f = failed(cudnn().cudnnCreate(&session_->handle), "a handle")) return f;
    } else if (session_->stream == stream) {
      return nullptr;
    }
    session_->stream = stream;
    return failed(cudnn().cudnnSetStream(session_->handle, stream), "the stream");
  }
  Session& operator*() const { return *session_; }

 private:
  struct Home {
    std::mutex mutex;
    std::vector<std::unique_ptr<Session>> sessions;
  };
  static Home* homes() {  // never destroyed: the driver may be gone by then
    static Home* const all = new Home[kDevices];
    return all;
  }
  Home& home_;
  std::unique_ptr<Session> session_;
};

}  // namespace neura::cuda
