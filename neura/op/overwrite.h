// self = source, converted and broadcast: the last step of in-place operations that have no in-place kernel. Errors and
// records name that operation.
#pragma once
#include "neura/backend/view.h"
#include "neura/core/scalar.h"
#include "neura/core/tensor.h"

namespace neura {

enum class Overwriter { masked_fill, put, masked_scatter, index_put };
void check_overwrite(Overwriter, Tensor& self);  // InplaceError if self may not be written while recording
Tensor& overwrite(Overwriter, Tensor& self, const Tensor& source);

// Below `apply`: every element of `to`, of any device and any strides.
void fill_memory(const View& to, Scalar value);

}  // namespace neura
