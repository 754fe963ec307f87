// Copies within a device that change no bits.
#pragma once
#include <cuda_runtime_api.h>

#include "neura/backend/plan.h"

namespace neura::cuda {

// Launches the copy of the plan's operand 1 to 0, if it has a kernel for their strides.
bool copy_bits(const Plan&, cudaStream_t);

}  // namespace neura::cuda
