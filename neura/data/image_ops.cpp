#include "neura/data/image_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/grid_sample.h"
#include "neura/ops/spatial/interpolate.h"

namespace neura::data {
namespace {

Tensor as_batch(const Tensor& image) {
  if (image.dim() == 4) return image;
  return image.reshape(Shape{-1, image.size(-3), image.size(-2), image.size(-1)});
}
Tensor like(const Tensor& batch, const Tensor& image) {  // its leading dimensions again
  if (image.dim() == 4) return batch;
  Shape shape = image.shape();
  for (int i = 1; i <= 3; ++i) shape[shape.size() - i] = batch.size(-i);
  return batch.reshape(shape);
}

void check_size(const char* op, std::int64_t height, std::int64_t width) {
  check<ValueError>(height >= 1 && width >= 1, [&] {
    return std::string(op) + ": expected a height and width above 0, got " + std::to_string(height) + " and " +
           std::to_string(width);
  });
}

// A map of the plane: (x, y) to (a x + b y + c, d x + e y + f).
struct Map {
  double a, b, c, d, e, f;
  Map then(const Map& m) const {
    return {m.a * a + m.b * d, m.a * b + m.b * e, m.a * c + m.b * f + m.c,
            m.d * a + m.e * d, m.d * b + m.e * e, m.d * c + m.e * f + m.f};
  }
  Map inverse() const {
    const double det = a * e - b * d;
    return {e / det, -b / det, (b * f - c * e) / det, -d / det, a / det, (c * d - a * f) / det};
  }
};
Map moved(double x, double y) { return {1, 0, x, 0, 1, y}; }
Map turned(double degrees) {  // clockwise, since y points down
  const double t = degrees * std::numbers::pi / 180;
  return {std::cos(t), -std::sin(t), 0, std::sin(t), std::cos(t), 0};
}

// The picture sampled where `from` says, for every pixel of height x width; places are relative to the middles.
Tensor sampled(const char* op, const Tensor& image, const Map& from, std::int64_t height, std::int64_t width,
               const AffineOptions& o) {
  check_picture(op, image);
  check<ValueError>(o.interpolation == "nearest" || o.interpolation == "bilinear", [&] {
    return std::string(op) + ": expected interpolation nearest or bilinear, got " + std::string(o.interpolation);
  });
  const std::int64_t channels = image.size(-3);
  check<ValueError>(o.fill.size() <= 1 || std::int64_t(o.fill.size()) == channels, [&] {
    return std::string(op) + ": expected a fill of 1 or " + std::to_string(channels) + " numbers, got " +
           std::to_string(o.fill.size());
  });
  const bool floats = is_floating(image.dtype());
  const Tensor batch = as_batch(floats ? image : image.to(float32));
  const double h = double(image.size(-2)), w = double(image.size(-1)), oh = double(height), ow = double(width);
  // From -1 … 1 over the result to -1 … 1 over the picture.
  const Tensor theta =
      numbers_like({from.a * ow / w, from.b * oh / w, 2 * from.c / w, from.d * ow / h, from.e * oh / h, 2 * from.f / h},
                   {1, 2, 3}, batch);
  const Tensor grid = affine_grid(theta, {1, channels, height, width}).expand({batch.size(0), height, width, 2});
  const GridSampleOptions how{.mode = o.interpolation};
  Tensor y = grid_sample(batch, grid, how);
  if (std::any_of(o.fill.begin(), o.fill.end(), [](double f) { return f != 0; })) {
    const Tensor inside = grid_sample(ones_like(batch.narrow(1, 0, 1)), grid, how);
    y = add(y, mul(sub(ones_like(inside), inside), per_channel(o.fill, batch)));
  }
  return like(floats ? y : round(y).to(image.dtype()), image);
}

// The size that holds all of a turned picture of h x w: the pixels that its corners reach, from its first pixel's edge.
std::array<std::int64_t, 2> holding(const Map& m, double h, double w) {
  const auto extent = [](double x, double y, double there) {
    const auto cut = [](double v) { return std::trunc(v * 1e4) / 1e4; };  // what rounding moved over a whole number
    const double half = (std::abs(x) + std::abs(y)) / 2;
    return std::int64_t(std::ceil(cut(there / 2 + half)) - std::floor(cut(there / 2 - half)));
  };
  return {extent(m.d * w, m.e * h, h), extent(m.a * w, m.b * h, w)};
}

std::array<double, 2> offset_of(const AffineOptions& o, const Tensor& image) {
  if (!o.center) return {0, 0};
  return {(*o.center)[0] - double(image.size(-1)) / 2, (*o.center)[1] - double(image.size(-2)) / 2};
}

}  // namespace

void check_picture(const char* op, const Tensor& image) {
  check<ShapeError>(image.dim() >= 3 && image.numel() > 0, [&] {
    return std::string(op) + ": expected [..., channels, height, width] with pixels, got " + image.shape().str();
  });
}

void check_probability(const char* op, double p) {
  check<ValueError>(p >= 0 && p <= 1,
                    [&] { return std::string(op) + ": expected p in [0, 1], got " + Scalar(p).str(); });
}
Tensor numbers_like(const std::vector<double>& v, const Shape& shape, const Tensor& like) {
  Tensor t = Tensor::empty(Spec::dense(float64, shape));
  std::copy(v.begin(), v.end(), t.data<double>());
  return t.to(like.dtype()).to(like.device());
}
Tensor per_channel(const std::vector<double>& v, const Tensor& like) {
  return numbers_like(v, Shape{std::int64_t(v.size()), 1, 1}, like);
}

Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width, std::string_view interpolation,
              bool antialias) {
  check_picture("resize", image);
  check_size("resize", height, width);
  const bool smooth = interpolation == "bilinear" || interpolation == "bicubic";
  check<ValueError>(smooth || interpolation == "nearest" || interpolation == "nearest-exact", [&] {
    return "resize: expected interpolation bilinear, bicubic, nearest or nearest-exact, got " +
           std::string(interpolation);
  });
  if (image.size(-2) == height && image.size(-1) == width) return image;
  InterpolateOptions options{.size = {height, width}, .mode = interpolation, .antialias = smooth && antialias};
  if (smooth) options.align_corners = false;
  const bool direct = is_floating(image.dtype()) || (image.dtype() == uint8 && smooth);
  const Tensor y = like(interpolate(as_batch(direct ? image : image.to(float32)), options), image);
  return direct ? y : (smooth ? round(y) : y).to(image.dtype());
}

Tensor resize_shorter(const Tensor& image, std::int64_t size, std::string_view interpolation, std::int64_t max_size,
                      bool antialias) {
  check_picture("resize", image);
  check_size("resize", size, size);
  check<ValueError>(max_size == 0 || max_size > size, [&] {
    return "resize: expected a max_size above " + std::to_string(size) + ", got " + std::to_string(max_size);
  });
  const std::int64_t h = image.size(-2), w = image.size(-1), shorter = std::min(h, w), longer = std::max(h, w);
  std::int64_t a = size, b = size * longer / shorter;
  if (max_size && b > max_size) a = std::max<std::int64_t>(1, max_size * a / b), b = max_size;
  return resize(image, h <= w ? a : b, h <= w ? b : a, interpolation, antialias);
}

Tensor pad_image(const Tensor& image, const Sides& p, double fill, std::string_view padding_mode) {
  check_picture("pad", image);
  const bool known = padding_mode == "constant" || padding_mode == "edge" || padding_mode == "reflect";
  check<ValueError>(
      known, [&] { return "pad: expected padding_mode constant, edge or reflect, got " + std::string(padding_mode); });
  const std::vector<std::int64_t> sides = {p.left, p.right, p.top, p.bottom};
  if (padding_mode == "constant") return pad(image, sides, "constant", Scalar(fill));
  return like(pad(as_batch(image), sides, padding_mode == "edge" ? "replicate" : "reflect"), image);
}

Tensor crop(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  check_picture("crop", image);
  check_size("crop", height, width);
  const std::int64_t h = image.size(-2), w = image.size(-1);
  if (top >= 0 && left >= 0 && top + height <= h && left + width <= w)
    return image.narrow(-2, top, height).narrow(-1, left, width);
  const std::int64_t far = std::int64_t{1} << 31;
  check<ValueError>(std::abs(top) < far && std::abs(left) < far && height < far && width < far, [&] {
    return "crop: expected a window near the picture, got " + std::to_string(top) + ", " + std::to_string(left);
  });
  const std::int64_t above = std::max<std::int64_t>(0, -top), before = std::max<std::int64_t>(0, -left);
  const Sides sides{before, above, std::max<std::int64_t>(0, left + width - w),
                    std::max<std::int64_t>(0, top + height - h)};
  return pad_image(image, sides).narrow(-2, top + above, height).narrow(-1, left + before, width);
}

Tensor center_crop(const Tensor& image, std::int64_t height, std::int64_t width) {
  check_picture("center_crop", image);
  check_size("center_crop", height, width);
  const auto first = [](std::int64_t there, std::int64_t wanted) {  // half rounded to even; down where there is less
    if (wanted > there) return -((wanted - there) / 2);
    return std::int64_t(std::nearbyint(double(there - wanted) / 2));
  };
  return crop(image, first(image.size(-2), height), first(image.size(-1), width), height, width);
}

Tensor affine(const Tensor& image, double angle, const std::array<double, 2>& translate, double scale,
              const std::array<double, 2>& shear, const AffineOptions& options) {
  check_picture("affine", image);
  check<ValueError>(scale > 0, [&] { return "affine: expected a scale above 0, got " + Scalar(scale).str(); });
  const auto [x, y] = offset_of(options, image);
  const double sx = shear[0] * std::numbers::pi / 180, sy = shear[1] * std::numbers::pi / 180;
  const Map sheared = Map{1, -std::tan(sx), 0, 0, 1, 0}.then({1, 0, 0, -std::tan(sy), 1, 0});
  const Map forward = moved(-x, -y)
                          .then(sheared)
                          .then(turned(angle))
                          .then({scale, 0, 0, 0, scale, 0})
                          .then(moved(x + translate[0], y + translate[1]));
  return sampled("affine", image, forward.inverse(), image.size(-2), image.size(-1), options);
}

Tensor rotate(const Tensor& image, double angle, bool expand, const AffineOptions& options) {
  check_picture("rotate", image);
  check<ValueError>(std::isfinite(angle), [&] { return "rotate: expected an angle, got " + Scalar(angle).str(); });
  check<ValueError>(!expand || !options.center,
                    [] { return "rotate: expected no center with expand, which keeps all of the picture"; });
  const double quarters = std::fmod(angle, 360) / 90;
  const bool square = image.size(-2) == image.size(-1);
  if (!options.center && quarters == std::trunc(quarters) && (square || expand || int(quarters) % 2 == 0))
    return rot90(image, std::int64_t(quarters), {-2, -1});
  const auto [x, y] = offset_of(options, image);
  const Map from = moved(-x, -y).then(turned(angle)).then(moved(x, y));  // the picture moves the other way
  std::array<std::int64_t, 2> size = {image.size(-2), image.size(-1)};
  if (expand) size = holding(from.inverse(), double(size[0]), double(size[1]));
  return sampled("rotate", image, from, size[0], size[1], options);
}

Tensor erase(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
             const Tensor& value) {
  check_picture("erase", image);
  check_size("erase", height, width);
  check<ValueError>(top >= 0 && left >= 0 && top + height <= image.size(-2) && left + width <= image.size(-1),
                    [&] { return "erase: expected a window within " + image.shape().str(); });
  Tensor y = image.clone();
  Tensor window = y.narrow(-2, top, height).narrow(-1, left, width);
  copy_(window, value.expand(window.shape()));
  return y;
}

Tensor gaussian_blur(const Tensor& image, const std::array<std::int64_t, 2>& kernel_size,
                     const std::array<double, 2>& sigma) {
  check_picture("gaussian_blur", image);
  std::array<std::vector<double>, 2> weights;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t n = kernel_size[d];
    check<ValueError>(n >= 1 && n % 2 == 1 && n < 65536 && sigma[d] > 0 && std::isfinite(sigma[d]), [&] {
      return "gaussian_blur: expected odd kernel sizes and sigmas above 0, got " + std::to_string(n) + " and " +
             Scalar(sigma[d]).str();
    });
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = (double(i) - double(n - 1) / 2) / sigma[d];
      weights[d].push_back(std::exp(-0.5 * x * x)), sum += weights[d].back();
    }
    for (double& w : weights[d]) w /= sum;
  }
  const bool floats = is_floating(image.dtype());
  const Tensor x = as_batch(floats ? image : image.to(float32));
  const std::int64_t c = x.size(1), kx = kernel_size[0], ky = kernel_size[1];
  const Tensor around = pad(x, {kx / 2, kx / 2, ky / 2, ky / 2}, "reflect");
  const auto along = [&](const Tensor& t, const std::vector<double>& w, const Shape& shape) {
    return conv2d(t, numbers_like(w, shape, x).expand({c, 1, shape[2], shape[3]}).contiguous(), {}, {.groups = c});
  };
  const Tensor y = along(along(around, weights[0], {1, 1, 1, kx}), weights[1], {1, 1, ky, 1});
  return like(floats ? y : round(y).to(image.dtype()), image);
}

}  // namespace neura::data
