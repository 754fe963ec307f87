// The patches of images as columns.
#pragma once
#include "neura/backend/kernels/conv.h"

namespace neura {

// x [n, channels, in..] of any dtype to columns [n, channels * kernel, out].
void cpu_unfold(Context&, View x, View columns, const ConvShape&);

}  // namespace neura
