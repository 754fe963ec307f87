// arange, an entry of the table in copy.cu.
#pragma once
#include "neura/backend/kernels/create.h"

namespace neura::cuda {

void arange(Context&, const EvenlySpaced&, View out);

}  // namespace neura::cuda
