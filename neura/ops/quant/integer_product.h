// Products of matrices of 8-bit integers with int32 sums, exact as long as these hold them: 66,000 terms and more.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// [m, k] x [k, n] -> int32 [m, n], of int8 or uint8 each. ShapeError, UnsupportedDTypeError.
Tensor _int_mm(const Tensor& input, const Tensor& mat2);

// The same for batches: [.., m, k] x [.., k, n] -> int32 [.., m, n]; leading dimensions broadcast. packed: undefined,
// or integer_pack(other), which saves the time to pack other for the kernel.
Tensor integer_matmul(const Tensor& input, const Tensor& other, const Tensor& packed = {});
// An int8 matrix [k, n] as integer_matmul reads it: uint8 bytes, larger than the matrix by up to 3 in k, 15 in n and 4
// bytes a column. They are for this process: their layout may change.
Tensor integer_pack(const Tensor& other);

}  // namespace neura
