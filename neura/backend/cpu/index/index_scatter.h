// Kernels of gather and scatter, whose index has a number for every element.
#pragma once
#include "neura/backend/kernels/index.h"

namespace neura::grid_index {
void gather(Context&, View x, View index, View out, int dim);
void scatter(Context&, View out, View index, View source, int dim, ScatterReduce);
}  // namespace neura::grid_index
