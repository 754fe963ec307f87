// Whether float32 may be rounded to TF32, for tensor cores, as this process has it now (core/precision.h).
#pragma once

namespace neura::cuda {

bool matmul_may_use_tf32();       // products of matrices: not unless asked for
bool convolution_may_use_tf32();  // cuDNN's convolutions: at first they may

}  // namespace neura::cuda
