// Reductions of consecutive pieces of a dimension.
#pragma once
#include <optional>
#include <string_view>

#include "neura/core/tensor.h"

namespace neura {

struct SegmentOptions {
  Tensor lengths = {}, offsets = {};   // int32 or int64, one of the two: [..., pieces], or [..., pieces + 1] from 0 on
  int axis = 0;                        // the last dimension of lengths or offsets; those before it are data's
  bool unsafe = false;                 // lengths need not add up to the size of the axis: the rest belongs to no piece
  std::optional<double> initial = {};  // what each piece starts from; the value of an empty one
};
// reduce: "sum", "mean", "max", "min" or "prod". [..., size of axis, ...] -> [..., pieces, ...], floating. The mean of
// nothing is NaN. ShapeError, ValueError for lengths that do not fit.
Tensor segment_reduce(const Tensor& data, std::string_view reduce, const SegmentOptions& options);

}  // namespace neura
