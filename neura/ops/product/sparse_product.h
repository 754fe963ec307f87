// Products with a matrix of which only some elements are stored, row by row: row i has those from starts[i] to below
// starts[i + 1], in columns `columns`. starts [rows + 1] and columns [stored] are int64; IndexError for a column
// outside. These are below the sparse tensors (neura/sparse), which users have.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// values [stored], b [k, n] -> [rows, n].
Tensor sparse_product(const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& b);
// a [rows, k], b [columns, k] -> [stored]: the scalar product of row i of a and row j of b for each stored (i, j).
Tensor sparse_sample(const Tensor& starts, const Tensor& columns, const Tensor& a, const Tensor& b);

}  // namespace neura
