// Reductions. A fold is a row of tables/reduction.def; the walk around it, and what is no fold, are separate.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

enum class ReduceOp : unsigned char {
#define REDUCE(name, ...) name,
#include "neura/tables/reduction.def"
  count
};

struct reduce_kernels {
  // y = fold of x over the dimensions in `reduced` (a bit each). y has x's rank, or lacks those dimensions. Computed in
  // `computed`, to which x is converted; p, if there, holds one number of that dtype per result, or one for all,
  // which may be in the memory of the cpu.
  NEURA_KERNEL(reduce, fold, void(Context&, ReduceOp, DType computed, unsigned reduced, View x, View p, View y));
  // Largest or smallest element along `dim` of a contiguous x, and the index of the first such; either may be absent.
  NEURA_KERNEL(reduce, extreme, void(Context&, bool largest, int dim, View x, View values, View indices));
  // What var and mean need of x: y = sum of squares of the distance from the mean, divided by max(0, n - correction).
  NEURA_KERNEL(reduce, moments,
               void(Context&, double correction, bool root, unsigned reduced, View x, View y, View mean));
  NEURA_KERNEL(reduce, logsumexp, void(Context&, unsigned reduced, View x, View y));
};

}  // namespace neura
