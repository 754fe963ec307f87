#include "neura/backend/cuda/runtime/memory.h"

#include <algorithm>
#include <utility>

#include "neura/backend/cuda/runtime/capture.h"
#include "neura/backend/cuda/runtime/memory_pool.h"

namespace neura::cuda::memory {
namespace {

constexpr std::size_t kGrain = 512;                   // blocks are multiples of it
constexpr std::size_t kSmall = std::size_t{1} << 20;  // up to here blocks share segments of 2 MiB
constexpr std::size_t kSmallSegment = std::size_t{2} << 20, kMiddle = std::size_t{10} << 20,
                      kMiddleSegment = std::size_t{20} << 20;

thread_local std::uint64_t pool_in_use[kDevices] = {};

std::size_t rounded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }
std::size_t segment_size(std::size_t n) {
  return n <= kSmall ? kSmallSegment : n <= kMiddle ? kMiddleSegment : rounded(n, kSmallSegment);
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
  b->used = false;
  Free& free = p.free[{b->pool, b->stream, b->small}];
  if (b->behind && !b->behind->used) free.erase(b->behind), join(b, b->behind);
  if (b->before && !b->before->used) {
    Block* left = b->before;
    free.erase(left), join(left, b), b = left;
  }
  free.insert(b);
}
// The ends of the streams that use a released block, which is free when all are reached.
void mark_end(Pool& p, Block* b) {
  for (cudaStream_t s : std::exchange(b->others, {})) {
    cudaEvent_t event = nullptr;
    cudaError_t e = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (e == cudaSuccess) e = cudaEventRecord(event, s);
    if (e == cudaSuccess) {
      p.waiting.push_back({event, b}), ++b->pending;
      continue;
    }
    cudaGetLastError();
    if (event) discard(cudaEventDestroy(event));
    discard(cudaStreamSynchronize(s));  // where the end cannot be marked, it is waited for
  }
  if (b->pending) p.counts.waiting += b->size;
  else put_back(p, b);
}
// Those whose last use has ended; all of them if `wait`.
void collect(Pool& p, bool wait) {
  for (Block* b : std::exchange(p.captured, {})) p.counts.waiting -= b->size, mark_end(p, b);
  std::erase_if(p.waiting, [&](const Waiting& w) {
    const cudaError_t e = wait ? cudaEventSynchronize(w.event) : cudaEventQuery(w.event);
    if (e != cudaSuccess) cudaGetLastError();
    if (e == cudaErrorNotReady) return false;
    discard(cudaEventDestroy(w.event));
    if (!--w.block->pending) p.counts.waiting -= w.block->size, put_back(p, w.block);
    return true;
  });
}
bool held(const Pool& p, std::uint64_t pool) { return pool && p.graphs.count(pool); }
// Takes whole segments that no graph uses out of the lists.
template <class Fn> void each_free_segment(Pool& p, Fn&& fn) {
  for (auto& [key, free] : p.free) {
    if (held(p, std::get<0>(key))) continue;
    std::erase_if(free, [&](Block* b) { return !b->before && !b->behind && fn(b); });
  }
  std::erase_if(p.free, [](const auto& list) { return list.second.empty(); });
}
Failed trim(Pool& p, int index) {  // segments that are free as a whole go back to the device
  if (captures(index)) return nullptr;
  collect(p, true);
  NEURA_CUDA_TRY(cudaDeviceSynchronize(), "empty_cache");
  each_free_segment(p, [&](Block* b) {
    discard(cudaFree(b->data));
    reserve(p, -std::ptrdiff_t(b->size)), ++p.counts.given;
    delete b;
    return true;
  });
  return nullptr;
}

Block* take_free(Pool& p, std::uint64_t pool, cudaStream_t stream, std::size_t size) {
  const auto list = p.free.find({pool, stream, size <= kSmall});
  if (list == p.free.end()) return nullptr;
  Block wanted{nullptr, size, stream, pool, false};
  const auto at = list->second.lower_bound(&wanted);
  if (at == list->second.end()) return nullptr;
  Block* b = *at;
  list->second.erase(at);
  return b;
}
Block* take_segment(Pool& p, std::uint64_t pool, cudaStream_t stream, std::size_t size) {
  const std::size_t bytes = segment_size(size);
  if (p.fraction < 1 && p.now.reserved + bytes > limit_of(p)) return nullptr;
  const RelaxedCapture relaxed;
  void* data = nullptr;
  if (cudaMalloc(&data, bytes) != cudaSuccess) return cudaGetLastError(), nullptr;
  reserve(p, std::ptrdiff_t(bytes)), ++p.counts.taken;
  return new Block{static_cast<char*>(data), bytes, stream, pool, size <= kSmall};
}
void split(Pool& p, Block* b, std::size_t size) {
  const std::size_t rest = b->size - size;
  if (rest < (b->small ? kGrain : kSmall + 1)) return;
  auto* tail = new Block{b->data + size, rest, b->stream, b->pool, b->small};
  tail->before = b, tail->behind = b->behind;
  if (tail->behind) tail->behind->before = tail;
  b->behind = tail, b->size = size;
  p.free[{b->pool, b->stream, b->small}].insert(tail);
}
Failed take(Pool& p, int index, cudaStream_t stream, std::size_t size, Block** found) {
  const std::uint64_t pool = pool_in_use[index];
  if ((*found = take_free(p, pool, stream, size))) return ++p.counts.hits, nullptr;
  ++p.counts.misses;
  if ((*found = take_segment(p, pool, stream, size))) return nullptr;
  ++p.counts.retries;
  if (Failed f = trim(p, index)) return f;
  *found = take_free(p, pool, stream, size);  // what another stream was using may have been joined to enough
  if (!*found) *found = take_segment(p, pool, stream, size);
  return nullptr;
}

}  // namespace

Pool& pool_of(int index) {
  static Pool* pools = new Pool[kDevices];  // never destroyed: tensors may outlive everything
  return pools[index];
}

Failed allocate(int index, cudaStream_t stream, std::size_t bytes, void** data, std::size_t* capacity) {
  Pool& p = pool_of(index);
  const OnDevice on(index);
  NEURA_CUDA_TRY(on.error(), "memory");
  const std::lock_guard lock(p.mutex);
  if (!(p.waiting.empty() && p.captured.empty()) && !captures(index)) collect(p, false);
  const std::size_t size = rounded(std::max(bytes, std::size_t{1}), kGrain);
  Block* b = nullptr;
  if (size >= bytes && segment_size(size) >= size)  // else near 2^64
    if (Failed f = take(p, index, stream, size, &b)) return f;
  if (!b) return ++p.counts.failures, out_of_memory(p, index, bytes);
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
  if (at == p.used.end()) return;  // it is not ours, or was released before
  Block* b = at->second;
  p.used.erase(at);
  p.now.allocated -= b->size;
  if (b->others.empty()) return put_back(p, b);
  if (captures(index)) return p.counts.waiting += b->size, p.captured.push_back(b);
  const OnDevice on(index);
  mark_end(p, b);
}

Failed used_on(int index, void* data, cudaStream_t stream) {
  Pool& p = pool_of(index);
  const std::lock_guard lock(p.mutex);
  const auto at = p.used.find(data);
  if (at == p.used.end())
    return fail(DeviceFailure::device, "expected memory that Neura allocated on cuda:%d, got other memory", index);
  Block& b = *at->second;
  if (stream != b.stream && std::find(b.others.begin(), b.others.end(), stream) == b.others.end())
    b.others.push_back(stream);
  return nullptr;
}

Failed empty(int index) {
  Pool& p = pool_of(index);
  const OnDevice on(index);
  const std::lock_guard lock(p.mutex);
  return trim(p, index);
}
Failed empty_cache() {
  for (int i = 0; i < device_count(); ++i)
    if (Failed f = empty(i)) return f;
  return nullptr;
}

void use(int index, std::uint64_t pool) { pool_in_use[index] = pool; }
void hold(int index, std::uint64_t pool) {
  Pool& p = pool_of(index);
  const std::lock_guard lock(p.mutex);
  ++p.graphs[pool];
}
void drop(int index, std::uint64_t pool) {
  Pool& p = pool_of(index);
  const OnDevice on(index);
  const std::lock_guard lock(p.mutex);
  if (--p.graphs[pool] == 0) p.graphs.erase(pool);
  if (held(p, pool) || captures(index)) return;  // during a capture no thread may wait: the next trim finds it
  if (cudaDeviceSynchronize() != cudaSuccess) return void(cudaGetLastError());
  std::vector<Block*> mine;
  each_free_segment(p, [&](Block* b) { return b->pool && (mine.push_back(b), true); });
  for (Block* b : mine) b->pool = 0, p.free[{0, b->stream, b->small}].insert(b);
}

}  // namespace neura::cuda::memory
