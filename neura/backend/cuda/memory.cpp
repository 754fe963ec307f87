#include "neura/backend/cuda/memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "neura/backend/cuda/stream.h"

namespace neura::cuda::memory {
namespace {

constexpr std::size_t kGrain = 512;                   // blocks are multiples of it
constexpr std::size_t kSmall = std::size_t{1} << 20;  // up to here blocks share segments of 2 MiB
constexpr std::size_t kSmallSegment = std::size_t{2} << 20, kMiddle = std::size_t{10} << 20,
                      kMiddleSegment = std::size_t{20} << 20;

std::size_t rounded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
std::size_t segment_size(std::size_t n) {
  return n <= kSmall ? kSmallSegment : n <= kMiddle ? kMiddleSegment : rounded(n, kSmallSegment);
}

struct Block {
  char* data;
  std::size_t size;
  cudaStream_t stream;
  bool small, used = false;
  Block *before = nullptr, *behind = nullptr;  // neighbours in the segment
  std::vector<cudaStream_t> others{};          // streams that use it too
};
struct Less {
  bool operator()(const Block* a, const Block* b) const {
    return a->size != b->size ? a->size < b->size : a->data < b->data;
  }
};
using Free = std::set<Block*, Less>;
struct Waiting {  // released, but another stream may still be at work on it
  cudaEvent_t event;
  Block* block;
};

struct Pool {
  std::mutex mutex;
  std::map<std::pair<cudaStream_t, bool>, Free> free;  // by stream and smallness
  std::unordered_map<void*, Block*> used;
  std::vector<Waiting> waiting;
  DeviceMemory now{};
};
Pool& pool_of(int index) {
  static Pool* pools = new Pool[kDevices];  // never destroyed: tensors may outlive everything
  return pools[index];
}

void reserve(Pool& p, std::ptrdiff_t by) {
  p.now.reserved += std::size_t(by);
  p.now.reserved_peak = std::max(p.now.reserved_peak, p.now.reserved);
}
void join(Block* left, Block* right) {
  left->size += right->size, left->behind = right->behind;
  if (left->behind) left->behind->before = left;
  delete right;
}
void put_back(Pool& p, Block* b) {
  Free& free = p.free[{b->stream, b->small}];
  if (b->behind && !b->behind->used) free.erase(b->behind), join(b, b->behind);
  if (b->before && !b->before->used) {
    Block* left = b->before;
    free.erase(left), join(left, b), b = left;
  }
  free.insert(b);
}
// Those whose last use has ended; all of them if `wait`.
void collect(Pool& p, bool wait) {
  std::erase_if(p.waiting, [&](const Waiting& w) {
    if (wait) cudaEventSynchronize(w.event);
    else if (cudaEventQuery(w.event) != cudaSuccess) return cudaGetLastError(), false;
    cudaEventDestroy(w.event);
    if (std::none_of(p.waiting.begin(), p.waiting.end(),
                     [&](const Waiting& o) { return o.block == w.block && o.event != w.event; }))
      w.block->used = false, put_back(p, w.block);
    return true;
  });
}
Failed trim(Pool& p) {  // segments that are free as a whole go back to the device
  collect(p, true);
  NEURA_CUDA_TRY(cudaDeviceSynchronize(), "empty_cache");
  for (auto& [key, free] : p.free)
    std::erase_if(free, [&](Block* b) {
      if (b->before || b->behind) return false;
      cudaFree(b->data);
      reserve(p, -std::ptrdiff_t(b->size));
      delete b;
      return true;
    });
  return nullptr;
}

Block* take_free(Pool& p, cudaStream_t stream, std::size_t size) {
  Free& free = p.free[{stream, size <= kSmall}];
  Block wanted{nullptr, size, stream, false};
  const auto at = free.lower_bound(&wanted);
  if (at == free.end()) return nullptr;
  Block* b = *at;
  free.erase(at);
  return b;
}
Block* take_segment(Pool& p, cudaStream_t stream, std::size_t size) {
  const std::size_t bytes = segment_size(size);
  void* data = nullptr;
  if (cudaMalloc(&data, bytes) != cudaSuccess) return cudaGetLastError(), nullptr;
  reserve(p, std::ptrdiff_t(bytes));
  return new Block{static_cast<char*>(data), bytes, stream, size <= kSmall};
}
void split(Pool& p, Block* b, std::size_t size) {
  const std::size_t rest = b->size - size;
  if (rest < (b->small ? kGrain : kSmall + 1)) return;
  auto* tail = new Block{b->data + size, rest, b->stream, b->small};
  tail->before = b, tail->behind = b->behind;
  if (tail->behind) tail->behind->before = tail;
  b->behind = tail, b->size = size;
  p.free[{b->stream, b->small}].insert(tail);
}
const char* in_words(std::size_t bytes, char (&text)[32]) {
  const double n = double(bytes);
  if (bytes >= std::size_t{1} << 30) std::snprintf(text, sizeof text, "%.2f GiB", n / (1 << 30));
  else if (bytes >= std::size_t{1} << 20) std::snprintf(text, sizeof text, "%.2f MiB", n / (1 << 20));
  else std::snprintf(text, sizeof text, "%zu bytes", bytes);
  return text;
}
Failed out_of_memory(Pool& p, int index, std::size_t bytes) {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  char asked[32], held[32], kept[32], left[32], all[32];
  return fail(DeviceFailure::memory,
              "expected %s on cuda:%d, got none; %s are in tensors, %s more are kept in caches, %s of %s are free; use "
              "smaller batches, or let go of tensors",
              in_words(bytes, asked), index, in_words(p.now.allocated, held),
              in_words(p.now.reserved - p.now.allocated, kept), in_words(free, left), in_words(total, all));
}

}  // namespace

Failed allocate(int index, cudaStream_t stream, std::size_t bytes, void** data, std::size_t* capacity) {
  Pool& p = pool_of(index);
  const OnDevice on(index);
  const std::lock_guard lock(p.mutex);
  if (!p.waiting.empty()) collect(p, false);
  const std::size_t size = rounded(std::max(bytes, std::size_t{1}), kGrain);
  if (size < bytes) return out_of_memory(p, index, bytes);  // near 2^64
  Block* b = take_free(p, stream, size);
  if (!b) b = take_segment(p, stream, size);
  if (!b) {
    if (Failed f = trim(p)) return f;
    b = take_segment(p, stream, size);
  }
  if (!b) return out_of_memory(p, index, bytes);
  split(p, b, size);
  b->used = true;
  p.used.emplace(b->data, b);
  p.now.allocated += b->size, ++p.now.allocations;
  p.now.allocated_peak = std::max(p.now.allocated_peak, p.now.allocated);
  *data = b->data, *capacity = b->size;
  return nullptr;
}

void release(int index, void* data) {
  Pool& p = pool_of(index);
  const std::lock_guard lock(p.mutex);
  const auto at = p.used.find(data);
  if (at == p.used.end()) return;
  Block* b = at->second;
  p.used.erase(at);
  p.now.allocated -= b->size;
  if (b->others.empty()) {
    b->used = false;
    return put_back(p, b);
  }
  const OnDevice on(index);
  for (cudaStream_t s : std::exchange(b->others, {})) {
    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaEventRecord(event, s);
    p.waiting.push_back({event, b});
  }
}

Failed used_on(int index, void* data, cudaStream_t stream) {
  Pool& p = pool_of(index);
  const std::lock_guard lock(p.mutex);
  const auto at = p.used.find(data);
  if (at == p.used.end()) return fail(DeviceFailure::device, "record_stream: expected memory of cuda:%d", index);
  Block& b = *at->second;
  if (stream != b.stream && std::find(b.others.begin(), b.others.end(), stream) == b.others.end())
    b.others.push_back(stream);
  return nullptr;
}

Failed statistics(int index, DeviceMemory* m) {
  Pool& p = pool_of(index);
  const OnDevice on(index);
  const std::lock_guard lock(p.mutex);
  NEURA_CUDA_TRY(cudaMemGetInfo(&p.now.free, &p.now.total), "memory");
  *m = p.now;
  return nullptr;
}
void reset_peak(int index) {
  Pool& p = pool_of(index);
  const std::lock_guard lock(p.mutex);
  p.now.allocated_peak = p.now.allocated, p.now.reserved_peak = p.now.reserved;
}
Failed empty_cache() {
  for (int i = 0; i < device_count(); ++i) {
    Pool& p = pool_of(i);
    const OnDevice on(i);
    const std::lock_guard lock(p.mutex);
    if (Failed f = trim(p)) return f;
  }
  return nullptr;
}

}  // namespace neura::cuda::memory
