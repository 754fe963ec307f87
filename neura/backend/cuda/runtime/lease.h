// What only one thread may use at a time, such as a library's handle: a call takes one for as long as it runs, and
// leaves it to the next.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "neura/backend/cuda/runtime/stream.h"

namespace neura::cuda {

template <class Session> class Lease {
 public:
  explicit Lease(int index) : home_(homes()[index]) {
    {
      const std::lock_guard lock(home_.mutex);
      if (!home_.sessions.empty()) session_ = std::move(home_.sessions.back()), home_.sessions.pop_back();
    }
    if (!session_) session_ = std::make_unique<Session>();
  }
  ~Lease() {
    const std::lock_guard lock(home_.mutex);
    home_.sessions.push_back(std::move(session_));
  }
  Lease(const Lease&) = delete;
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
