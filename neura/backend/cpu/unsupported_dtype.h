// The error of a cpu kernel for a dtype that it was not compiled for.
#pragma once
#include <cstdio>
#include <memory>

#include "neura/backend/context.h"
#include "neura/core/dtype.h"

namespace neura {

// NotImplementedError of the caller; the kernel has written nothing.
[[gnu::cold, gnu::noinline]] inline void fail_dtype(Context& c, DType d) {
  thread_local const auto kept = std::make_unique<DeviceFailure>();  // not in the block that a library has per thread
  DeviceFailure& failure = *kept;
  failure.kind = DeviceFailure::absent;
  std::snprintf(failure.text, sizeof failure.text,
                "expected a dtype that the cpu has a kernel for, got %s; convert with to(dtype)", name(d));
  c.fail(&failure);
}

}  // namespace neura
