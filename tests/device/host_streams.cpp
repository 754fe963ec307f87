// All work of this device is done when it is queued: its streams are names, and its events are moments.
#include "tests/device/host_streams.h"

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "neura/core/memory_api.h"

namespace neura::test {
namespace {

using Clock = std::chrono::steady_clock;
struct Event {
  Clock::time_point at;
};
constexpr int kHostDevices = 2;
char defaults[kHostDevices];
thread_local void* chosen[kHostDevices] = {};

void* current(int index) { return chosen[index] ? chosen[index] : &defaults[index]; }

constexpr MemoryApi memory{.counts = [](int, MemoryCounts* c) -> Failed { return *c = {}, nullptr; },
                           .visit = [](int, void (*)(void*, const MemoryBlock&), void*) {},
                           .limit = [](int, double) -> Failed { return nullptr; },
                           .empty = [](int) -> Failed { return nullptr; },
                           .used_on = [](int, void*, void*) -> Failed { return nullptr; }};
constexpr StreamApi streams{
    .create = [](int, int, void** s) -> Failed { return *s = new char, nullptr; },
    .destroy = [](int, void* s) { delete static_cast<char*>(s); },
    .priorities = [](int, int* least, int* greatest) -> Failed { return *least = 0, *greatest = -5, nullptr; },
    .default_stream = [](int index) -> void* { return &defaults[index]; },
    .current = current,
    .set_current = [](int index, void* s) { chosen[index] = s; },
    .query = [](int, void*, bool* done) -> Failed { return *done = true, nullptr; },
    .synchronize = [](int, void*) -> Failed { return nullptr; },
    .wait = [](int, void*, void*) -> Failed { return nullptr; },
    .make_event = [](int, bool, bool, void** e) -> Failed { return *e = new Event, nullptr; },
    .destroy_event = [](int, void* e) { delete static_cast<Event*>(e); },
    .record = [](int, void* e, void*) -> Failed { return static_cast<Event*>(e)->at = Clock::now(), nullptr; },
    .query_event = [](int, void*, bool* done) -> Failed { return *done = true, nullptr; },
    .synchronize_event = [](int, void*) -> Failed { return nullptr; },
    .elapsed = [](int, void* start, void* end, float* milliseconds) -> Failed {
      const auto passed = static_cast<Event*>(end)->at - static_cast<Event*>(start)->at;
      return *milliseconds = std::chrono::duration<float, std::milli>(passed).count(), nullptr;
    },
    .memory = &memory};

struct Blocks {
  std::mutex mutex;
  std::map<const char*, std::size_t> pinned;
  bool has(const char* at) {
    const std::lock_guard lock(mutex);
    auto behind = pinned.upper_bound(at);
    return behind != pinned.begin() && (--behind, at < behind->first + behind->second);
  }
};
Blocks& blocks() {
  static Blocks& b = *new Blocks;
  return b;
}
Failed lock(void* data, std::size_t bytes) {
  static constexpr DeviceFailure again{DeviceFailure::device,
                                       "expected memory that is not pinned yet, got some that is"};
  if (blocks().has(static_cast<char*>(data))) return &again;
  const std::lock_guard hold(blocks().mutex);
  return blocks().pinned[static_cast<char*>(data)] = bytes, nullptr;
}
Failed unlock(void* data) {
  const std::lock_guard hold(blocks().mutex);
  return blocks().pinned.erase(static_cast<char*>(data)), nullptr;
}
Failed allocate(std::size_t bytes, void** data, std::size_t* capacity) {
  *capacity = (bytes + 63) / 64 * 64 + 64;
  *data = ::operator new(*capacity, std::align_val_t(64));
  return lock(*data, *capacity);
}

}  // namespace

const StreamApi& host_streams() { return streams; }
const PinnedApi& host_pinned(Failed (*copy)(Device, void*, Device, const void*, std::size_t)) {
  static const PinnedApi table{
      .allocate = allocate,
      .release = [](void* data) { unlock(data), ::operator delete(data, std::align_val_t(64)); },
      .lock = lock,
      .unlock = unlock,
      .contains = [](const void* data) { return blocks().has(static_cast<const char*>(data)); },
      .copy = copy,
      .memory =
          [](PinnedMemory* m) {
            *m = {};
            const std::lock_guard hold(blocks().mutex);
            for (const auto& [data, bytes] : blocks().pinned) m->allocated += bytes;
          },
      .empty = []() -> Failed { return nullptr; }};
  return table;
}

}  // namespace neura::test
