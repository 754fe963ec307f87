// Products with a sparse matrix in compressed rows (CSR).
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct sparse_kernels {  // null where a back end has none: the operations' definitions run
  // A matrix of which row i stores the columns from starts[i] to below starts[i + 1]. float32 and float64, contiguous;
  // a column outside of b is reported by fail_index.
  // values [stored], b [k, n], y [rows, n]: the product.
  NEURA_KERNEL(sparse, product, void(Context&, View starts, View columns, View values, View b, View y));
  // a [rows, k], b [columns, k], y [stored]: row i of a times row j of b for each stored (i, j).
  NEURA_KERNEL(sparse, sample, void(Context&, View starts, View columns, View a, View b, View y));
};

}  // namespace neura
