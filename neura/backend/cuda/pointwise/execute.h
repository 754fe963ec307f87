// Rows' kernels and copies on one device.
#pragma once
#include "neura/backend/backend.h"
#include "neura/backend/cuda/operands.h"

namespace neura::cuda {

Failed execute(int index, const Plan&, LineFn*, const double* attributes, int count);
Failed assign(const View& to, const View& from);
LineFn* conversion_to(DType, DType from);  // a row of one operand that only changes dtype; convert.cu

}  // namespace neura::cuda
