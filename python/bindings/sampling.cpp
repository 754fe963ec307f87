// Images sampled at points, by the names of neura.nn.functional and by torch's lower ones; fingerprints of tensors.
#include "common.h"

#include "neura/ops/grid_sample.h"
#include "neura/ops/hash.h"

namespace neura::python {

void bind_sampling(const Names& n, const Names& network);

namespace {

using T = const Tensor&;
using Flag = std::optional<bool>;

template <Tensor (*f)(T, T, std::int64_t, std::int64_t, bool)> void sampler(const Names& n, const char* name) {
  n.function(name, f, "input"_a, "grid"_a, "interpolation_mode"_a, "padding_mode"_a, "align_corners"_a,
             "neura.nn.functional.grid_sample with numbers for words: 0 bilinear, 1 nearest, 2 bicubic; "
             "0 zeros, 1 border, 2 reflection.");
}

}  // namespace

void bind_sampling(const Names& n, const Names& network) {
  network.function(
      "grid_sample",
      [](T x, T grid, const std::string& mode, const std::string& padding, Flag corners) {
        return grid_sample(x, grid, {mode, padding, corners.value_or(false)});
      },
      "input"_a, "grid"_a, "mode"_a = "bilinear", "padding_mode"_a = "zeros", "align_corners"_a = nb::none(),
      R"(The images input [N, C, H, W] at the points of grid [N, h, w, 2]: [N, C, h, w]; or [N, C, D, H, W] at
[N, d, h, w, 3]. A point is (x, y) or (x, y, z), each from -1 to 1 within the image; NaN means -1.

mode: 'bilinear', 'nearest' or, of two spatial dimensions, 'bicubic'
padding_mode: what lies outside: 'zeros', 'border' (the nearest element) or 'reflection'
align_corners: -1 and 1 mean the centres of the corner elements, not their outer edges

ShapeError where sizes do not fit, DTypeError unless both have one floating dtype, ValueError for another word.

>>> grid = neura.nn.functional.affine_grid(neura.eye(2, 3)[None], (1, 1, 2, 2))
>>> neura.nn.functional.grid_sample(neura.arange(4.0).reshape(1, 1, 2, 2), grid).flatten().tolist()
[0.0, 1.0, 2.0, 3.0])");
  network.function(
      "affine_grid",
      [](T theta, const Shape& size, Flag corners) { return affine_grid(theta, size, corners.value_or(false)); },
      "theta"_a, "size"_a, "align_corners"_a = nb::none(),
      R"(The points at which grid_sample reads an image so that it appears under the affine map theta.

theta [N, 2, 3] with size (N, C, H, W) gives [N, H, W, 2]; theta [N, 3, 4] with (N, C, D, H, W) gives [N, D, H, W, 3].
ShapeError where theta and size do not fit.)");
  sampler<grid_sampler>(n, "grid_sampler");
  sampler<grid_sampler_2d>(n, "grid_sampler_2d");
  sampler<grid_sampler_3d>(n, "grid_sampler_3d");
  n.function("affine_grid_generator", &affine_grid, "theta"_a, "size"_a, "align_corners"_a,
             "neura.nn.functional.affine_grid, by its lower name.");
  n.both(
      "hash_tensor",
      [](T x, const Dims& dim, bool keepdim, std::int64_t mode) {
        return hash_tensor(x, dim, {keepdim, mode});
      },
      "input"_a, "dim"_a = nb::none(), nb::kw_only(), "keepdim"_a = false, "mode"_a = 0,
      R"(The exclusive or of the elements' 64 bits along dim, or of all: a fingerprint that their order does not change.

Floating elements are taken as float64, whole ones as int64. The bits come as int64, where torch has uint64.
DTypeError for complex numbers.

>>> neura.hash_tensor(neura.tensor([5, 6])).item()
3)");
}

}  // namespace neura::python
