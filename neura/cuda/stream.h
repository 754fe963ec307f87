// Streams: queues of a device's work. Each thread has a current one for each device, and all work goes there.
#pragma once
#include "neura/cuda/event.h"

namespace neura::cuda {

// Copies are the same stream. When the last one goes, its work is finished all the same.
//
// A tensor's memory belongs to the stream on which it was made. Work on another stream must wait for it
// (wait_stream), and tells the memory (record_stream) if the tensor may be freed before that work is done.
class Stream {
 public:
  explicit Stream(Device device = current_device(), int priority = 0);  // -1 goes before 0; what is out of range is cut
  void synchronize() const;                                             // the host waits
  bool query() const;                                                   // true if all its work is done
  void wait_event(const Event& e) const { e.wait(*this); }
  void wait_stream(const Stream&) const;  // waits for the work queued on the other so far; the host does not wait
  Event record_event(EventOptions o = {}) const;
  Device device() const;
  int priority() const;
  void* handle() const;  // a cudaStream_t
  friend bool operator==(const Stream& a, const Stream& b) {
    return a.handle() == b.handle() && a.device() == b.device();
  }

 private:
  friend Stream current_stream(Device);
  friend Stream default_stream(Device);
  struct Held;
  explicit Stream(std::shared_ptr<const Held> h) : held_(std::move(h)) {}
  std::shared_ptr<const Held> held_;
};

Stream current_stream(Device = current_device());  // of this thread
Stream default_stream(Device = current_device());  // the one that threads begin with
void set_stream(const Stream&);                    // current for this thread, on its device
struct Priorities {
  int least, greatest;
};
Priorities stream_priorities(Device = current_device());  // what the device offers

class StreamGuard {  // makes a stream current for this thread, and the old one again
 public:
  explicit StreamGuard(const Stream& s) : before_(current_stream(s.device())) { set_stream(s); }
  StreamGuard(const StreamGuard&) = delete;
  ~StreamGuard() { set_stream(before_); }

 private:
  Stream before_;
};

void record_stream(const Tensor&, const Stream&);  // the tensor is used on that stream, too
// A copy there, made on the stream; from pinned memory the call returns before it is done.
Tensor to(const Tensor&, Device, const Stream&);

}  // namespace neura::cuda
