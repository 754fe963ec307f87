#include "neura/ops/create/to.h"

namespace neura {

Tensor to(const Tensor& input, const ToOptions& o) {
  const DType dtype = o.dtype.value_or(input.dtype());
  const Device device = o.device.value_or(input.device());
  if (device == input.device() && dtype == input.dtype()) return o.copy ? clone(input) : input;
  if (size_of(dtype) < size_of(input.dtype())) return to(to(input, dtype), device, o.non_blocking);
  return to(to(input, device, o.non_blocking), dtype);
}

}  // namespace neura
