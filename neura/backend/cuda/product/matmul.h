// The parts of the product's entry.
#pragma once
#include "neura/backend/cuda/runtime/failure.h"
#include "neura/backend/kernels/matmul.h"

namespace neura::cuda {

// Operands may have any layout; integers wrap around. matmul_integer.cu
Failed multiply_integers(int index, View a, View b, View init, View y, const Product&);
// Elements from one matrix of x to the next along batch dimension d of y, to whose batch x broadcasts.
inline std::int64_t batch_step(const View& x, const View& y, int d) {
  const int j = d - (y.rank() - x.rank());
  return j < 0 || x.size(j) == 1 ? 0 : x.stride(j);
}

}  // namespace neura::cuda
