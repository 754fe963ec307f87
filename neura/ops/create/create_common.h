// Shared by the functions that create tensors.
#pragma once
#include "neura/op/apply.h"
#include "neura/ops/create/create.h"

namespace neura {

inline void check_sizes(const char* op, const Shape& size) {
  for (std::int64_t s : size)
    check<ShapeError>(s >= 0, [&] { return std::string(op) + ": expected sizes of at least 0, got " + size.str(); });
}
inline Tensor finished(Tensor t, const TensorOptions& o) {
  if (o.requires_grad) t.requires_grad_();
  return t;
}

}  // namespace neura
