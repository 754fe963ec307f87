// Resizing of the spatial dimensions of [N, C, spatial..].
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

struct InterpolateOptions {
  Shape size = {};                        // of the result, one number for all dimensions or one each; or else
  std::vector<double> scale_factor = {};  // result over input, likewise
  // "nearest", "nearest-exact", "linear" (one spatial dimension), "bilinear", "bicubic" (two), "trilinear" (three) or
  // "area", which is adaptive_avg_pool
  std::string_view mode = "nearest";
  std::optional<bool> align_corners = {};  // of the linear and cubic modes: the corners' centres stay; else their edges
  bool recompute_scale_factor = false;     // go by the rounded size, not by scale_factor
  bool antialias = false;                  // bilinear and bicubic: average over what shrinks, as Pillow does
};
// Floating; of bytes (uint8) also bilinear and bicubic, rounded after each dimension as torch does it.
// ValueError for options that do not go together, ShapeError where the input's dimensions do not fit the mode.
Tensor interpolate(const Tensor& input, const InterpolateOptions& options);

}  // namespace neura
