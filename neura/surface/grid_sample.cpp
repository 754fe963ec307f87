// Images sampled at points, by the names of neura.nn.functional and by torch's lower ones.
#include "neura/ops/spatial/grid_sample.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using Word = const std::string&;
using Flag = std::optional<bool>;

void add_lower(const List& s) {
  const char* const arguments = "(input, grid, interpolation_mode, padding_mode, align_corners)";
  const char* const text =
      "nn.functional.grid_sample with integer codes: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 "
      "reflection.";
  s.add((std::string("grid_sampler") + arguments).c_str(), &grid_sampler, function, text);
  s.add((std::string("grid_sampler_2d") + arguments).c_str(), &grid_sampler_2d, function, text);
  s.add((std::string("grid_sampler_3d") + arguments).c_str(), &grid_sampler_3d, function, text);
  s.add("affine_grid_generator(theta, size, align_corners)", &affine_grid, function,
        "nn.functional.affine_grid under its internal name.");
}

}  // namespace

void add_sampling(std::deque<Function>& all) {
  add_lower(List(all, ""));
  const List s(all, "functional");
  s.add(
      "grid_sample(input, grid, mode='bilinear', padding_mode='zeros', align_corners=None)",
      [](T x, T grid, Word mode, Word padding, Flag corners) {
        return grid_sample(x, grid, {mode, padding, corners.value_or(false)});
      },
      function,
      R"(The images input [N, C, H, W] at the points of grid [N, h, w, 2]: [N, C, h, w]; or [N, C, D, H, W] at
[N, d, h, w, 3]. A point is (x, y) or (x, y, z), each from -1 to 1 within the image; NaN means -1.

mode: 'bilinear', 'nearest' or, of two spatial dimensions, 'bicubic'
padding_mode: values of points outside: 'zeros', 'border' (the nearest element) or 'reflection'
align_corners: -1 and 1 mean the centres of the corner elements, not their outer edges

ShapeError where sizes do not fit, DTypeError unless both have one floating dtype, ValueError for another word.

>>> grid = neura.nn.functional.affine_grid(neura.eye(2, 3)[None], (1, 1, 2, 2))
>>> neura.nn.functional.grid_sample(neura.arange(4.0).reshape(1, 1, 2, 2), grid).flatten().tolist()
[0.0, 1.0, 2.0, 3.0])");
  s.add(
      "affine_grid(theta, size, align_corners=None)",
      [](T theta, const Shape& size, Flag corners) { return affine_grid(theta, size, corners.value_or(false)); },
      function,
      R"(The points at which grid_sample reads an image so that it appears under the affine map theta.

theta [N, 2, 3] with size (N, C, H, W) gives [N, H, W, 2]; theta [N, 3, 4] with (N, C, D, H, W) gives [N, D, H, W, 3].
ShapeError where theta and size do not fit.)");
}

}  // namespace neura::surface
