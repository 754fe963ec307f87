// Max pooling over windows that begin at fractional steps (Graham, arXiv 1412.6071).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "neura/ops/spatial/pool.h"

namespace neura {

struct FractionalPoolOptions {
  PerDim output_size = {};                // of the spatial dimensions; or
  std::vector<double> output_ratio = {};  // the fraction of the input's sizes, between 0 and 1: one, or one for each
  Tensor random_samples = {};             // [N, C, spatial dimensions] in [0, 1): where windows begin; else drawn
};
namespace detail {
// The ratio of each dimension; none where there is an output_size. ValueError, with the name of what was called, unless
// one of the two is given, and ratios are between 0 and 1.
std::vector<double> output_ratios(const std::string& op, int rank, const PerDim& output_size,
                                  const std::vector<double>& output_ratio);
}  // namespace detail
// [N, C, H, W] or [C, H, W]; [N, C, D, H, W] or [C, D, H, W]. The result and the place of each value, counted through
// the input's spatial dimensions (int64). ShapeError, ValueError.
std::pair<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                                             const FractionalPoolOptions& options);
std::pair<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                                             const FractionalPoolOptions& options);

}  // namespace neura
