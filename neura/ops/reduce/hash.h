// A fingerprint of a tensor's elements.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// The exclusive or of the elements' 64 bits along `dim` (all if empty): floating ones as float64, whole ones as int64,
// as torch does it. The bits come as uint64. 0 of nothing; the order of elements plays no part.
// DTypeError for complex numbers.
struct HashTensorOptions {
  bool keepdim = false;
  std::int64_t mode = 0;  // the only one there is; ValueError for another
};
Tensor hash_tensor(const Tensor& input, const Dims& dim = {}, const HashTensorOptions& options = {});

}  // namespace neura
