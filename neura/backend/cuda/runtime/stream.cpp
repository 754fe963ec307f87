// Streams: those of this thread, those that were destroyed and wait to be used again, and waiting for them.
#include "neura/backend/cuda/runtime/capture.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "neura/backend/cuda/runtime/event.h"
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/memory_pool.h"
#include "neura/backend/cuda/runtime/report.h"
#include "neura/core/stream_api.h"

namespace neura::cuda {
namespace {

thread_local cudaStream_t chosen[kDevices] = {};
std::atomic<int> recording[kDevices] = {};

cudaStream_t as_stream(void* s) { return static_cast<cudaStream_t>(s); }

// Streams are never destroyed: blocks of memory and other threads may still name them.
struct Streams {
  std::mutex mutex;
  std::vector<cudaStream_t> all;
  std::map<int, std::deque<cudaStream_t>> idle;  // by priority, the one that was destroyed first comes first
  std::map<cudaStream_t, int> priority;
};
Streams& streams_of(int index) {
  static Streams* streams = new Streams[kDevices];  // never destroyed: the driver may be gone before
  return streams[index];
}

Failed priorities(int index, int* least, int* greatest) {
  const OnDevice on(index);
  return failed(cudaDeviceGetStreamPriorityRange(least, greatest), "stream");
}
Failed create(int index, int priority, void** stream) {
  Streams& s = streams_of(index);
  const std::lock_guard lock(s.mutex);
  if (std::deque<cudaStream_t>& idle = s.idle[priority]; !idle.empty()) {
    *stream = idle.front(), idle.pop_front();
    return nullptr;
  }
  const OnDevice on(index);
  cudaStream_t made;
  NEURA_CUDA_TRY(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, priority), "stream");
  s.all.push_back(made), s.priority[made] = priority;
  *stream = made;
  return nullptr;
}
void destroy(int index, void* stream) {
  Streams& s = streams_of(index);
  const std::lock_guard lock(s.mutex);
  const auto known = s.priority.find(as_stream(stream));
  if (known != s.priority.end()) s.idle[known->second].push_back(known->first);
}
Failed query(int index, void* stream, bool* done) {
  const cudaError_t e = cudaStreamQuery(as_stream(stream));
  *done = e == cudaSuccess;
  if (e == cudaErrorNotReady) return cudaGetLastError(), nullptr;
  return *done ? reported(index) : failed(e, "stream");
}
Failed wait_for(int index, void* stream) {
  if (Failed f = refuse_wait(index, as_stream(stream))) return f;
  if (Failed f = failed(cudaStreamSynchronize(as_stream(stream)), "stream")) return f;
  return reported(index);
}

// The device as a whole cannot be waited for while a stream of it records.
Failed synchronize_others(int index) {
  Streams& s = streams_of(index);
  std::vector<cudaStream_t> all;
  {
    const std::lock_guard lock(s.mutex);
    all = s.all;
  }
  all.push_back(default_stream(index));
  for (cudaStream_t stream : all)
    if (!capturing_on(index, stream)) NEURA_CUDA_TRY(cudaStreamSynchronize(stream), "synchronize");
  return reported(index);
}

}  // namespace

cudaStream_t default_stream(int index) {
  static std::once_flag made[kDevices];
  static cudaStream_t streams[kDevices];
  std::call_once(made[index], [&] {
    const OnDevice on(index);
    // Without it, work goes to CUDA's own default stream. Whatever is wrong with the device, the next call says.
    if (cudaStreamCreateWithFlags(&streams[index], cudaStreamNonBlocking) != cudaSuccess)
      cudaGetLastError(), streams[index] = nullptr;
  });
  return streams[index];
}
cudaStream_t current_stream(int index) { return chosen[index] ? chosen[index] : default_stream(index); }
void set_stream(int index, cudaStream_t stream) { chosen[index] = stream; }

Failed synchronize(int index) {
  const OnDevice on(index);
  if (Failed f = refuse_wait(index, current_stream(index))) return f;
  if (captures(index)) return synchronize_others(index);
  if (Failed f = failed(cudaDeviceSynchronize(), "synchronize")) return f;
  return reported(index);
}

int captures(int index) { return recording[index].load(std::memory_order_relaxed); }
void count_capture(int index, int by) { recording[index] += by; }
bool capturing_on(int index, cudaStream_t stream) {
  if (!captures(index)) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) cudaGetLastError();
  return status != cudaStreamCaptureStatusNone;
}
bool capturing(int index) { return captures(index) && capturing_on(index, current_stream(index)); }
Failed refuse_wait(int index, cudaStream_t stream) {
  if (!capturing_on(index, stream)) return nullptr;
  return fail(DeviceFailure::device,
              "expected nothing that waits for the device or reads its values while a graph is captured, got a wait; "
              "call it before or after the capture");
}

const StreamApi& streams() {
  static const StreamApi table = {
      .create = create,
      .destroy = destroy,
      .priorities = priorities,
      .default_stream = [](int index) -> void* { return default_stream(index); },
      .current = [](int index) -> void* { return current_stream(index); },
      .set_current = [](int index, void* s) { set_stream(index, as_stream(s)); },
      .query = query,
      .synchronize = wait_for,
      .wait = event::wait,
      .make_event = event::make,
      .destroy_event = event::destroy,
      .record = event::record,
      .query_event = event::query,
      .synchronize_event = event::synchronize,
      .elapsed = event::elapsed,
      .memory = &memory::api(),
      .libraries = &libraries(),
  };
  return table;
}

}  // namespace neura::cuda
