// Kernel of dropout.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct DropoutDraw {
  std::uint64_t seed = 0, offset = 0;
  double p = 0.5;
};

struct dropout_kernels {
  // y[i] = x[i] / (1 - p) where the i-th number of the draw is at least p, otherwise 0; contiguous tensors of one
  // floating dtype. group: that many neighbouring elements share a number.
  Entry<void(Context&, View x, const DropoutDraw&, std::int64_t group, View y)> dropout;
};

}  // namespace neura
