// Entries of the optimizers' table that are defined in files of their own.
#pragma once
#include "neura/backend/kernels/optim.h"

namespace neura {

void norm_of_all(Context&, std::span<const View> tensors, View norm);
void clip_all(Context&, std::span<const View> tensors, View norm, double max_norm);
void unscale_all(Context&, std::span<const View> tensors, View by, View found);

}  // namespace neura
