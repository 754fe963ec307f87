#include "neura/cuda/event.h"

#include <utility>

#include "neura/core/interpreter.h"
#include "neura/cuda/stream.h"
#include "neura/cuda/tables.h"

namespace neura::cuda {

struct Event::Made {
  Device device;
  void* handle = nullptr;
  Made(Device d, EventOptions o) : device(d) {
    throw_failure(streams_of(d).make_event(d.index, o.enable_timing, o.blocking, &handle), "event");
  }
  Made(const Made&) = delete;
  ~Made() { streams_of(device).destroy_event(device.index, handle); }
};

Event::Event(EventOptions o) : options_(o) {}

void Event::record() { record(current_stream()); }
void Event::record(const Stream& s) {
  const Device d = s.device();
  if (!made_) made_ = std::make_shared<Made>(d, options_);
  check<ValueError>(made_->device == d, [&] {
    return "record: expected a stream of " + made_->device.str() + ", where the event was recorded first, got one of " +
           d.str() + "; use an event for each device";
  });
  throw_failure(streams_of(d).record(d.index, made_->handle, s.handle()), "record");
}
bool Event::query() const {
  if (!made_) return true;
  bool done = false;
  throw_failure(streams_of(made_->device).query_event(made_->device.index, made_->handle, &done), "query");
  return done;
}
void Event::synchronize() const {
  if (!made_) return;
  const GilRelease unlocked(true);
  throw_failure(streams_of(made_->device).synchronize_event(made_->device.index, made_->handle), "synchronize");
}
void Event::wait() const {
  if (made_) wait(current_stream(made_->device));
}
void Event::wait(const Stream& s) const {
  const Device d = s.device();
  if (made_) throw_failure(streams_of(d).wait(d.index, s.handle(), made_->handle), "wait");
}
double Event::elapsed_time(const Event& end) const {
  check<ValueError>(options_.enable_timing && end.options_.enable_timing, [] {
    return "elapsed_time: expected two events that measure time, got one that does not; make both with enable_timing";
  });
  check<ValueError>(made_ && end.made_, [] {
    return "elapsed_time: expected two recorded events, got one that is not; call record() on both before";
  });
  check<ValueError>(made_->device == end.made_->device, [&] {
    return "elapsed_time: expected two events of one device, got " + made_->device.str() + " and " +
           end.made_->device.str();
  });
  check<ValueError>(query() && end.query(), [] {
    return "elapsed_time: expected two events that are reached, got one that is not; synchronize() the later one first";
  });
  float milliseconds = 0;
  throw_failure(streams_of(made_->device).elapsed(made_->device.index, made_->handle, end.made_->handle, &milliseconds),
                "elapsed_time");
  return double(milliseconds);
}
void* Event::handle() const { return made_ ? made_->handle : nullptr; }

}  // namespace neura::cuda
