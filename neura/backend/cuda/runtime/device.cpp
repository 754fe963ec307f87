// Devices and copies: the DeviceApi (core/device_api.h) of CUDA.
#include <cstdio>

#include "neura/backend/cuda/runtime/api.h"
#include "neura/backend/cuda/runtime/capture.h"
#include "neura/backend/cuda/runtime/event.h"
#include "neura/backend/cuda/runtime/memory.h"
#include "neura/backend/cuda/runtime/pinned.h"
#include "neura/backend/cuda/runtime/report.h"

namespace neura::cuda {

int device_count() {
  static const int count = [] {
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess) cudaGetLastError(), n = 0;
    return n < kDevices ? n : kDevices;
  }();
  return count;
}

namespace {

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
  return copy_bytes(to_device, to, from_device, from, bytes, false);
}

// The source's stream must have written before, and must not reuse the memory while this one reads.
Failed copy_between(int to_index, void* to, int from_index, const void* from, std::size_t bytes) {
  cudaStream_t here = current_stream(to_index), there = current_stream(from_index);
  if (Failed f = event::order(from_index, there, here)) return f;
  {
    const OnDevice on(to_index);
    NEURA_CUDA_TRY(cudaMemcpyPeerAsync(to, to_index, from, from_index, bytes, here), "copy");
  }
  return event::order(to_index, here, there);
}

Failed check_capture(bool to_cpu, bool locked, bool non_blocking) {
  if (!locked)
    return fail(DeviceFailure::device,
                "expected a copy from or to pinned memory while a graph is captured, got memory of the cpu that is not "
                "pinned; use pin_memory(), or copy before or after the capture");
  if (non_blocking) return nullptr;
  return fail(DeviceFailure::device,
              "expected nothing that waits for the device or reads its values while a graph is captured, got a copy %s "
              "the cpu; pass non_blocking, or copy before or after the capture",
              to_cpu ? "to" : "from");
}

}  // namespace

Failed copy_bytes(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes,
                  bool non_blocking) {
  if (!bytes) return nullptr;
  const bool to_cpu = to_device.is_cpu(), from_cpu = from_device.is_cpu();
  if (!to_cpu && !from_cpu && to_device.index != from_device.index)
    return copy_between(to_device.index, to, from_device.index, from, bytes);
  const int index = to_cpu ? from_device.index : to_device.index;
  const OnDevice on(index);
  cudaStream_t stream = current_stream(index);
  const void* const host = to_cpu ? to : from_cpu ? from : nullptr;
  const bool locked = host && pinned_at(host);
  if (host && capturing_on(index, stream))
    if (Failed f = check_capture(to_cpu, locked, non_blocking)) return f;
  NEURA_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copy");
  if (locked) pinned_used_on(host, index, stream);
  // Memory that is not pinned has been read when the call returns; pinned memory is read later, by the device.
  if (!host || (from_cpu && !locked) || (locked && non_blocking)) return nullptr;
  if (Failed f = failed(cudaStreamSynchronize(stream), "copy")) return f;
  return to_cpu ? reported(index) : nullptr;
}

const DeviceApi& api() {
  static const DeviceApi table = {.count = device_count,
                                  .info = info,
                                  .allocate = allocate,
                                  .release = memory::release,
                                  .copy = copy,
                                  .synchronize = synchronize,
                                  .memory = memory::statistics,
                                  .reset_peak = memory::reset_peak,
                                  .empty_cache = memory::empty_cache,
                                  .streams = &streams(),
                                  .pinned = &pinned(),
                                  .graphs = &graphs()};
  return table;
}

}  // namespace neura::cuda
