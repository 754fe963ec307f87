// A mark in a stream's work: others wait for it, and two of them tell the time between.
#pragma once
#include <memory>

#include "neura/cuda/device.h"

namespace neura::cuda {

class Stream;

struct EventOptions {
  bool enable_timing = false;
  bool blocking = false;  // who waits for it sleeps instead of asking again and again
};

// Copies are the same event. It belongs to the device of the stream that first records it; until then it is done.
class Event {
 public:
  explicit Event(EventOptions o = {});
  void record();  // on this thread's current stream
  void record(const Stream&);
  bool query() const;  // is all done that stood before it?
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
