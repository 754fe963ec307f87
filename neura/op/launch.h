// The seam at kernels: what the dispatcher is about to run on a device, checked and inferred, not yet recorded. An
// observer (graph/automatic_replay.h) may leave kernels for later, and run those it has seen before as one graph.
#pragma once
#include <atomic>

#include "neura/core/state.h"
#include "neura/op/apply.h"

namespace neura {

// One for each thread. `results` are as the row infers them.
struct LaunchObserver {
  // True: the kernel will run later. Fresh results are in call.out then, without bytes; other writes are counted.
  virtual bool takes(Call&, const Spec* results) = 0;
  virtual void flush(const char* why) = 0;  // runs the kernels that wait
  virtual void boundary() = 0;              // a repeated part of a program may begin here
  virtual void forget() = 0;                // what it has learned, and the memory of that

 protected:
  ~LaunchObserver() = default;
};

namespace detail {
inline constinit std::atomic<bool> launches_are_observed{false};
using ObserverOfThread = LaunchObserver& (*)();
inline constinit ObserverOfThread launch_observer = nullptr;
}  // namespace detail

inline bool launches_observed() {
  return !kOnlyCpu && detail::launches_are_observed.load(std::memory_order_relaxed) && !(state.active & kUnobserved);
}
inline bool launches_observed(const Call& call, Device d) {
  return (d.is_cuda() || call.row->across_devices) && launches_observed();
}
inline bool launches_later(Call& call, const Spec* results, Device d) {
  return launches_observed(call, d) && detail::launch_observer().takes(call, results);
}
// Before memory of a device is read or written otherwise than by a call, and before its streams are asked.
inline void flush_launches(const char* why) {
  if (launches_observed()) detail::launch_observer().flush(why);
}
void launch_boundary();  // for other libraries, too
inline void forget_launches() {
  if (launches_observed()) detail::launch_observer().forget();
}

// Kernels run at once while it lives, unseen by the observer.
class Unobserved {
 public:
  Unobserved() : before_(state.active & kUnobserved) { state.active |= kUnobserved; }
  Unobserved(const Unobserved&) = delete;
  ~Unobserved() { state.active = (state.active & ~std::uint32_t{kUnobserved}) | before_; }

 private:
  std::uint32_t before_;
};

}  // namespace neura
