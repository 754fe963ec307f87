#include "neura/cuda/memory.h"

#include <cstdio>
#include <utility>

#include "neura/backend/plugin.h"
#include "neura/core/interpreter.h"
#include "neura/core/size_text.h"
#include "neura/cuda/tables.h"
#include "neura/op/launch.h"
#include "neura/ops/create/copy.h"

namespace neura::cuda {
namespace {

// Without CUDA nothing is pinned: a query alone does not load it.
std::atomic<bool> ever{false};

Storage* pinned_storage(std::size_t bytes) {
  const PinnedApi& api = pinned();
  void* data = nullptr;
  std::size_t capacity = 0;
  throw_failure(api.allocate(bytes, &data, &capacity), "pin_memory");
  ever.store(true, std::memory_order_relaxed);
  Storage* s = Storage::wrap(
      data, bytes, [](Storage* self) { pinned().release(self->data); }, nullptr);
  s->capacity = capacity;
  return s;
}
Tensor pinned_like(const Spec& s) {
  const std::size_t bytes = std::size_t(s.span()) * std::size_t(size_of(s.dtype));
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(s, pinned_storage(bytes))));
}

}  // namespace

MemoryStats memory_stats(Device d) {
  MemoryStats m{};
  throw_failure(device_api(d).memory(d.index, &m), "memory_stats");
  throw_failure(memory_of(d).counts(d.index, &m), "memory_stats");
  return m;
}

std::vector<MemorySegment> memory_snapshot(Device d) {
  std::vector<MemorySegment> all;
  const auto see = [](void* to, const MemoryBlock& b) {
    auto& list = *static_cast<std::vector<MemorySegment>*>(to);
    if (b.first) list.push_back({b.data, 0, 0, b.stream, b.pool, {}});
    MemorySegment& s = list.back();
    s.size += b.size, s.used += b.used ? b.size : 0;
    s.blocks.push_back({b.data, b.size, b.used});
  };
  memory_of(d).visit(d.index, see, &all);
  return all;
}

std::string memory_summary(Device d) {
  const MemoryStats m = memory_stats(d);
  std::string text = "Memory of " + d.str() + "\n";
  const auto line = [&](const char* what, const std::string& value) {
    char row[96];
    std::snprintf(row, sizeof row, "  %-34s %16s\n", what, value.c_str());
    text += row;
  };
  line("in tensors", size_text(m.allocated));
  line("  at most", size_text(m.allocated_peak));
  line("taken from the device", size_text(m.reserved));
  line("  at most", size_text(m.reserved_peak));
  line("  largest block that is free", size_text(m.largest_free));
  line("  released, still used by a stream", size_text(m.waiting));
  line("limit of this process", size_text(m.limit));
  line("free on the device", size_text(m.free));
  line("total", size_text(m.total));
  line("allocations", std::to_string(m.allocations));
  line("  from what was kept", std::to_string(m.hits));
  line("  from the device", std::to_string(m.misses));
  line("retries after giving all back", std::to_string(m.retries));
  line("  in vain", std::to_string(m.failures));
  line("segments taken, given back", std::to_string(m.taken) + ", " + std::to_string(m.given));
  return text;
}

void set_per_process_memory_fraction(double fraction, Device d) {
  check<ValueError>(fraction > 0 && fraction <= 1, [&] {
    return "set_per_process_memory_fraction: expected a fraction above 0 and at most 1, got " + Scalar(fraction).str();
  });
  throw_failure(memory_of(d).limit(d.index, fraction), "set_per_process_memory_fraction");
}
void empty_cache(Device d) {
  forget_launches();
  const GilRelease unlocked(true);
  throw_failure(memory_of(d).empty(d.index), "empty_cache");
}
void empty_cache() {
  if (!is_available()) return;
  forget_launches();
  const GilRelease unlocked(true);
  throw_failure(device_api(DeviceType::cuda).empty_cache(), "empty_cache");
  if (ever.load(std::memory_order_relaxed)) throw_failure(pinned().empty(), "empty_cache");
}

Tensor empty_pinned(const Shape& shape, DType dtype) { return pinned_like(Spec::dense(dtype, shape)); }
Tensor pin_memory(const Tensor& t) {
  check<DeviceError>(t.device().is_cpu(), [&] {
    return "pin_memory: expected a tensor on the cpu, got " + t.spec().str() + "; memory of a device needs no pinning";
  });
  if (is_pinned(t)) return t;
  Spec spec = t.spec();
  spec.offset = 0;
  Tensor there = spec.overlaps() ? empty_pinned(t.shape(), t.dtype()) : pinned_like(spec);
  there.copy_(t.detach());
  return there;
}
bool is_pinned(const Tensor& t) {
  return t.device().is_cpu() && ever.load(std::memory_order_relaxed) && pinned().contains(t.const_raw_data());
}
PinnedMemory pinned_memory() {
  PinnedMemory m{};
  if (ever.load(std::memory_order_relaxed)) pinned().memory(&m);
  return m;
}

PinnedRange::PinnedRange(void* data, std::size_t bytes) : data_(data) {
  check<ValueError>(data && bytes, [] { return "pin: expected memory, got none; pass at least one byte"; });
  throw_failure(pinned().lock(data, bytes), "pin");
  ever.store(true, std::memory_order_relaxed);
}
PinnedRange::PinnedRange(const Tensor& t)
    : PinnedRange([&] {
        check<DeviceError>(t.device().is_cpu(),
                           [&] { return "pin: expected a tensor on the cpu, got " + t.spec().str(); });
        t.impl()->storage->expose();
        return PinnedRange(t.impl()->storage->data, t.impl()->storage->bytes);
      }()) {
  kept_ = t;
}
PinnedRange::PinnedRange(PinnedRange&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), kept_(std::move(o.kept_)) {}
PinnedRange::~PinnedRange() {
  if (data_) pinned().unlock(data_);
}

}  // namespace neura::cuda
