#include "neura/backend/cuda/runtime/failure.h"

#include <cstdarg>
#include <cstdio>

namespace neura::cuda {

Failed fail(DeviceFailure::Kind kind, const char* format, ...) {
  thread_local DeviceFailure failure;
  failure.kind = kind;
  va_list list;
  va_start(list, format);
  std::vsnprintf(failure.text, sizeof failure.text, format, list);
  va_end(list);
  return &failure;
}
Failed failed(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return nullptr;
  cudaGetLastError();  // else the next call reports it again
  if (e >= cudaErrorStreamCaptureUnsupported && e <= cudaErrorCapturedEvent)
    return fail(DeviceFailure::device,
                "%s: expected only what a graph can capture, got a call that it cannot (%s); make it before or after "
                "the capture",
                what, cudaGetErrorString(e));
  return fail(e == cudaErrorMemoryAllocation ? DeviceFailure::memory : DeviceFailure::device, "%s: %s (%s)", what,
              cudaGetErrorString(e), cudaGetErrorName(e));
}

void discard(cudaError_t e) {
  if (e != cudaSuccess) cudaGetLastError();
}

}  // namespace neura::cuda
