// Matrix products.
#pragma once
#include <complex>

#include "neura/backend/backend.h"

namespace neura {

struct Product {
  std::complex<double> alpha = 1, beta = 1;
  bool conj_a = false, conj_b = false;  // of complex operands
};

struct matmul_kernels {
  // y = alpha * a b + beta * init. y is contiguous, [batch.., m, n]; a [.., m, k] and b [.., k, n] broadcast to its
  // batch, init (which may be absent) to all of it. All of one numeric dtype.
  NEURA_KERNEL(matmul, matmul, void(Context&, View a, View b, View init, View y, const Product&));
};

}  // namespace neura
