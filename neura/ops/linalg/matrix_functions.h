// Functions of square matrices and norms of matrices. Leading dimensions are batches.
#pragma once
#include <optional>

#include "neura/core/tensor.h"

namespace neura {

struct MatrixNormOptions {
  // None: Frobenius; 1, -1: the largest, the smallest sum of a column; infinity, -infinity: of a row; 2, -2: the
  // largest, the smallest singular value.
  std::optional<double> ord = {};
  Dims dim = {-2, -1};  // of rows and columns
  bool keepdim = false;
  std::optional<DType> dtype = {};
};
// Floating or complex; the result is real. The nuclear norm: linalg::nuclear_norm.
Tensor matrix_norm(const Tensor& input, const MatrixNormOptions& = {});
// The n-th power; the identity for 0; of the inverse where n is negative (LinAlgError where there is none).
Tensor matrix_power(const Tensor& input, std::int64_t n);
// The sum of input^k / k! over k = 0, 1, …, by Taylor's polynomial of input / 2^s, squared s times.
Tensor matrix_exp(const Tensor& input);

}  // namespace neura
