// The parts of pooling's entry.
#pragma once
#include "neura/backend/kernels/pool.h"

namespace neura::cuda {

// grid_sample.cu
void sample(Context&, View x, View grid, View y, const GridSampling&);
void sample_gradient(Context&, View g, View x, View grid, View gx, View ggrid, const GridSampling&);

}  // namespace neura::cuda
