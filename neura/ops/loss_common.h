// What the losses share.
#pragma once
#include "neura/ops/loss.h"

namespace neura {

Tensor reduced(const Tensor& loss, Reduction reduction);

}  // namespace neura
