// A mark in a stream's work: others wait for it, and two of them tell the time between.
#pragma once
#include <memory>

#include "neura/cuda/device.h"

namespace neura::cuda {

class Stream;

struct EventOptions {
  bool enable_timing = false;
  bool blocking = false;  // a thread that waits for it sleeps instead of polling
};

// Copies are the same event. It belongs to the device of the stream that first records it; until then it is done.
class Event {
 public:
  explicit Event(EventOptions o = {});
  void record();  // on this thread's current stream
  void record(const Stream&);
  bool query() const;  // true if all work queued before it is done
  void synchronize() const;
  void wait() const;  // this thread's current stream waits for it, not the host
  void wait(const Stream&) const;
  double elapsed_time(const Event& end) const;  // milliseconds; both recorded and done, with enable_timing
  bool recorded() const { return bool(made_); }
  void* handle() const;  // a cudaEvent_t; null until it is recorded

 private:
  struct Made;
  EventOptions options_;
  std::shared_ptr<Made> made_;
};

}  // namespace neura::cuda
