// Whether float32 may be rounded to TF32, for tensor cores, and sums may have any order, as this process has it now
// (core/precision.h).
#pragma once

namespace neura::cuda {

bool matmul_may_use_tf32();       // products of matrices: not unless asked for
bool convolution_may_use_tf32();  // cuDNN's convolutions: at first they may
bool deterministic_algorithms();  // the same result each time, where threads could come in any order: not unless asked

}  // namespace neura::cuda
