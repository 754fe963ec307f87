#include "neura/core/memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "neura/core/error.h"
#include "neura/core/interpreter.h"
#include "neura/core/memory_api.h"
#include "neura/core/memory_fast.h"

namespace neura {
[[gnu::tls_model("initial-exec")]] constinit thread_local State state;

namespace memory {
constinit ThreadCache empty{};

namespace {
constexpr std::size_t kKeep = std::size_t{2} << 30;  // bytes of released big blocks that are kept

std::uint32_t batch(int c) { return std::uint32_t(std::clamp<std::size_t>((64 << 10) / class_size(c), 1, 64)); }
std::uint32_t limit(int c) { return std::uint32_t(std::clamp<std::size_t>((1 << 20) / class_size(c), 2, 1024)); }

// Made at first use and never destroyed: threads and static objects may outlive any order of destruction.
struct Central {
  std::mutex lock[kClasses], region_lock, page_lock, cache_lock;
  void* head[kClasses] = {};
  char *region = nullptr, *region_end = nullptr;
  std::multimap<std::size_t, void*> pages;
  Pages page_bytes{};
  std::vector<ThreadCache*> caches;
  std::int64_t live[kClasses] = {};  // of threads that have ended
  std::size_t regions = 0;           // bytes that small blocks are cut from
  std::uint64_t threads = 0;

  template <class F> void each_lock(F f) {
    for (auto& l : lock) f(l);
    f(region_lock), f(page_lock), f(cache_lock);
  }
};
Central& central() {
  static Central& c = *[] {
    // A fork must not happen while another thread holds a lock: the child would wait for a thread it does not have.
    pthread_atfork([] { central().each_lock([](auto& l) { l.lock(); }); },
                   [] { central().each_lock([](auto& l) { l.unlock(); }); },
                   [] { central().each_lock([](auto& l) { l.unlock(); }); });
    return new Central;
  }();
  return c;
}

[[gnu::cold, noreturn]] void out_of_memory(std::size_t asked, std::size_t held) {
  throw OutOfMemoryError("allocate: expected " + std::to_string(asked >> 20) + " MiB from the system, which refused; " +
                         std::to_string(held >> 20) +
                         " MiB are held by tensors on the cpu; free some or use smaller batches");
}

#ifdef __EMSCRIPTEN__  // there is one memory, which only grows, and malloc's is the only way to share it
void* map_pages(std::size_t bytes) { return std::aligned_alloc(kHuge, bytes); }
void unmap_pages(void* p, std::size_t) { std::free(p); }
#else
void* map_pages(std::size_t bytes) {
  char* p =
      static_cast<char*>(mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (p == MAP_FAILED) return nullptr;
  char* aligned = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(p) + kHuge - 1) & ~(kHuge - 1));
  if (aligned != p) munmap(p, std::size_t(aligned - p));
  munmap(aligned + bytes, std::size_t(p + kHuge - aligned));
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return aligned;
}
void unmap_pages(void* p, std::size_t bytes) { munmap(p, bytes); }
#endif

void* take_pages(std::size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kHuge) out_of_memory(bytes, pages().live);  // what is rounded up must not wrap
  bytes = (bytes + kHuge - 1) & ~(kHuge - 1);
  Central& c = central();
  std::lock_guard hold(c.page_lock);
  void* p = nullptr;
  if (auto it = c.pages.find(bytes); it != c.pages.end()) {
    p = it->second, c.pages.erase(it), c.page_bytes.cached -= bytes;
  } else if (p = map_pages(bytes); !p) {
    for (auto& [size, block] : c.pages) unmap_pages(block, size);
    c.pages.clear(), c.page_bytes.cached = 0;
    if (p = map_pages(bytes); !p) out_of_memory(bytes, c.page_bytes.live);
  }
  c.page_bytes.live += bytes;
  c.page_bytes.peak = std::max(c.page_bytes.peak, c.page_bytes.live);
  return p;
}

void give_pages(void* p, std::size_t bytes) {
  bytes = (bytes + kHuge - 1) & ~(kHuge - 1);
  Central& c = central();
  std::lock_guard hold(c.page_lock);
  c.pages.emplace(bytes, p), c.page_bytes.cached += bytes, c.page_bytes.live -= bytes;
  while (c.page_bytes.cached > kKeep) {
    auto largest = std::prev(c.pages.end());
    unmap_pages(largest->second, largest->first), c.page_bytes.cached -= largest->first, c.pages.erase(largest);
  }
}

// A chain of up to n blocks: from the central list, or carved from a region of huge pages.
void* take(int c, std::uint32_t n, std::uint32_t& got) {
  Central& all = central();
  const std::size_t size = class_size(c);
  void* chain = nullptr;
  got = 0;
  {
    std::lock_guard hold(all.lock[c]);
    for (; got < n && all.head[c]; ++got) {
      void* p = fresh(all.head[c], c);
      all.head[c] = next(p), next(p) = chain, chain = poisoned(p, c);
    }
  }
  if (got) return chain;
  std::lock_guard hold(all.region_lock);
  for (; got < n; ++got) {
    if (std::size_t(all.region_end - all.region) < size) {
      if (got) break;
      all.region = static_cast<char*>(map_pages(2 * kHuge)), all.region_end = all.region + 2 * kHuge;
      all.regions += all.region ? 2 * kHuge : 0;
      if (!all.region) {
        all.region_end = nullptr;
        out_of_memory(2 * kHuge, all.page_bytes.live);
      }
    }
    void* p = all.region;
    all.region += size, next(p) = chain, chain = poisoned(p, c);
  }
  return chain;
}

void give(int c, void* chain) {
  Central& all = central();
  std::lock_guard hold(all.lock[c]);
  while (chain) {
    void* p = fresh(chain, c);
    chain = next(p), next(p) = all.head[c], all.head[c] = poisoned(p, c);
  }
}

struct CacheOwner {  // registered by the slow path, so that the hot one needs no destructor
  ThreadCache* cache = new ThreadCache;
  CacheOwner() {
    for (int c = 0; c < kClasses; ++c) cache->list[c].limit = limit(c);
    std::lock_guard hold(central().cache_lock);
    central().caches.push_back(state.cache = cache);
    state.id = ++central().threads << 40;
  }
  ~CacheOwner() {
    state.cache = &empty, state.dying = true;
    for (int c = 0; c < kClasses; ++c) give(c, cache->list[c].head);
    std::lock_guard hold(central().cache_lock);
    for (int c = 0; c < kClasses; ++c) central().live[c] += cache->list[c].live;
    std::erase(central().caches, cache);
    delete cache;
  }
};
void open_cache() {
  static thread_local CacheOwner cache_owner;
  (void)cache_owner;
}

}  // namespace

[[gnu::noinline]] void* refill(int c) {
  std::uint32_t got;
  if (state.dying) return fresh(take(c, 1, got), c);
  if (state.cache == &empty) open_cache();
  void* p = fresh(take(c, batch(c), got), c);
  FreeList& list = state.cache->list[c];
  list.head = next(p), list.count = got - 1;
  count(list, 1);
  return p;
}

[[gnu::noinline]] void spill(void* block, int c) {
  next(block) = nullptr;
  if (!state.dying && state.cache == &empty) open_cache();
  if (state.dying) return give(c, poisoned(block, c));
  FreeList& list = state.cache->list[c];
  void* chain = poisoned(block, c);
  for (std::uint32_t i = 0; i < batch(c) && list.head; ++i, --list.count) {
    void* p = fresh(list.head, c);
    list.head = next(p), next(p) = chain, chain = poisoned(p, c);
  }
  give(c, chain);
  count(list, -1);
}

void* allocate(std::size_t bytes) {
  if (bytes > kPages) [[unlikely]]
    return take_pages(bytes);
  return take_block(size_class(bytes));
}

void release(void* block, std::size_t bytes) {
  if (bytes > kPages) [[unlikely]]
    return give_pages(block, bytes);
  give_block(block, size_class(bytes));
}

void trim() {
  Central& c = central();
  std::lock_guard hold(c.page_lock);
  for (auto& [size, block] : c.pages) unmap_pages(block, size);
  c.pages.clear(), c.page_bytes.cached = 0;
}

Pages pages() {
  std::lock_guard hold(central().page_lock);
  return central().page_bytes;
}
void reset_peak() {
  std::lock_guard hold(central().page_lock);
  central().page_bytes.peak = central().page_bytes.live;
}
namespace {
template <class F> std::int64_t each_live(F of_block) {  // sums of_block(class) over the small blocks in use
  std::lock_guard hold(central().cache_lock);
  std::int64_t n = 0;
  for (int c = 0; c < kClasses; ++c) {
    std::int64_t live = central().live[c];
    for (ThreadCache* cache : central().caches) live += cache->list[c].live;
    n += live * of_block(c);
  }
  return n;
}
std::size_t regions() {
  std::lock_guard hold(central().region_lock);
  return central().regions;
}
DeviceMemory of_device(Device device) {
  DeviceMemory m{};
  throw_failure(device_api(device).memory(device.index, &m), "memory");
  return m;
}
}  // namespace

std::int64_t live_blocks() {
  return each_live([](int) { return 1; });
}
}  // namespace memory

std::size_t memory_allocated(Device device) {
  if (!device.is_cpu()) return memory::of_device(device).allocated;
  const std::int64_t small = memory::each_live([](int c) { return std::int64_t(memory::class_size(c)); });
  return memory::pages().live + std::size_t(small);
}
std::size_t memory_reserved(Device device) {
  if (!device.is_cpu()) return memory::of_device(device).reserved;
  const memory::Pages p = memory::pages();
  return p.live + p.cached + memory::regions();
}
std::size_t max_memory_allocated(Device device) {
  if (!device.is_cpu()) return memory::of_device(device).allocated_peak;
  return memory::pages().peak + memory::regions();
}
void reset_peak_memory_stats(Device device) {
  if (device.is_cpu()) return memory::reset_peak();
  device_api(device).reset_peak(device.index);
}
void empty_cache() {
  memory::trim();
  const GilRelease unlocked(true);
  if (const auto devices = detail::empty_device_caches.load()) throw_failure(devices(), "empty_cache");
}

}  // namespace neura
