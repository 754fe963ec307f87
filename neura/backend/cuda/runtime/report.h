// Indices outside of their range, found by kernels: the next call that waits reports the first of a device.
#pragma once
#include <cuda_runtime_api.h>

#include "neura/backend/context.h"
#include "neura/backend/cuda/runtime/failure.h"

namespace neura::cuda {

struct Found {  // in the host's memory, which the device writes
  std::int64_t value, bound;
  const char* op;
  volatile int there;
};

// Passed to a kernel by value. After a report the index must not be used: nothing is read or written there.
struct Reporter {
  unsigned* taken;  // of the device: the first to set it has the right to write
  Found* found;
  const char* op;
#if defined(__CUDACC__) || defined(NEURA_LINT)
  __device__ bool check(std::int64_t value, std::int64_t bound) const {  // is it inside?
    if (value >= 0 && value < bound) return true;
    report(value, bound);
    return false;
  }
  __device__ void report(std::int64_t value, std::int64_t bound) const {
    if (atomicExch(taken, 1u)) return;
    found->value = value, found->bound = bound, found->op = op;
    __threadfence_system();
    found->there = 1;
  }
#endif
};

Failed reporter_of(Context&, Reporter*);
// After a wait: what was found, if anything; the device is then ready to find again.
Failed reported(int index);

}  // namespace neura::cuda
