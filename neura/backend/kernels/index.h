// Reading and writing by index. Indices are int32 or int64, of any strides; one outside [0, bound) is reported by
// Context::fail_index before anything is written, by gather after a part of its new out.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct ScatterReduce {  // how a value is written over another
  enum Mode : std::uint8_t { copy, add, prod, mean, amax, amin };
  Mode mode = copy;
  bool include_self = true;  // of all but copy: does the old value count?
};

struct index_kernels {
  // index_select: out[i, j, k] = x[index[i], j, k] for dim 0, and so on. x of any strides; out contiguous.
  NEURA_KERNEL(index, select, void(Context&, View x, View index, View out, int dim));
  // out[index[i]] = source[i] along `dim`, in the order of i. out contiguous; source any strides, out's dtype.
  NEURA_KERNEL(index, write, void(Context&, View out, View index, View source, int dim, ScatterReduce));
  // gather: out[i, j, k] = x[index[i, j, k], j, k] for dim 0, and so on. out contiguous, of index's shape; x of any
  // strides.
  NEURA_KERNEL(index, gather, void(Context&, View x, View index, View out, int dim));
  // scatter: out[index[i, j, k], j, k] = source[i, j, k] for dim 0, and so on. out contiguous; source at least as large
  // as index in every dimension.
  NEURA_KERNEL(index, scatter, void(Context&, View out, View index, View source, int dim, ScatterReduce));
  // Positions in a row-major array of `sizes` from one coordinate each, counted from the back where negative.
  // Coordinates have out's shape (any strides); out is int64, contiguous.
  NEURA_KERNEL(index, linear, void(Context&, const View* coordinates, const std::int64_t* sizes, int count, View out));
  // How many elements are not 0; x is contiguous.
  NEURA_KERNEL(index, count_nonzero, std::int64_t(Context&, View x));
  // Coordinates of the nonzero elements, in order; out: int64 [count_nonzero, rank], contiguous.
  NEURA_KERNEL(index, nonzero, void(Context&, View x, View out));
};

}  // namespace neura
