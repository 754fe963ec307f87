// An entry of join.cu's table that is defined in a file of its own.
#pragma once
#include "neura/backend/kernels/join.h"

namespace neura::cuda {

void arange(Context&, const EvenlySpaced&, View out);

}  // namespace neura::cuda
