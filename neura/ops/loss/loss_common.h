// Shared by the losses.
#pragma once
#include "neura/ops/loss/loss.h"

namespace neura {

Tensor reduced(const Tensor& loss, Reduction reduction);
// ShapeError where input and target would broadcast: [N, 1] against [N] makes N x N losses, which is a mistake. A
// single element, as in torch, is compared with all others.
void check_pair(const char* op, const Tensor& input, const Tensor& target);

}  // namespace neura
