// One product of floating or complex matrices, or one batch of them, by cuBLASLt.
#pragma once
#include <complex>

#include "neura/backend/cuda/runtime/scratch.h"
#include "neura/core/dtype.h"

namespace neura::cuda {

struct LtMatrix {
  const char* data;
  bool turned;            // its columns are side by side, not its rows
  bool conjugate;         // and it is: of turned ones only
  std::int64_t ld, step;  // elements from one row (column) to the next, and to the next matrix of the batch
};
// y [batch, m, n], contiguous, = alpha * a b + beta * c + bias: c has y's layout, bias is one row. Either may be
// absent.
struct LtProduct {
  DType dtype;
  std::int64_t m, n, k, batch = 1;
  LtMatrix a, b;
  const char* c = nullptr;
  const char* bias = nullptr;
  char* y = nullptr;
  std::complex<double> alpha = 1, beta = 1;
};
// `known` is false where the library has no kernel for it; y may then have been written.
Failed multiply(int index, cudaStream_t, const LtProduct&, bool* known);
// The same where one side is a vector, of real numbers, by kernels of our own. matmul_vector.cu
bool is_vector_product(const LtProduct&);
Failed multiply_vector(int index, const LtProduct&);

}  // namespace neura::cuda
