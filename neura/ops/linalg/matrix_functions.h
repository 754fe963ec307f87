// Functions of square matrices and norms of matrices. Leading dimensions are batches. Powers and the exponential:
// product/functions.h.
#pragma once
#include <optional>

#include "neura/ops/product/functions.h"

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

}  // namespace neura
