// Order along `dim` of a contiguous x. NaN is the greatest; equal elements keep their order.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

enum class Selection : unsigned char {
  smallest,   // in ascending order, as many as the results have room for: all are a sort
  largest,    // in descending order
  kth,        // the k-th smallest, counted from 0
  median,     // the lower middle one, or the first NaN
  nanmedian,  // of those that are no NaN
  mode,       // the most frequent, the smallest such, its last index
};

struct sort_kernels {
  // Values and indices have one shape; either may have no data, and is then not written.
  Entry<void(Context&, Selection, int dim, std::int64_t k, View x, View values, View indices)> select;
  // indices: the order in which the rows of a contiguous matrix ascend, compared from their first elements on
  Entry<void(Context&, View x, View indices)> rows;
  // y[i] = how many elements of i's sequence come before value i (right: or equal it). sequence: [n] or [outer, n],
  // values: of outer * m elements; both float32, float64 or int64, contiguous. y: int64 or int32
  Entry<void(Context&, bool right, View sequence, View values, View y)> search;
};

}  // namespace neura
