#include "neura/backend/cuda/runtime/report.h"

#include <cstdio>
#include <cstring>
#include <mutex>

#include "neura/backend/cuda/runtime/capture.h"
#include "neura/backend/cuda/runtime/launch.h"
#include "neura/core/settings.h"

namespace neura::cuda {
namespace {

struct Slot {
  std::mutex mutex;
  unsigned* taken = nullptr;
  Found* found = nullptr;
};
Slot& slot_of(int index) {
  static Slot* slots = new Slot[kDevices];  // never destroyed: the driver may be gone before
  return slots[index];
}
Failed open(Slot& s) {
  void *taken, *found;
  NEURA_CUDA_TRY(cudaMalloc(&taken, sizeof *s.taken), "index");
  NEURA_CUDA_TRY(cudaMemset(taken, 0, sizeof *s.taken), "index");
  NEURA_CUDA_TRY(cudaHostAlloc(&found, sizeof(Found), cudaHostAllocMapped | cudaHostAllocPortable), "index");
  s.taken = static_cast<unsigned*>(taken), s.found = new (found) Found{0, 0, nullptr, 0};
  return nullptr;
}

}  // namespace

Failed reporter_of(Context& c, Reporter* r) {
  Slot& s = slot_of(c.device.index);
  const std::lock_guard lock(s.mutex);
  if (!s.found)
    if (Failed f = open(s)) return f;
  *r = {s.taken, s.found, c.op};
  return nullptr;
}

Failed reported(int index) {
  Slot& s = slot_of(index);
  if (!s.found || !s.found->there) return nullptr;
  const std::lock_guard lock(s.mutex);
  if (!s.found->there) return nullptr;  // told to another thread
  thread_local DeviceFailure failure;
  failure.kind = DeviceFailure::index;
  if (std::strchr(s.found->op, ' ')) {  // no name, but a sentence: see ops/reduce/expect.h
    failure.op[0] = '\0';
    std::snprintf(failure.text, sizeof failure.text, "%s", s.found->op);
  } else {
    std::snprintf(failure.op, sizeof failure.op, "%s", s.found->op);
    std::snprintf(failure.text, sizeof failure.text, "expected indices from 0 to %lld, got %lld",
                  static_cast<long long>(s.found->bound - 1), static_cast<long long>(s.found->value));
  }
  s.found->there = 0;
  const OnDevice on(index);
  NEURA_CUDA_TRY(cudaMemsetAsync(s.taken, 0, sizeof *s.taken, current_stream(index)), "index");
  return &failure;
}

Failed launched(int index) {
  static const bool blocking = setting_on(Setting::cuda_launch_blocking, false);
  if (Failed f = not_started()) return f;
  if (Failed f = failed(cudaGetLastError(), "launch")) return f;
  if (!blocking || capturing(index)) return nullptr;
  if (Failed f = failed(cudaStreamSynchronize(current_stream(index)), "launch")) return f;
  return reported(index);
}

}  // namespace neura::cuda
