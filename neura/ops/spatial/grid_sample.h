// Images sampled at points, and the points of an affine map: what spatial transformers are made of.
#pragma once
#include <string_view>

#include "neura/core/tensor.h"

namespace neura {

struct GridSampleOptions {
  std::string_view mode = "bilinear";       // or "nearest", "bicubic" (two spatial dimensions alone)
  std::string_view padding_mode = "zeros";  // of points outside: or "border", "reflection"
  bool align_corners = false;               // -1 and 1 are the centres of the corner elements; else their outer edges
};
// input [N, C, H, W] at the points of grid [N, h, w, 2] -> [N, C, h, w]; or [N, C, D, H, W] at [N, d, h, w, 3]. A point
// is (x, y) or (x, y, z), each from -1 to 1 within the image; NaN means -1. Both of one floating dtype. ShapeError,
// DTypeError; ValueError for another word.
Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleOptions& options = {});
// The same with torch's numbers: bilinear, nearest, bicubic; zeros, border, reflection.
Tensor grid_sampler(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode, std::int64_t padding_mode,
                    bool align_corners);
Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode,
                       std::int64_t padding_mode, bool align_corners);
Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, std::int64_t interpolation_mode,
                       std::int64_t padding_mode, bool align_corners);

// The points of an image of `size` [N, C, H, W] under theta [N, 2, 3] -> [N, H, W, 2], or of [N, C, D, H, W] under
// theta [N, 3, 4] -> [N, D, H, W, 3]. ShapeError, DTypeError.
Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners = false);

}  // namespace neura
