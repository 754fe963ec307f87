// arange, an entry of the table in index/join.cu.
#pragma once
#include "neura/backend/kernels/join.h"

namespace neura::cuda {

void arange(Context&, const EvenlySpaced&, View out);

}  // namespace neura::cuda
