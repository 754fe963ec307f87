// DLPack's tensors, in and out.
#pragma once
#include <cstdint>

#include "neura/capi/model.h"
#include "neura/capi/neura.h"

namespace neura::capi {

DLDataType dlpack_of(DType);
// A tensor over the caller's memory, for one call; a copy where that memory is not aligned to its elements. ValueError,
// DTypeError, ShapeError, DeviceError for what does not fit the port.
Tensor borrowed(const DLTensor*, const Port&);
// A struct that holds the tensor, whose rows are contiguous and whose memory is not shared: a copy of
// what is not so.
DLManagedTensorVersioned* given_out(Tensor);
std::int64_t live_tensors();

}  // namespace neura::capi
