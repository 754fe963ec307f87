#include "neura/data/augment.h"

#include <algorithm>
#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/shape/shape.h"

namespace neura::data {
namespace {

void check_range(const char* op, const char* what, const Range& r, double low, double high) {
  check<ValueError>(r[0] >= low && r[0] <= r[1] && r[1] <= high, [&] {
    return std::string(op) + ": expected a " + what + " of two rising numbers in [" + Scalar(low).str() + ", " +
           Scalar(high).str() + "], got " + Scalar(r[0]).str() + " and " + Scalar(r[1]).str();
  });
}
constexpr double kAny = 1e9;

// Labels as floats that can be mixed.
Tensor mixable(const char* op, const Tensor& images, const Tensor& labels, std::int64_t num_classes, double alpha) {
  check<ValueError>(alpha > 0 && std::isfinite(alpha),
                    [&] { return std::string(op) + ": expected an alpha above 0, got " + Scalar(alpha).str(); });
  check<ShapeError>(
      images.dim() == 4 && labels.dim() >= 1 && labels.dim() <= 2 && labels.size(0) == images.size(0), [&] {
        return std::string(op) + ": expected [n, channels, height, width] and labels [n] or [n, classes], got " +
               images.shape().str() + " and " + labels.shape().str();
      });
  check<DTypeError>(is_floating(images.dtype()), [&] {
    return std::string(op) + ": expected floating pictures, got " + name(images.dtype()) + "; put to_dtype before it";
  });
  if (labels.dim() == 2) return is_floating(labels.dtype()) ? labels : labels.to(images.dtype());
  check<ValueError>(num_classes > 0,
                    [&] { return std::string(op) + ": expected num_classes for labels that are numbers of classes"; });
  return one_hot(labels, num_classes).to(images.dtype());
}
Tensor mixed(const Tensor& x, double share) { return add(mul(x, share), mul(roll(x, {1}, 0), 1 - share)); }

}  // namespace

ColorJitter::Drawn ColorJitter::draw(Draws& draws) const {
  Drawn d{{0, 1, 2, 3}, {}};
  for (int i = 3; i > 0; --i) std::swap(d.order[std::size_t(i)], d.order[std::size_t(draws.below(i + 1))]);
  const Range* ranges[] = {&brightness, &contrast, &saturation, &hue};
  for (std::size_t i = 0; i < 4; ++i) d.factors[i] = draws.between((*ranges[i])[0], (*ranges[i])[1]);
  return d;
}

Tensor ColorJitter::apply(const Tensor& image, const Drawn& drawn) const {
  Tensor x = image;
  for (const int i : drawn.order) {
    const double f = drawn.factors[std::size_t(i)];
    if (f == (i == 3 ? 0 : 1)) continue;
    x = i == 0   ? adjust_brightness(x, f)
        : i == 1 ? adjust_contrast(x, f)
        : i == 2 ? adjust_saturation(x, f)
                 : adjust_hue(x, f);
  }
  return x;
}

Tensor ColorJitter::operator()(const Tensor& image) const {
  check_range("ColorJitter", "brightness", brightness, 0, kAny);
  check_range("ColorJitter", "contrast", contrast, 0, kAny);
  check_range("ColorJitter", "saturation", saturation, 0, kAny);
  check_range("ColorJitter", "hue", hue, -0.5, 0.5);
  Draws draws = draws_of(generator);
  return apply(image, draw(draws));
}

Tensor RandomRotation::operator()(const Tensor& image) const {
  check_range("RandomRotation", "range of degrees", degrees, -kAny, kAny);
  return rotate(image, draws_of(generator).between(degrees[0], degrees[1]), expand, options);
}

Tensor RandomAffine::operator()(const Tensor& image) const {
  check_picture("RandomAffine", image);
  check_range("RandomAffine", "range of degrees", degrees, -kAny, kAny);
  if (scale) check_range("RandomAffine", "scale", *scale, 1e-6, kAny);
  for (const double t : translate.value_or(std::array<double, 2>{0, 0}))
    check<ValueError>(t >= 0 && t <= 1, [&] {
      return "RandomAffine: expected translate of fractions in [0, 1], got " + Scalar(t).str();
    });
  Draws draws = draws_of(generator);
  const double angle = draws.between(degrees[0], degrees[1]);
  std::array<double, 2> move = {0, 0}, sheared = {0, 0};
  if (translate)
    for (std::size_t d = 0; d < 2; ++d) {
      const double most = (*translate)[d] * double(image.size(d == 0 ? -1 : -2));
      move[d] = std::nearbyint(draws.between(-most, most));
    }
  const double factor = scale ? draws.between((*scale)[0], (*scale)[1]) : 1;
  if (shear)
    for (std::size_t d = 0; d < 2; ++d) sheared[d] = draws.between((*shear)[2 * d], (*shear)[2 * d + 1]);
  return affine(image, angle, move, factor, sheared, options);
}

Tensor RandomErasing::operator()(const Tensor& image) const {
  check_picture("RandomErasing", image);
  check_probability("RandomErasing", p);
  check_range("RandomErasing", "scale", scale, 0, 1);
  check_range("RandomErasing", "ratio", ratio, 1e-6, kAny);
  const std::int64_t channels = image.size(-3), rows = image.size(-2), columns = image.size(-1);
  check<ValueError>(value.size() <= 1 || std::int64_t(value.size()) == channels, [&] {
    return "RandomErasing: expected a value of 1 or " + std::to_string(channels) + " numbers, got " +
           std::to_string(value.size());
  });
  Draws draws = draws_of(generator);
  if (draws.uniform() >= p) return image;
  for (int i = 0; i < 10; ++i) {
    const double area = double(rows * columns) * draws.between(scale[0], scale[1]);
    const double shape = std::exp(draws.between(std::log(ratio[0]), std::log(ratio[1])));
    const auto h = std::int64_t(std::lround(std::sqrt(area * shape))),
               w = std::int64_t(std::lround(std::sqrt(area / shape)));
    if (h < 1 || w < 1 || h >= rows || w >= columns) continue;
    const std::int64_t top = draws.below(rows - h + 1), left = draws.below(columns - w + 1);
    if (!value.empty()) return erase(image, top, left, h, w, per_channel(value, image));
    Tensor noise = Tensor::empty(Spec::dense(float32, Shape{channels, h, w}));  // drawn here: the same on every device
    for (std::int64_t n = 0; n < noise.numel(); ++n) noise.data<float>()[n] = float(draws.normal());
    return erase(image, top, left, h, w, noise.to(image.dtype()).to(image.device()));
  }
  return image;
}

Tensor GaussianBlur::operator()(const Tensor& image) const {
  check_range("GaussianBlur", "sigma", sigma, 1e-6, kAny);
  const double s = draws_of(generator).between(sigma[0], sigma[1]);
  return gaussian_blur(image, kernel_size, {s, s});
}

std::pair<Tensor, Tensor> MixUp::operator()(const Tensor& images, const Tensor& labels) const {
  const Tensor classes = mixable("MixUp", images, labels, num_classes, alpha);
  const double share = draws_of(generator).beta(alpha, alpha);
  return {mixed(images, share), mixed(classes, share)};
}

std::pair<Tensor, Tensor> CutMix::operator()(const Tensor& images, const Tensor& labels) const {
  const Tensor classes = mixable("CutMix", images, labels, num_classes, alpha);
  Draws draws = draws_of(generator);
  const std::int64_t rows = images.size(2), columns = images.size(3);
  const double half = 0.5 * std::sqrt(1 - draws.beta(alpha, alpha));
  const auto range = [&](std::int64_t n) {  // around a random middle, as far as the picture goes
    const std::int64_t middle = draws.below(n), reach = std::int64_t(half * double(n));
    const std::int64_t first = std::max<std::int64_t>(0, middle - reach);
    return std::pair(first, std::min(n, middle + reach) - first);
  };
  const auto across = range(columns), down = range(rows);
  if (across.second <= 0 || down.second <= 0) return {images, classes};
  Tensor y = images.clone();
  Tensor window = y.narrow(2, down.first, down.second).narrow(3, across.first, across.second);
  copy_(window, roll(images, {1}, 0).narrow(2, down.first, down.second).narrow(3, across.first, across.second));
  return {y, mixed(classes, 1 - double(down.second * across.second) / double(rows * columns))};
}

}  // namespace neura::data
