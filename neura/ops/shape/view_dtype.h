// A view of the bytes as numbers of another kind.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// The same bytes as elements of another dtype; the last dimension grows or shrinks with their size. No gradient flows
// through it, and it is not to be written in place where its base has one. ShapeError where sizes or strides do not
// allow it, ValueError for bytes other than 0 and 1 as bool.
Tensor view(const Tensor& input, DType dtype);

}  // namespace neura
