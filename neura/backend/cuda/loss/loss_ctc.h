// The parts of the losses' entry that are their own file.
#pragma once
#include "neura/backend/kernels/loss.h"

namespace neura::cuda {

void ctc_loss(Context&, const CtcOperands&, std::int64_t blank, View loss, View alpha);
void ctc_loss_backward(Context&, View g, const CtcOperands&, View loss, View alpha, std::int64_t blank,
                       bool zero_infinity, View gx);

}  // namespace neura::cuda
