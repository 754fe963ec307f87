#include "tests/device/host_streams.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "neura/core/memory_api.h"
#include "tests/device/host_device.h"
#include "tests/device/host_libraries.h"

namespace neura::test {

namespace {

struct Step {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};
struct Queue {
  std::deque<Step> steps;
  std::uint64_t given = 0, done = 0;
};
struct Event {
  Queue* queue = nullptr;
  std::uint64_t at = 0;
  std::chrono::steady_clock::time_point moment;
};

std::recursive_mutex lock;
constexpr int kHostDevices = 2;
Queue& own(int index) {
  static Queue* all = new Queue[kHostDevices];
  return all[index];
}
thread_local Queue* chosen[kHostDevices] = {};
Queue& current(int index) { return chosen[index] ? *chosen[index] : own(index); }
// A real device has two streams that other libraries know by a number: its default one is 1, the thread's is 2.
Queue& queue_of(void* stream) {
  static Queue* numbered = new Queue[3];
  const auto number = reinterpret_cast<std::uintptr_t>(stream);
  return number < 3 ? numbered[number] : *static_cast<Queue*>(stream);
}
std::set<Queue*>& queues() {
  static auto& all = *new std::set<Queue*>;
  return all;
}
std::map<const char*, std::size_t>& locked() {  // pinned memory
  static auto& all = *new std::map<const char*, std::size_t>;
  return all;
}
std::set<void*>& released() {  // that a copy still reads
  static auto& all = *new std::set<void*>;
  return all;
}
bool within(const void* p, const void* block, std::size_t bytes) {
  return p >= block && p < static_cast<const char*>(block) + bytes;
}

void let_go(void* data) {
  locked().erase(static_cast<char*>(data));
  std::free(data);
  --host_device().pinned;
}
void run(Queue& q, std::uint64_t until) {
  const std::lock_guard hold(lock);
  for (; q.done < until; ++q.done) {
    const Step s = q.steps.front();
    q.steps.pop_front();
    if (s.bytes) copy_bytes(s.to, s.from, s.bytes);
  }
  for (auto i = released().begin(); i != released().end();) {
    const std::size_t bytes = locked()[static_cast<char*>(*i)];
    const bool read = std::any_of(queues().begin(), queues().end(), [&](Queue* other) {
      return std::any_of(other->steps.begin(), other->steps.end(),
                         [&](const Step& s) { return within(s.from, *i, bytes); });
    });
    if (read) ++i;
    else let_go(*i), i = released().erase(i);
  }
}

Failed create(int, int, void** stream) {
  const std::lock_guard hold(lock);
  auto* q = new Queue;
  queues().insert(q);
  return *stream = q, nullptr;
}
void destroy(int, void* stream) {
  auto* q = static_cast<Queue*>(stream);
  const std::lock_guard hold(lock);
  run(*q, q->given);  // the queue stays, as a real one does: an event may know it
}
Failed wait(int, void* stream, void* event) {
  const auto& e = *static_cast<Event*>(event);
  if (e.queue && e.queue != &queue_of(stream)) run(*e.queue, e.at), ++host_device().waits;
  return nullptr;
}
Failed record(int, void* event, void* stream) {
  const std::lock_guard hold(lock);
  auto* q = &queue_of(stream);
  *static_cast<Event*>(event) = {q, q->given, std::chrono::steady_clock::now()};
  return nullptr;
}
Failed finish(int, void* stream) {
  auto* q = static_cast<Queue*>(stream);
  return run(*q, q->given), nullptr;
}
Failed query(int, void* stream, bool* done) {
  const std::lock_guard hold(lock);
  const auto* q = static_cast<Queue*>(stream);
  return *done = q->done == q->given, nullptr;
}
Failed query_event(int, void* event, bool* done) {
  const std::lock_guard hold(lock);
  const auto& e = *static_cast<Event*>(event);
  return *done = !e.queue || e.queue->done >= e.at, nullptr;
}
Failed finish_event(int, void* event) {
  const auto& e = *static_cast<Event*>(event);
  if (e.queue) run(*e.queue, e.at);
  return nullptr;
}

Failed elapsed(int, void* start, void* end, float* milliseconds) {
  const auto passed = static_cast<Event*>(end)->moment - static_cast<Event*>(start)->moment;
  return *milliseconds = std::chrono::duration<float, std::milli>(passed).count(), nullptr;
}

constexpr MemoryApi kMemory{.counts = [](int, MemoryCounts* c) -> Failed { return *c = {}, nullptr; },
                            .visit = [](int, void (*)(void*, const MemoryBlock&), void*) {},
                            .limit = [](int, double) -> Failed { return nullptr; },
                            .empty = [](int) -> Failed { return nullptr; },
                            .used_on = [](int, void*, void*) -> Failed { return ++host_device().shared, nullptr; }};

Failed allocate(std::size_t bytes, void** data, std::size_t* capacity) {
  const std::lock_guard hold(lock);
  *capacity = (bytes + 255) / 64 * 64 + 256;  // kernels write whole vectors
  *data = std::aligned_alloc(64, *capacity);
  locked()[static_cast<char*>(*data)] = *capacity;
  ++host_device().pinned;
  return nullptr;
}
void release(void* data) {
  const std::lock_guard hold(lock);
  released().insert(data);
  run(own(0), 0);
}
bool contains(const void* p) {
  const std::lock_guard hold(lock);
  auto i = locked().upper_bound(static_cast<const char*>(p));
  return i != locked().begin() && (--i, within(p, i->first, i->second));
}
Failed lock_range(void* data, std::size_t bytes) {
  static constexpr DeviceFailure again{DeviceFailure::device,
                                       "expected memory that is not pinned yet, got some that is"};
  const std::lock_guard hold(lock);
  if (contains(data)) return &again;
  return locked()[static_cast<char*>(data)] = bytes, nullptr;
}
Failed unlock_range(void* data) {
  const std::lock_guard hold(lock);
  return locked().erase(static_cast<char*>(data)), nullptr;
}
void pinned_bytes(PinnedMemory* m) {
  const std::lock_guard hold(lock);
  *m = {};
  for (const auto& [data, bytes] : locked()) m->allocated += bytes;
}
Failed copy(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes) {
  const std::lock_guard hold(lock);
  const int index = to_device.is_cpu() ? from_device.index : to_device.index;
  Queue& q = current(index);
  ++host_device().non_blocking;
  ++(from_device.is_cpu() ? host_device().to_device : host_device().from_device);
  q.steps.push_back({to, from, bytes});
  ++q.given;
  const bool late = &q != &own(index) && contains(to_device.is_cpu() ? to : from);
  if (!late) run(q, q.given);
  return nullptr;
}

}  // namespace

void finish_current(int index) {
  Queue& q = current(index);
  run(q, q.given);
}
void finish_all() {
  const std::lock_guard hold(lock);
  for (Queue* q : queues()) run(*q, q->given);
}
void forget_copies(const void* block, std::size_t bytes) {
  const std::lock_guard hold(lock);
  for (Queue* q : queues())
    for (Step& s : q->steps)
      if (within(s.to, block, bytes)) s = {};
  run(own(0), 0);  // what was read for them alone is free
}

const StreamApi& host_streams() {
  static const StreamApi table{
      .create = create,
      .destroy = destroy,
      .priorities = [](int, int* least, int* greatest) -> Failed { return *least = 0, *greatest = -5, nullptr; },
      .default_stream = [](int index) -> void* { return &own(index); },
      .current = [](int index) -> void* { return &current(index); },
      .set_current = [](int index, void* stream) { chosen[index] = static_cast<Queue*>(stream); },
      .query = query,
      .synchronize = finish,
      .wait = wait,
      .make_event = [](int, bool, bool, void** e) -> Failed { return *e = new Event, nullptr; },
      .destroy_event = [](int, void* e) { delete static_cast<Event*>(e); },
      .record = record,
      .query_event = query_event,
      .synchronize_event = finish_event,
      .elapsed = elapsed,
      .memory = &kMemory,
      .libraries = &host_libraries()};
  return table;
}
const PinnedApi& host_pinned() {
  static constexpr PinnedApi table{.allocate = allocate,
                                   .release = release,
                                   .lock = lock_range,
                                   .unlock = unlock_range,
                                   .contains = contains,
                                   .copy = copy,
                                   .memory = pinned_bytes,
                                   .empty = []() -> Failed { return ++host_device().emptied, nullptr; }};
  return table;
}

}  // namespace neura::test
