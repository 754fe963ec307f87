// Pinned memory of the host: which addresses are, and which streams are copying there.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"

namespace neura::cuda {

bool pinned_at(const void* host);
void pinned_used_on(const void* host, int index, cudaStream_t);  // it is not given again before that work has ended
// With non_blocking the call returns before pinned memory is read or written.
Failed copy_bytes(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes,
                  bool non_blocking);

}  // namespace neura::cuda
