// Families of which CUDA has no kernels: the operations' definitions run.
#include "neura/backend/kernels/quant.h"
#include "neura/backend/kernels/sparse.h"

namespace neura::cuda {

const sparse_kernels* sparse() {
  static constexpr sparse_kernels table{.product = nullptr, .sample = nullptr};
  return &table;
}

const quant_kernels* quant() {
  static constexpr quant_kernels table{.integer_product = nullptr,
                                       .integer_pack = nullptr,
                                       .fake_quantize = nullptr,
                                       .quantize = nullptr,
                                       .requantize = nullptr,
                                       .dequantize = nullptr};
  return &table;
}

}  // namespace neura::cuda
