#include "tests/device/host_device.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "neura/backend/kernels/attention.h"
#include "neura/backend/kernels/conv.h"
#include "neura/backend/kernels/create.h"
#include "neura/backend/kernels/dropout.h"
#include "neura/backend/kernels/embedding.h"
#include "neura/backend/kernels/fft.h"
#include "neura/backend/kernels/grid_sample.h"
#include "neura/backend/kernels/index.h"
#include "neura/backend/kernels/linalg.h"
#include "neura/backend/kernels/loss.h"
#include "neura/backend/kernels/matmul.h"
#include "neura/backend/kernels/norm.h"
#include "neura/backend/kernels/optim.h"
#include "neura/backend/kernels/pool.h"
#include "neura/backend/kernels/quant.h"
#include "neura/backend/kernels/random.h"
#include "neura/backend/kernels/recurrent.h"
#include "neura/backend/kernels/reduce.h"
#include "neura/backend/kernels/scan.h"
#include "neura/backend/kernels/softmax.h"
#include "neura/backend/kernels/sort.h"
#include "neura/backend/kernels/sparse.h"
#include "neura/backend/layout.h"
#include "neura/backend/plugin.h"
#include "neura/core/version.h"
#include "tests/device/host_streams.h"

namespace neura::test {

HostDevice& host_device() {
  static HostDevice device;
  return device;
}

namespace {

constexpr std::size_t kArena = std::size_t{64} << 20, kSlack = 256;  // kernels write whole vectors
constexpr int kDevices = 2;

// Blocks of one mapping, closed but for the time in which the device works.
class Arena {
 public:
  Arena()
      : base_(
            static_cast<char*>(mmap(nullptr, kArena, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    free_[0] = kArena;
  }
  void* take(std::size_t bytes, std::size_t& capacity) {
    std::lock_guard hold(lock_);
    capacity = (bytes + 63) / 64 * 64;
    const std::size_t size = capacity + kSlack;
    for (auto i = free_.begin(); i != free_.end(); ++i) {
      if (i->second < size) continue;
      const std::size_t at = i->first, left = i->second - size;
      free_.erase(i);
      if (left) free_[at + size] = left;
      used_[at] = size, held += capacity, peak = std::max(peak, held), ++taken;
      return base_ + at;
    }
    return nullptr;
  }
  void give(void* block) {
    std::lock_guard hold(lock_);
    const auto at = used_.find(std::size_t(static_cast<char*>(block) - base_));
    held -= at->second - kSlack;
    auto here = free_.emplace(at->first, at->second).first;
    used_.erase(at);
    if (auto next = std::next(here); next != free_.end() && here->first + here->second == next->first)
      here->second += next->second, free_.erase(next);
    if (here == free_.begin()) return;
    if (auto last = std::prev(here); last->first + last->second == here->first)
      last->second += here->second, free_.erase(here);
  }
  std::size_t size_of(void* block) {
    std::lock_guard hold(lock_);
    return used_.at(std::size_t(static_cast<char*>(block) - base_));
  }
  void open() {
    std::lock_guard hold(lock_);
    if (++inside_ == 1) mprotect(base_, kArena, PROT_READ | PROT_WRITE);
  }
  void close() {
    std::lock_guard hold(lock_);
    if (--inside_ == 0) mprotect(base_, kArena, PROT_NONE);
  }
  std::size_t held = 0, peak = 0;
  std::int64_t taken = 0;

 private:
  std::mutex lock_;
  std::map<std::size_t, std::size_t> free_, used_;  // offset: size
  char* base_;
  int inside_ = 0;
};
Arena& arena() {
  static Arena& a = *new Arena;  // never gone: tensors may outlive everything
  return a;
}
struct Working {
  Working() { arena().open(); }
  Working(const Working&) = delete;
  ~Working() { arena().close(); }
};

constexpr DeviceFailure kBroken{DeviceFailure::device,
                                "expected the device to work, got a failure that a test asked for"};

Failed allocate(int index, std::size_t bytes, void** data, std::size_t* capacity) {
  *data = host_device().memory_fails ? nullptr : arena().take(bytes, *capacity);
  if (*data) return nullptr;
  thread_local DeviceFailure failure{DeviceFailure::memory, ""};
  std::snprintf(failure.text, sizeof failure.text, "expected %zu bytes on cuda:%d, got none", bytes, index);
  return &failure;
}
Failed copy(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes) {
  for (const Device d : {to_device, from_device})
    if (d.is_cuda()) finish_current(d.index);
  if (from_device.is_cpu()) ++host_device().to_device;
  else if (to_device.is_cpu()) ++host_device().from_device;
  else ++host_device().between_devices;
  copy_bytes(to, from, bytes);
  return nullptr;
}
void release(int, void* data) {
  forget_copies(data, arena().size_of(data));
  arena().give(data);
}
Failed memory(int, DeviceMemory* m) {
  *m = {arena().held, arena().peak, arena().held, arena().peak, kArena - arena().held, kArena, arena().taken};
  return nullptr;
}
Failed about(int, DeviceInfo* i) {
  *i = {"a device for tests", 0, 0, 0, 0, 1, kArena};
  return nullptr;
}

// Rows: the cpu's line kernels; their operands may be numbers in the cpu's memory.
Failed run_row(int index, const Plan& plan, LineFn* fn, const double* attributes, int) {
  if (host_device().kernels_fail) return &kBroken;
  finish_current(index);
  const Working on;
  ++host_device().rows;
  execute(plan, fn, attributes, 1);
  return nullptr;
}
Failed convert(const View& to, const View& from) {
  if (host_device().kernels_fail) return &kBroken;
  for (const View* v : {&to, &from})
    if (v->spec->device.is_cuda()) finish_current(v->spec->device.index);
  const Working on;
  ++host_device().conversions;
  assign_on_cpu(to, from);
  return nullptr;
}

template <class Kernels> const Kernels& cpu_table();
#define KERNELS(name) \
  template <> const name##_kernels& cpu_table() { return *cpu_backend().name; }
#include "neura/backend/kernels.def"
#undef KERNELS

// Entry i of the cpu's table, with the device's memory open while it runs. What has no Context is no kernel: it answers
// the host.
template <class Kernels, std::size_t i> struct Guarded {
  template <class Fn> static const Entry<Fn>& entry() {
    return reinterpret_cast<const Entry<Fn>*>(&cpu_table<Kernels>())[i];
  }
  template <class R, class... A> constexpr operator Entry<R(Context&, A...)>() const {
    return +[](Context& c, A... a) -> R {
      if (host_device().kernels_fail) {
        c.fail(&kBroken);
        return R();
      }
      ++host_device().kernels;
      finish_current(c.device.index);
      const Working on;
      return entry<R(Context&, A...)>()(c, static_cast<A&&>(a)...);
    };
  }
  template <class R, class... A> constexpr operator Entry<R(A...)>() const {
    return +[](A... a) -> R { return entry<R(A...)>()(static_cast<A&&>(a)...); };
  }
};
template <class Kernels, std::size_t... i> constexpr Kernels guarded(std::index_sequence<i...>) {
  return {Guarded<Kernels, i>()...};
}
template <class Kernels> constexpr Kernels guarded() {
  constexpr std::size_t bytes = sizeof(Entry<void()>);
  static_assert(sizeof(Kernels) % bytes == 0);
  return guarded<Kernels>(std::make_index_sequence<sizeof(Kernels) / bytes>());
}
#define KERNELS(name) constexpr name##_kernels name = guarded<name##_kernels>();
#include "neura/backend/kernels.def"
#undef KERNELS
// It lacks these, so that definitions run in their place.
constexpr grid_sample_kernels no_grid_sample{.forward = nullptr, .backward = nullptr};
constexpr loss_kernels few_of_loss = [] {
  loss_kernels k = loss;
  k.ctc_loss = nullptr, k.ctc_loss_backward = nullptr;
  return k;
}();

const Backend& backend() {
  static const Backend table = [] {
    Backend b = cpu_backend();
    b.name = "host device", b.execute = run_row, b.assign = convert;
#define KERNELS(name) b.name = &test::name;
#include "neura/backend/kernels.def"
#undef KERNELS
    b.grid_sample = &no_grid_sample, b.loss = &few_of_loss;
    return b;
  }();
  return table;
}

const DeviceApi api{.count = [] { return kDevices; },
                    .info = about,
                    .allocate = allocate,
                    .release = release,
                    .copy = copy,
                    .synchronize = [](int) -> Failed { return finish_all(), nullptr; },
                    .memory = memory,
                    .reset_peak = [](int) { arena().peak = arena().held; },
                    .empty_cache = []() -> Failed { return ++host_device().emptied, nullptr; },
                    .streams = &host_streams(),
                    .pinned = &host_pinned()};

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  const Working on;
  std::memcpy(to, from, bytes);
}

}  // namespace neura::test

extern "C" const neura::Plugin* neura_plugin() {
  static const neura::Plugin plugin{neura::layout_of_tables(), neura::kVersion, neura::test::api,
                                    neura::test::backend(), []() -> const char* { return nullptr; }};
  return &plugin;
}
