// self = source, converted and broadcast, as the last step of an operation that has no kernel in place. Errors and
// records bear the operation's name.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

enum class Overwriter { masked_fill, put, masked_scatter, index_put };
void check_overwrite(Overwriter, Tensor& self);  // InplaceError if self may not be written while recording
Tensor& overwrite(Overwriter, Tensor& self, const Tensor& source);

}  // namespace neura
