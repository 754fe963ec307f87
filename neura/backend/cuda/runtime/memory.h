// The caching allocator of device memory. Blocks are cut from segments, kept when released, joined with free
// neighbours, and given again to the stream that released them, in whose order nothing can still be using them.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"

namespace neura::cuda::memory {

Failed allocate(int index, cudaStream_t, std::size_t bytes, void** data, std::size_t* capacity);
void release(int index, void* data);
Failed statistics(int index, DeviceMemory*);
void reset_peak(int index);
Failed empty_cache();
// A block of one stream is read or written on another: it is not given again before that work has ended.
Failed used_on(int index, void* data, cudaStream_t);

}  // namespace neura::cuda::memory
