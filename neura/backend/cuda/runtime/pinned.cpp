// Locking memory costs the system a millisecond and more: blocks are kept when they are released, and given again when
// the copies that use them are done.
#include "neura/backend/cuda/runtime/pinned.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "neura/backend/cuda/runtime/capture.h"
#include "neura/core/pinned_api.h"

namespace neura::cuda {
namespace {

struct Use {
  int index;
  cudaStream_t stream;
  friend bool operator==(const Use&, const Use&) = default;
};
struct Block {
  char* data;
  std::size_t size;
  bool ours = true;  // else it was there, and was only locked
  std::vector<Use> uses{};
  int pending = 0;  // events that must be reached before it is given again
};
struct Waiting {
  cudaEvent_t event;
  Block* block;
};
struct Pool {
  std::mutex mutex;
  std::multimap<std::size_t, Block*> free;
  std::map<const char*, Block*> used;
  std::vector<Waiting> waiting;
  std::vector<Block*> captured;  // released while a graph was captured that copies there
  PinnedMemory now{};
};
Pool& pool() {
  static Pool* p = new Pool;  // never destroyed: tensors may outlive everything
  return *p;
}

// Four sizes to a doubling.
std::size_t granted(std::size_t n) {
  if (n <= 4096) return 4096;
  const std::size_t step = std::size_t{1} << (61 - __builtin_clzll(n - 1));
  return (n + step - 1) / step * step;
}

Block* find(Pool& p, const void* at) {
  auto behind = p.used.upper_bound(static_cast<const char*>(at));
  if (behind == p.used.begin()) return nullptr;
  Block* b = std::prev(behind)->second;
  return static_cast<const char*>(at) < b->data + b->size ? b : nullptr;
}
void put_back(Pool& p, Block* b) { p.free.emplace(b->size, b), p.now.kept += b->size; }
void mark_end(Pool& p, Block* b) {  // it is free when the streams that use it have come here
  for (const Use& u : std::exchange(b->uses, {})) {
    const OnDevice on(u.index);
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    if (cudaEventRecord(event, u.stream) == cudaSuccess) {
      p.waiting.push_back({event, b}), ++b->pending;
    } else {
      cudaGetLastError(), discard(cudaEventDestroy(event));
    }
  }
  if (b->pending) p.now.waiting += b->size;
  else put_back(p, b);
}
bool records(const Block& b) {
  return std::any_of(b.uses.begin(), b.uses.end(), [](const Use& u) { return captures(u.index) > 0; });
}
void collect(Pool& p, bool wait) {
  const RelaxedCapture relaxed;
  std::vector<Block*> later = std::exchange(p.captured, {});
  for (Block* b : later) {
    if (records(*b)) p.captured.push_back(b);
    else p.now.waiting -= b->size, mark_end(p, b);
  }
  std::erase_if(p.waiting, [&](const Waiting& w) {
    const cudaError_t e = wait ? cudaEventSynchronize(w.event) : cudaEventQuery(w.event);
    if (e != cudaSuccess) cudaGetLastError();
    if (e == cudaErrorNotReady) return false;
    discard(cudaEventDestroy(w.event));
    if (!--w.block->pending) p.now.waiting -= w.block->size, put_back(p, w.block);
    return true;
  });
}
void give_back(Pool& p) {
  const RelaxedCapture relaxed;
  for (auto& [size, b] : p.free) discard(cudaFreeHost(b->data)), p.now.kept -= size, delete b;
  p.free.clear();
}

Failed allocate(std::size_t bytes, void** data, std::size_t* capacity) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  if (!p.waiting.empty() || !p.captured.empty()) collect(p, false);
  const std::size_t size = granted(bytes);
  const bool possible = size >= bytes;  // else beyond 2^64
  Block* b = nullptr;
  if (const auto at = p.free.lower_bound(size); possible && at != p.free.end() && at->first / 2 <= size) {
    b = at->second, p.free.erase(at), p.now.kept -= b->size;
  } else {
    const RelaxedCapture relaxed;
    void* made = nullptr;
    cudaError_t e = possible ? cudaHostAlloc(&made, size, cudaHostAllocPortable) : cudaErrorMemoryAllocation;
    if (e == cudaErrorMemoryAllocation && possible && !p.free.empty())
      cudaGetLastError(), give_back(p), e = cudaHostAlloc(&made, size, cudaHostAllocPortable);
    if (e != cudaSuccess) cudaGetLastError();
    if (e == cudaErrorMemoryAllocation)
      return fail(
          DeviceFailure::memory,
          "expected %zu bytes of pinned memory, got none; %zu are in use; pin less, the system needs memory that "
          "is not",
          bytes, p.now.allocated);
    NEURA_CUDA_TRY(e, "pinned memory");
    b = new Block{static_cast<char*>(made), size}, ++p.now.taken;
  }
  p.used.emplace(b->data, b), p.now.allocated += b->size;
  *data = b->data, *capacity = b->size;
  return nullptr;
}

void release(void* data) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  const auto at = p.used.find(static_cast<const char*>(data));
  if (at == p.used.end() || !at->second->ours) return;
  Block* b = at->second;
  p.used.erase(at), p.now.allocated -= b->size;
  if (records(*b)) p.captured.push_back(b), p.now.waiting += b->size;
  else mark_end(p, b);
}

Failed lock(void* data, std::size_t bytes) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  const RelaxedCapture relaxed;
  const cudaError_t e = cudaHostRegister(data, bytes, cudaHostRegisterPortable);
  if (e == cudaErrorHostMemoryAlreadyRegistered) {
    cudaGetLastError();
    return fail(DeviceFailure::device, "expected memory that is not pinned yet, got some that is; use it as it is");
  }
  NEURA_CUDA_TRY(e, "pinned memory");
  p.used.emplace(static_cast<char*>(data), new Block{static_cast<char*>(data), bytes, false});
  return nullptr;
}
Failed unlock(void* data) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  const auto at = p.used.find(static_cast<const char*>(data));
  if (at == p.used.end() || at->second->ours)
    return fail(DeviceFailure::device,
                "expected the begin of memory that was pinned where it was, got another address");
  Block* b = at->second;
  for (const Use& u : b->uses)  // copies are under way
    if (!capturing_on(u.index, u.stream) && cudaStreamSynchronize(u.stream) != cudaSuccess) cudaGetLastError();
  p.used.erase(at);
  delete b;
  const RelaxedCapture relaxed;
  return failed(cudaHostUnregister(data), "pinned memory");
}

Failed empty() {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  collect(p, true), give_back(p);
  return nullptr;
}

}  // namespace

bool pinned_at(const void* host) {
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, host) != cudaSuccess) return cudaGetLastError(), false;
  return a.type == cudaMemoryTypeHost;
}
void pinned_used_on(const void* host, int index, cudaStream_t stream) {
  Pool& p = pool();
  const std::lock_guard lock(p.mutex);
  Block* b = find(p, host);  // null: pinned by another library, which knows itself
  if (b && std::find(b->uses.begin(), b->uses.end(), Use{index, stream}) == b->uses.end())
    b->uses.push_back({index, stream});
}

const PinnedApi& pinned() {
  static const PinnedApi table = {
      .allocate = allocate,
      .release = release,
      .lock = lock,
      .unlock = unlock,
      .contains = pinned_at,
      .copy = [](Device to_device, void* to, Device from_device, const void* from,
                 std::size_t bytes) { return copy_bytes(to_device, to, from_device, from, bytes, true); },
      .memory =
          [](PinnedMemory* m) {
            Pool& p = pool();
            const std::lock_guard lock(p.mutex);
            *m = p.now;
          },
      .empty = empty,
  };
  return table;
}

}  // namespace neura::cuda
