// Pooling by p-norms, and the inverse of max pooling: over the last one, two or three dimensions of [N, C, spatial..]
// or [C, spatial..].
#pragma once
#include "neura/core/arguments.h"
#include "neura/ops/spatial/pool.h"

namespace neura {

struct LpPoolOptions {
  PerDim stride = {};  // empty: the kernel's size
  bool ceil_mode = false;
  NEURA_ARGUMENTS(stride, ceil_mode)
};
// (the sum of x^p under each window)^(1/p).
Tensor lp_pool1d(const Tensor& input, double norm_type, const PerDim& kernel_size, const LpPoolOptions& = {});
Tensor lp_pool2d(const Tensor& input, double norm_type, const PerDim& kernel_size, const LpPoolOptions& = {});
Tensor lp_pool3d(const Tensor& input, double norm_type, const PerDim& kernel_size, const LpPoolOptions& = {});

struct MaxUnpoolOptions {
  PerDim stride = {};  // empty: the kernel's size
  PerDim padding = 0;
  Shape output_size = {};  // of the spatial dimensions or of all; empty: what the other options give
};
// Each value at its place, as max_poolNd_with_indices gives them, and 0 elsewhere. ValueError for an output_size that
// such a pooling could not have come from; IndexError for a place outside of it.
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const PerDim& kernel_size,
                    const MaxUnpoolOptions& = {});
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const PerDim& kernel_size,
                    const MaxUnpoolOptions& = {});
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const PerDim& kernel_size,
                    const MaxUnpoolOptions& = {});

}  // namespace neura
