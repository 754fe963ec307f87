#include "neura/cuda/stream.h"

#include <algorithm>
#include <vector>

#include "neura/core/interpreter.h"
#include "neura/cuda/tables.h"
#include "neura/ops/create/to.h"

namespace neura::cuda {

struct Stream::Held {
  Device device;
  int priority = 0;
  void* handle = nullptr;
  bool ours = false;  // made here; else it stays when the last Stream goes
  Held(Device d, void* h) : device(d), handle(h) {}
  Held(Device d, int wanted) : device(d), ours(true) {
    const Priorities range = stream_priorities(d);
    priority = std::clamp(wanted, range.greatest, range.least);
    throw_failure(streams_of(d).create(d.index, priority, &handle), "stream");
  }
  Held(const Held&) = delete;
  ~Held() {
    if (ours) streams_of(device).destroy(device.index, handle);
  }
};

namespace {
thread_local std::vector<Stream> chosen;  // what this thread made current, one for each device: lives as long as it is
}  // namespace

Stream::Stream(Device device, int priority) : held_(std::make_shared<Held>(device, priority)) {}

void Stream::synchronize() const {
  const GilRelease unlocked(true);
  throw_failure(streams_of(device()).synchronize(device().index, handle()), "synchronize");
}
bool Stream::query() const {
  bool done = false;
  throw_failure(streams_of(device()).query(device().index, handle(), &done), "query");
  return done;
}
void Stream::wait_stream(const Stream& other) const { wait_event(other.record_event()); }
Event Stream::record_event(EventOptions o) const {
  Event e(o);
  e.record(*this);
  return e;
}
Device Stream::device() const { return held_->device; }
int Stream::priority() const { return held_->priority; }
void* Stream::handle() const { return held_->handle; }

Stream current_stream(Device d) {
  void* now = streams_of(d).current(d.index);
  for (const Stream& s : chosen)
    if (s.device() == d && s.handle() == now) return s;
  return Stream(std::make_shared<Stream::Held>(d, now));
}
Stream default_stream(Device d) {
  return Stream(std::make_shared<Stream::Held>(d, streams_of(d).default_stream(d.index)));
}
void set_stream(const Stream& s) {
  streams_of(s.device()).set_current(s.device().index, s.handle());
  for (Stream& old : chosen)
    if (old.device() == s.device()) return void(old = s);
  chosen.push_back(s);
}
Priorities stream_priorities(Device d) {
  Priorities p{};
  throw_failure(streams_of(d).priorities(d.index, &p.least, &p.greatest), "stream");
  return p;
}

void record_stream(const Tensor& t, const Stream& s) {
  check<DeviceError>(t.device() == s.device(), [&] {
    return "record_stream: expected a tensor on " + s.device().str() + ", where the stream is, got " + t.spec().str();
  });
  if (Storage* const storage = t.impl()->storage; storage->bytes)
    throw_failure(memory_of(s.device()).used_on(s.device().index, storage->data, s.handle()), "record_stream");
}
Tensor to(const Tensor& t, Device d, const Stream& s) {
  const StreamGuard on(s);
  return neura::to(t, {.device = d, .non_blocking = true});
}

}  // namespace neura::cuda
