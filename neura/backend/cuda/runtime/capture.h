// What streams and captures of graphs have to say to the rest of this back end.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/cuda/runtime/stream.h"

namespace neura {
struct StreamApi;
struct PinnedApi;
struct GraphApi;
struct LibraryApi;
}  // namespace neura

namespace neura::cuda {

const StreamApi& streams();
const PinnedApi& pinned();
const GraphApi& graphs();
const LibraryApi& libraries();

cudaStream_t default_stream(int index);
Failed synchronize(int index);

int captures(int index);  // of a graph, on this device, by any thread
void count_capture(int index, int by);
bool capturing(int index);  // does this thread's current stream record?
bool capturing_on(int index, cudaStream_t);
Failed refuse_wait(int index, cudaStream_t);  // why one cannot wait for it now, if it records

// Lets this thread allocate and make handles during a capture of any mode.
class RelaxedCapture {
 public:
  // Where the mode could not be changed, the calls after it say so: they fail, and so does the capture.
  RelaxedCapture() { discard(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { discard(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace neura::cuda
