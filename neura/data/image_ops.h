// Deterministic image operations on [..., channels, height, width], of which the transforms are made. Composed of
// operations, so that they run on every device and on batches. Names, formulas and rounding are torchvision's
// (transforms.v2.functional); integers stay integers of 0 … their largest, floats are taken as 0 … 1.
#pragma once
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::data {

void check_picture(const char* op, const Tensor& image);  // ShapeError below three dimensions or without pixels
double largest_level(DType);                              // of integers; 1 for floats
void check_probability(const char* op, double p);         // ValueError outside of [0, 1]
// Values in the dtype and on the device of `like`.
Tensor numbers_like(const std::vector<double>&, const Shape&, const Tensor& like);
// One for each channel, or one for all, in the shape that broadcasts against a picture.
Tensor per_channel(const std::vector<double>&, const Tensor& like);

// Geometry.

// "bilinear" and "bicubic", averaging over what shrinks with antialias; "nearest", "nearest-exact".
Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width, std::string_view interpolation = "bilinear",
              bool antialias = true);
// The shorter side becomes `size`; the longer one keeps the shape, and is at most max_size where that is not 0.
Tensor resize_shorter(const Tensor& image, std::int64_t size, std::string_view interpolation = "bilinear",
                      std::int64_t max_size = 0, bool antialias = true);
// A window; pixels outside of the picture are 0.
Tensor crop(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width);
Tensor center_crop(const Tensor& image, std::int64_t height, std::int64_t width);
struct Sides {
  std::int64_t left, top, right, bottom;
};
// "constant", "edge" or "reflect". Negative numbers cut off. ValueError.
Tensor pad_image(const Tensor& image, const Sides& padding, double fill = 0,
                 std::string_view padding_mode = "constant");
struct AffineOptions {
  std::string_view interpolation = "nearest";        // or "bilinear"
  std::vector<double> fill = {};                     // of pixels outside, one number or one for each channel; else 0
  std::optional<std::array<double, 2>> center = {};  // x, y in pixels; else the middle
};
// Around the centre: `shear` (x, y) and `angle` in degrees, clockwise, then `scale`, then `translate` (x, y) pixels.
Tensor affine(const Tensor& image, double angle, const std::array<double, 2>& translate, double scale,
              const std::array<double, 2>& shear, const AffineOptions& options = {});
// Counter-clockwise. `expand`: the result holds all of the picture. Multiples of 90 degrees are exact where they can
// be.
Tensor rotate(const Tensor& image, double angle, bool expand = false, const AffineOptions& options = {});
// `value` [channels or 1, height or 1, width or 1] in the place of a window.
Tensor erase(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
             const Tensor& value);
// Kernels are odd; standard deviations above 0, both (x, y). ValueError.
Tensor gaussian_blur(const Tensor& image, const std::array<std::int64_t, 2>& kernel_size,
                     const std::array<double, 2>& sigma);

// Colour. Of 1 or 3 channels: ShapeError otherwise, where colours matter.

Tensor rgb_to_grayscale(const Tensor& image, std::int64_t num_output_channels = 1);  // by ITU-R 601 weights
Tensor adjust_brightness(const Tensor& image, double factor);                        // 0 black, 1 as it is
Tensor adjust_contrast(const Tensor& image, double factor);                          // 0 grey, 1 as it is
Tensor adjust_saturation(const Tensor& image, double factor);                        // 0 without colour, 1 as it is
Tensor adjust_hue(const Tensor& image, double factor);                    // -0.5 … 0.5 of the circle of colours
Tensor adjust_gamma(const Tensor& image, double gamma, double gain = 1);  // gain * image^gamma, of levels from 0 to 1
Tensor adjust_sharpness(const Tensor& image, double factor);              // 0 blurred, 1 as it is
Tensor invert(const Tensor& image);                                       // the largest level minus each
Tensor posterize(const Tensor& image, int bits);                          // keeps the highest bits
Tensor solarize(const Tensor& image, double threshold);                   // inverts levels from the threshold on
Tensor autocontrast(const Tensor& image);                                 // each channel from 0 to its largest level
Tensor equalize(const Tensor& image);  // uint8: each channel's levels equally often. DTypeError

// To another dtype; `scale`: from one's largest level to the other's.
Tensor to_dtype(const Tensor& image, DType dtype, bool scale = false);

}  // namespace neura::data
