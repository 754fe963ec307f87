// An entry of join.cu's table that is defined in a file of its own.
#pragma once
#include "neura/backend/kernels/join.h"

namespace neura::cuda {

void lay_out(Context&, const Progression&, View out);

}  // namespace neura::cuda
