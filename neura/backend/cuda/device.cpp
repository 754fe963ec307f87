// Devices, streams, copies: what core asks of a device.
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "neura/backend/cuda/api.h"
#include "neura/backend/cuda/memory.h"
#include "neura/backend/cuda/report.h"
#include "neura/backend/cuda/stream.h"

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
  return fail(e == cudaErrorMemoryAllocation ? DeviceFailure::memory : DeviceFailure::device, "%s: %s (%s)", what,
              cudaGetErrorString(e), cudaGetErrorName(e));
}

int device_count() {
  static const int count = [] {
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess) cudaGetLastError(), n = 0;
    return n < kDevices ? n : kDevices;
  }();
  return count;
}

namespace {

thread_local cudaStream_t chosen[kDevices] = {};

cudaStream_t own_stream(int index) {
  static std::once_flag made[kDevices];
  static cudaStream_t streams[kDevices];
  std::call_once(made[index], [&] {
    const OnDevice on(index);
    cudaStreamCreateWithFlags(&streams[index], cudaStreamNonBlocking);
  });
  return streams[index];
}

Failed info(int index, DeviceInfo* out) {
  cudaDeviceProp p;
  NEURA_CUDA_TRY(cudaGetDeviceProperties(&p, index), "device");
  std::snprintf(out->name, sizeof out->name, "%.95s", p.name);
  out->major = p.major, out->minor = p.minor, out->multiprocessors = p.multiProcessorCount,
  out->total = p.totalGlobalMem;
  NEURA_CUDA_TRY(cudaDriverGetVersion(&out->driver), "device");
  NEURA_CUDA_TRY(cudaRuntimeGetVersion(&out->runtime), "device");
  return nullptr;
}
Failed allocate(int index, std::size_t bytes, void** data, std::size_t* capacity) {
  return memory::allocate(index, current_stream(index), bytes, data, capacity);
}
Failed copy(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes) {
  if (!bytes) return nullptr;
  const int index = to_device.is_cuda() ? to_device.index : from_device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  if (to_device.is_cuda() && from_device.is_cuda() && to_device.index != from_device.index) {
    // The source's stream must have written before, and must not release while this one reads.
    cudaEvent_t event;
    {
      const OnDevice there(from_device.index);
      NEURA_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "copy");
      NEURA_CUDA_TRY(cudaEventRecord(event, current_stream(from_device.index)), "copy");
    }
    NEURA_CUDA_TRY(cudaStreamWaitEvent(stream, event), "copy");
    NEURA_CUDA_TRY(cudaEventDestroy(event), "copy");
    NEURA_CUDA_TRY(cudaMemcpyPeerAsync(to, to_device.index, from, from_device.index, bytes, stream), "copy");
    return failed(cudaStreamSynchronize(stream), "copy");
  }
  NEURA_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copy");
  if (!to_device.is_cpu()) return nullptr;
  if (Failed f = failed(cudaStreamSynchronize(stream), "copy")) return f;
  return reported(index);
}
Failed synchronize(int index) {
  const OnDevice on(index);
  if (Failed f = failed(cudaDeviceSynchronize(), "synchronize")) return f;
  return reported(index);
}

}  // namespace

cudaStream_t current_stream(int index) { return chosen[index] ? chosen[index] : own_stream(index); }
void set_stream(int index, cudaStream_t stream) { chosen[index] = stream; }
const std::uint64_t* replay_offset(int) { return nullptr; }

const DeviceApi& api() {
  static const DeviceApi table = {.count = device_count,
                                  .info = info,
                                  .allocate = allocate,
                                  .release = memory::release,
                                  .copy = copy,
                                  .synchronize = synchronize,
                                  .memory = memory::statistics,
                                  .reset_peak = memory::reset_peak,
                                  .empty_cache = memory::empty_cache};
  return table;
}

}  // namespace neura::cuda
