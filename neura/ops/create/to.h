// Moving and converting in one call.
#pragma once
#include <optional>

#include "neura/ops/create/copy.h"

namespace neura {

struct ToOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool copy = false;  // new memory in any case
  // Between a device and pinned memory of the host the call returns before the bytes are there: to read them on the
  // host, or to write the source, synchronise the stream first. Elsewhere it changes nothing.
  bool non_blocking = false;
};
// The same values as that dtype, there; itself where nothing is to do, unless a copy is asked for. Differentiable: the
// gradient is converted and moved back. Between devices the narrower of both dtypes is transferred.
//
// Floating to integer truncates towards zero, NaN and values out of range become an unspecified integer; integer to
// floating rounds to nearest; bool gives 0 and 1; to bool is != 0; complex to real drops the imaginary part.
Tensor to(const Tensor& input, const ToOptions&);

}  // namespace neura
