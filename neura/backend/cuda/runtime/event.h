// Events of this back end, as core/stream_api.h has them.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"

namespace neura::cuda::event {

Failed make(int index, bool timing, bool blocking, void** event);
void destroy(int index, void* event);
Failed record(int index, void* event, void* stream);
Failed wait(int index, void* stream, void* event);
Failed query(int index, void* event, bool* done);
Failed synchronize(int index, void* event);
Failed elapsed(int index, void* start, void* end, float* milliseconds);
// What `behind` is given from now on waits for all that `ahead` was given. They may be of two devices.
Failed order(int ahead_index, cudaStream_t ahead, cudaStream_t behind);

}  // namespace neura::cuda::event
