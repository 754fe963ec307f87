// Pooling over the last one, two or three dimensions of [n, channels, spatial..] or [channels, spatial..].
#pragma once
#include <array>
#include <optional>

#include "neura/core/tensor.h"
#include "neura/ops/spatial/spatial.h"

namespace neura {

struct MaxPoolOptions {
  PerDim stride = {};  // empty: the kernel's size
  PerDim padding = 0, dilation = 1;
  bool ceil_mode = false;
};
// The largest value under each window (nan counts as largest); gradients go to the first of equals.
Tensor max_pool1d(const Tensor& input, const PerDim& kernel_size, const MaxPoolOptions& options = {});
Tensor max_pool2d(const Tensor& input, const PerDim& kernel_size, const MaxPoolOptions& options = {});
Tensor max_pool3d(const Tensor& input, const PerDim& kernel_size, const MaxPoolOptions& options = {});
// The same with its place, int64, counted within the spatial dimensions of the input: {values, indices}.
std::array<Tensor, 2> max_pool1d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                              const MaxPoolOptions& options = {});
std::array<Tensor, 2> max_pool2d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                              const MaxPoolOptions& options = {});
std::array<Tensor, 2> max_pool3d_with_indices(const Tensor& input, const PerDim& kernel_size,
                                              const MaxPoolOptions& options = {});

struct AvgPoolOptions {
  PerDim stride = {};  // empty: the kernel's size
  PerDim padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<std::int64_t> divisor_override = {};  // of 2-d and 3-d pooling
};
// The mean under each window.
Tensor avg_pool1d(const Tensor& input, const PerDim& kernel_size, const AvgPoolOptions& options = {});
Tensor avg_pool2d(const Tensor& input, const PerDim& kernel_size, const AvgPoolOptions& options = {});
Tensor avg_pool3d(const Tensor& input, const PerDim& kernel_size, const AvgPoolOptions& options = {});

inline constexpr std::int64_t kKeepSize = INT64_MIN;  // an output size that is the input's (torch: None)
namespace detail {
PerDim adaptive_sizes(const std::optional<PerDim>& output_size);  // none: all are the input's. ValueError for ().
}

// Windows of such sizes that the result has `output_size`, a number for all dimensions or one each.
Tensor adaptive_avg_pool1d(const Tensor& input, const PerDim& output_size);
Tensor adaptive_avg_pool2d(const Tensor& input, const PerDim& output_size);
Tensor adaptive_avg_pool3d(const Tensor& input, const PerDim& output_size);
Tensor adaptive_max_pool1d(const Tensor& input, const PerDim& output_size);
Tensor adaptive_max_pool2d(const Tensor& input, const PerDim& output_size);
Tensor adaptive_max_pool3d(const Tensor& input, const PerDim& output_size);
std::array<Tensor, 2> adaptive_max_pool1d_with_indices(const Tensor& input, const PerDim& output_size);
std::array<Tensor, 2> adaptive_max_pool2d_with_indices(const Tensor& input, const PerDim& output_size);
std::array<Tensor, 2> adaptive_max_pool3d_with_indices(const Tensor& input, const PerDim& output_size);

}  // namespace neura
