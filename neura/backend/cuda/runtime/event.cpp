#include "neura/backend/cuda/runtime/event.h"

#include "neura/backend/cuda/runtime/report.h"

namespace neura::cuda::event {
namespace {
cudaEvent_t as_event(void* e) { return static_cast<cudaEvent_t>(e); }
}  // namespace

Failed make(int index, bool timing, bool blocking, void** event) {
  const OnDevice on(index);
  cudaEvent_t made;
  const unsigned flags = (timing ? 0u : cudaEventDisableTiming) | (blocking ? cudaEventBlockingSync : 0u);
  NEURA_CUDA_TRY(cudaEventCreateWithFlags(&made, flags), "event");
  *event = made;
  return nullptr;
}
void destroy(int, void* event) {
  if (cudaEventDestroy(as_event(event)) != cudaSuccess) cudaGetLastError();
}
Failed record(int index, void* event, void* stream) {
  const OnDevice on(index);
  return failed(cudaEventRecord(as_event(event), static_cast<cudaStream_t>(stream)), "event");
}
Failed wait(int index, void* stream, void* event) {
  const OnDevice on(index);
  return failed(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), as_event(event), 0), "event");
}
Failed query(int index, void* event, bool* done) {
  const cudaError_t e = cudaEventQuery(as_event(event));
  *done = e == cudaSuccess;
  if (e == cudaErrorNotReady) return cudaGetLastError(), nullptr;
  return *done ? reported(index) : failed(e, "event");
}
Failed synchronize(int index, void* event) {
  if (Failed f = failed(cudaEventSynchronize(as_event(event)), "event")) return f;
  return reported(index);
}
Failed elapsed(int, void* start, void* end, float* milliseconds) {
  return failed(cudaEventElapsedTime(milliseconds, as_event(start), as_event(end)), "event");
}
Failed order(int ahead_index, cudaStream_t ahead, cudaStream_t behind) {
  void* mark = nullptr;
  if (Failed f = make(ahead_index, false, false, &mark)) return f;
  Failed f = record(ahead_index, mark, ahead);
  if (!f) f = failed(cudaStreamWaitEvent(behind, as_event(mark), 0), "event");
  destroy(ahead_index, mark);  // at once, or when it is reached
  return f;
}

}  // namespace neura::cuda::event
