// What the allocator says: figures, the list of blocks, and why there is no memory.
#include <algorithm>
#include <cstdio>
#include <string>

#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory.h"
#include "neura/backend/cuda/runtime/memory_pool.h"
#include "neura/backend/cuda/runtime/stream.h"
#include "neura/core/size_text.h"

namespace neura::cuda::memory {
namespace {

std::string largest(const Pool& p) {  // " (the largest: 2 of 1.00 GiB, 512.00 MiB)"
  std::map<std::size_t, int, std::greater<>> sizes;
  for (const auto& [data, b] : p.used) ++sizes[b->size];
  std::string text;
  int shown = 0;
  for (const auto& [size, n] : sizes) {
    if (shown++ == 3) break;
    text += (text.empty() ? " (the largest: " : ", ") + (n > 1 ? std::to_string(n) + " of " : "") + size_text(size);
  }
  return text.empty() ? text : text + ")";
}

void visit(int index, void (*see)(void* context, const MemoryBlock&), void* context) {
  Pool& p = pool_of(index);
  std::vector<MemoryBlock> all;  // `see` may allocate, and take long
  {
    const std::lock_guard lock(p.mutex);
    std::vector<const Block*> first;
    const auto add = [&](const Block* b) {
      if (!b->before) first.push_back(b);
    };
    for (const auto& [data, b] : p.used) add(b);
    for (const auto& [key, free] : p.free) std::for_each(free.begin(), free.end(), add);
    for (const Waiting& w : p.waiting) add(w.block);
    std::for_each(p.captured.begin(), p.captured.end(), add);
    std::sort(first.begin(), first.end(), [](const Block* a, const Block* b) { return a->data < b->data; });
    first.erase(std::unique(first.begin(), first.end()), first.end());  // several streams may use one
    for (const Block* b : first)
      for (; b; b = b->behind) all.push_back({b->data, b->size, b->stream, b->pool, b->used, !b->before});
  }
  for (const MemoryBlock& b : all) see(context, b);
}
Failed counts(int index, MemoryCounts* m) {
  Pool& p = pool_of(index);
  const OnDevice on(index);
  const std::lock_guard lock(p.mutex);
  if (!p.now.total) NEURA_CUDA_TRY(cudaMemGetInfo(&p.now.free, &p.now.total), "memory");
  *m = p.counts;
  m->largest_free = 0, m->limit = limit_of(p);
  for (const auto& [key, free] : p.free)
    if (!free.empty()) m->largest_free = std::max(m->largest_free, (*free.rbegin())->size);
  return nullptr;
}
Failed set_limit(int index, double fraction) {
  Pool& p = pool_of(index);
  const OnDevice on(index);
  const std::lock_guard lock(p.mutex);
  NEURA_CUDA_TRY(cudaMemGetInfo(&p.now.free, &p.now.total), "memory");
  p.fraction = fraction;
  return nullptr;
}

}  // namespace

std::size_t limit_of(Pool& p) { return std::size_t(double(p.now.total) * p.fraction); }

Failed out_of_memory(Pool& p, int index, std::size_t bytes) {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
  const std::string limit = p.fraction < 1 ? "; this process may take " + size_text(limit_of(p)) : "";
  return fail(DeviceFailure::memory,
              "expected %s on cuda:%d, got none; %s are in tensors%s, %s more are kept in caches, %s of %s are free%s; "
              "use smaller batches, or let go of tensors",
              size_text(bytes).c_str(), index, size_text(p.now.allocated).c_str(), largest(p).c_str(),
              size_text(p.now.reserved - p.now.allocated).c_str(), size_text(free).c_str(), size_text(total).c_str(),
              limit.c_str());
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

const MemoryApi& api() {
  static const MemoryApi table = {.counts = counts,
                                  .visit = visit,
                                  .limit = set_limit,
                                  .empty = memory::empty,
                                  .used_on = [](int index, void* data, void* stream) {
                                    return used_on(index, data, static_cast<cudaStream_t>(stream));
                                  }};
  return table;
}

}  // namespace neura::cuda::memory
