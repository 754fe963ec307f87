// The functions of image_ops.h that change values of pixels, not their places.
#include <algorithm>
#include <cmath>

#include "neura/data/image_ops.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/conv.h"

namespace neura::data {
namespace {

Tensor as_float(const Tensor& x) { return is_floating(x.dtype()) ? x : x.to(float32); }

// Levels within their range, in the picture's dtype; fractions of integers are cut off.
Tensor levels(const Tensor& x, DType dtype) {
  const Tensor y = clamp(x, 0.0, largest_level(dtype));
  return y.dtype() == dtype ? y : y.to(dtype);
}

void check_colours(const char* op, const Tensor& image) {
  check_picture(op, image);
  check<ShapeError>(image.size(-3) == 1 || image.size(-3) == 3,
                    [&] { return std::string(op) + ": expected 1 or 3 channels, got " + image.shape().str(); });
}
void check_factor(const char* op, double factor) {
  check<ValueError>(factor >= 0 && std::isfinite(factor),
                    [&] { return std::string(op) + ": expected a factor of 0 or above, got " + Scalar(factor).str(); });
}

// a * ratio + b * (1 - ratio)
Tensor blend(const Tensor& a, const Tensor& b, double ratio, DType dtype) {
  return levels(add(mul(a, ratio), mul(b, 1 - ratio)), dtype);
}

// Luma, as floats; one channel stays.
Tensor gray_of(const Tensor& x) {
  if (x.size(-3) == 1) return x;
  const auto weighted = [&](std::int64_t c, double w) { return mul(x.narrow(-3, c, 1), w); };
  return add(add(weighted(0, 0.2989), weighted(1, 0.587)), weighted(2, 0.114));
}
Tensor whole_gray_of(const Tensor& image) {  // with whole numbers where the picture has them
  const Tensor gray = gray_of(as_float(image));
  return is_floating(image.dtype()) ? gray : floor(gray);
}

}  // namespace

double largest_level(DType d) {
  switch (d) {
    case DType::uint8:
      return 255;
    case DType::int8:
      return 127;
    case DType::int16:
      return 32767;
    case DType::int32:
      return 2147483647.;
    case DType::int64:
      return 9223372036854775807.;
    default:
      return 1;
  }
}

Tensor to_dtype(const Tensor& image, DType dtype, bool scale) {
  const bool from = is_floating(image.dtype()), to = is_floating(dtype);
  if (!scale || image.dtype() == dtype || (from && to)) return image.to(dtype);
  const double here = largest_level(image.dtype()), there = largest_level(dtype);
  if (to) return here == 1 ? image.to(dtype) : div(image.to(dtype), here);
  // Each level of the result covers an equally wide range; 1 itself belongs to the highest.
  if (from) return mul(image.dtype() == float64 ? image : image.to(float32), there + 1 - 1e-3).to(dtype);
  return mul(image.to(float64), there / here).to(dtype);
}

Tensor rgb_to_grayscale(const Tensor& image, std::int64_t num_output_channels) {
  check_colours("rgb_to_grayscale", image);
  check<ValueError>(num_output_channels == 1 || num_output_channels == 3, [&] {
    return "rgb_to_grayscale: expected 1 or 3 output channels, got " + std::to_string(num_output_channels);
  });
  if (image.size(-3) == 1 && num_output_channels == 1) return image;
  Tensor gray = gray_of(as_float(image)).to(image.dtype());
  if (num_output_channels == 1) return gray;
  Shape shape = image.shape();
  shape[shape.size() - 3] = 3;
  return gray.expand(shape).contiguous();
}

Tensor adjust_brightness(const Tensor& image, double factor) {
  check_colours("adjust_brightness", image);
  check_factor("adjust_brightness", factor);
  return levels(mul(as_float(image), factor), image.dtype());
}

Tensor adjust_contrast(const Tensor& image, double factor) {
  check_colours("adjust_contrast", image);
  check_factor("adjust_contrast", factor);
  return blend(as_float(image), mean(whole_gray_of(image), {-3, -2, -1}, true), factor, image.dtype());
}

Tensor adjust_saturation(const Tensor& image, double factor) {
  check_colours("adjust_saturation", image);
  check_factor("adjust_saturation", factor);
  return image.size(-3) == 1 ? image : blend(as_float(image), whole_gray_of(image), factor, image.dtype());
}

// Hue h and saturation of a colour follow from its largest channel v and the range to its smallest. Turned by `factor`,
// channel n is v - range * max(0, min(k, 4 - k, 1)) with k = (n + 6 h) mod 6, for n = 5, 3, 1.
Tensor adjust_hue(const Tensor& image, double factor) {
  check_colours("adjust_hue", image);
  check<ValueError>(factor >= -0.5 && factor <= 0.5,
                    [&] { return "adjust_hue: expected a factor in [-0.5, 0.5], got " + Scalar(factor).str(); });
  if (image.size(-3) == 1) return image;
  const Tensor x = to_dtype(image, is_floating(image.dtype()) ? image.dtype() : float32, true);
  const Tensor r = x.narrow(-3, 0, 1), g = x.narrow(-3, 1, 1), b = x.narrow(-3, 2, 1);
  const Tensor v = amax(x, {-3}, true), range = sub(v, amin(x, {-3}, true));
  const Tensor safe = where(eq(range, 0.0), ones_like(range), range);
  const Tensor of_red = div(sub(g, b), safe), of_green = add(div(sub(b, r), safe), 2.0),
               of_blue = add(div(sub(r, g), safe), 4.0);
  const Tensor h = where(eq(v, r), of_red, where(eq(v, g), of_green, of_blue));  // in sixths of the circle
  std::vector<Tensor> channels;
  for (const double n : {5., 3., 1.}) {
    const Tensor k = remainder(add(h, n + 6 * factor), 6.0);
    channels.push_back(sub(v, mul(range, clamp(minimum(k, sub(full_like(k, 4.0), k)), 0.0, 1.0))));
  }
  return to_dtype(clamp(cat(channels, -3), 0.0, 1.0), image.dtype(), true);
}

Tensor adjust_gamma(const Tensor& image, double gamma, double gain) {
  check_colours("adjust_gamma", image);
  check<ValueError>(gamma >= 0 && std::isfinite(gamma),
                    [&] { return "adjust_gamma: expected a gamma of 0 or above, got " + Scalar(gamma).str(); });
  const Tensor x = to_dtype(image, is_floating(image.dtype()) ? image.dtype() : float32, true);
  return to_dtype(clamp(mul(pow(x, gamma), gain), 0.0, 1.0), image.dtype(), true);
}

Tensor adjust_sharpness(const Tensor& image, double factor) {
  check_colours("adjust_sharpness", image);
  check_factor("adjust_sharpness", factor);
  if (image.size(-2) <= 2 || image.size(-1) <= 2) return image;
  const Tensor x = as_float(image), batch = x.reshape({-1, 1, x.size(-2), x.size(-1)});
  Tensor kernel = full({1, 1, 3, 3}, 1. / 13, {.dtype = x.dtype(), .device = x.device()});
  kernel.narrow(2, 1, 1).narrow(3, 1, 1).copy_(full({1, 1, 1, 1}, 5. / 13, {.dtype = x.dtype(), .device = x.device()}));
  Tensor blurred = conv2d(batch, kernel);
  if (!is_floating(image.dtype())) blurred = round(blurred);
  const Tensor inner = batch.narrow(2, 1, batch.size(2) - 2).narrow(3, 1, batch.size(3) - 2);
  const Tensor change = pad(mul(sub(blurred, inner), 1 - factor), {1, 1, 1, 1});  // the edge stays
  return levels(add(batch, change).reshape(x.shape()), image.dtype());
}

Tensor invert(const Tensor& image) {
  check_picture("invert", image);
  if (is_floating(image.dtype())) return add(neg(image), 1.0);
  return sub(full_like(image, std::int64_t(largest_level(image.dtype()))), image);
}

Tensor posterize(const Tensor& image, int bits) {
  check_picture("posterize", image);
  const int all = image.dtype() == uint8 ? 8 : is_floating(image.dtype()) ? 24 : int(size_of(image.dtype())) * 8 - 1;
  check<ValueError>(bits >= 0 && bits <= 8 && bits <= all,
                    [&] { return "posterize: expected 0 to 8 bits, got " + std::to_string(bits); });
  if (!is_floating(image.dtype())) {
    const std::int64_t low = (std::int64_t{1} << (all - bits)) - 1, top = std::int64_t(largest_level(image.dtype()));
    return bitwise_and(image, full_like(image, top & ~low));
  }
  const double n = double(1 << bits);
  return div(clamp(floor(mul(image, n)), 0.0, n - 1), n);
}

Tensor solarize(const Tensor& image, double threshold) {
  check_picture("solarize", image);
  return where(ge(as_float(image), threshold), invert(image), image);
}

Tensor autocontrast(const Tensor& image) {
  check_colours("autocontrast", image);
  const double top = largest_level(image.dtype());
  const Tensor x = as_float(image), low = amin(x, {-2, -1}, true), range = sub(amax(x, {-2, -1}, true), low);
  const Tensor flat = eq(range, 0.0), one = ones_like(range);  // a channel of one level stays
  const Tensor scale = where(flat, one, div(full_like(range, top), where(flat, one, range)));
  return levels(mul(sub(x, where(flat, zeros_like(low), low)), scale), image.dtype());
}

Tensor equalize(const Tensor& image) {
  check_picture("equalize", image);
  check<DTypeError>(image.dtype() == uint8, [&] {
    return std::string("equalize: expected uint8, got ") + name(image.dtype()) + "; use to_dtype(image, uint8, true)";
  });
  const std::int64_t pixels = image.size(-2) * image.size(-1);
  const Tensor x = image.reshape({-1, pixels}).to(int64);
  const Tensor none = zeros({x.size(0), 256}, {.dtype = int64, .device = image.device()});
  const Tensor counts = scatter_add(none, 1, x, ones_like(x));
  // The new level rises by one every `step` pixels; pixels of the highest level do not count.
  const Tensor highest = gather(counts, 1, amax(x, {1}, true));
  const Tensor step = floor_divide(sub(full_like(highest, pixels), highest), 255);
  const Tensor safe = where(eq(step, 0), ones_like(step), step), below = sub(cumsum(counts, 1), counts);
  const Tensor table = clamp(floor_divide(add(below, floor_divide(safe, 2)), safe), 0, 255);
  const Tensor y = gather(table, 1, x);
  return where(eq(step, 0), x, y).to(uint8).reshape(image.shape());
}

}  // namespace neura::data
