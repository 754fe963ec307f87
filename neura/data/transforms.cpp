#include "neura/data/transforms.h"

#include <algorithm>
#include <cmath>

#include "neura/data/image_ops.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/shape/shape.h"

namespace neura::data {

Tensor ToFloat::operator()(const Tensor& image) const {
  check<DTypeError>(is_floating(dtype),
                    [&] { return std::string("ToFloat: expected a floating dtype, got ") + name(dtype); });
  return to_dtype(image, dtype, true);
}

Tensor Normalize::operator()(const Tensor& image) const {
  check<DTypeError>(is_floating(image.dtype()), [&] {
    return std::string("Normalize: expected a floating dtype, got ") + name(image.dtype()) + "; put ToFloat before it";
  });
  check<ShapeError>(image.dim() >= 3,
                    [&] { return "Normalize: expected [..., channels, height, width], got " + image.shape().str(); });
  const std::int64_t channels = image.size(-3);
  for (const auto* v : {&mean, &std})
    check<ValueError>(v->size() == 1 || std::int64_t(v->size()) == channels, [&] {
      return "Normalize: expected mean and std of 1 or " + std::to_string(channels) + " numbers, got " +
             std::to_string(v->size());
    });
  check<ValueError>(std::find(std.begin(), std.end(), 0.0) == std.end(),
                    [] { return "Normalize: expected a std above 0, got 0"; });
  return div(sub(image, per_channel(mean, image)), per_channel(std, image));
}

Tensor RandomHorizontalFlip::operator()(const Tensor& image) const {
  check_probability("RandomHorizontalFlip", p);
  return draws_of(generator).uniform() < p ? flip(image, -1) : image;
}

Tensor RandomCrop::operator()(const Tensor& image) const {
  check<ShapeError>(image.dim() >= 2,
                    [&] { return "RandomCrop: expected [..., height, width], got " + image.shape().str(); });
  check<ValueError>(height >= 1 && width >= 1 && padding >= 0, [&] {
    return "RandomCrop: expected a height and width above 0 and no negative padding, got " + std::to_string(height) +
           ", " + std::to_string(width) + " and " + std::to_string(padding);
  });
  const std::int64_t down = image.size(-2) + 2 * padding - height, right = image.size(-1) + 2 * padding - width;
  check<ShapeError>(down >= 0 && right >= 0, [&] {
    return "RandomCrop: expected a picture of " + std::to_string(height) + " x " + std::to_string(width) +
           " or more with its padding, got " + image.shape().str() + " with padding " + std::to_string(padding);
  });
  Draws draws = draws_of(generator);
  const std::int64_t top = draws.below(down + 1), left = draws.below(right + 1);
  const Tensor padded = padding ? pad(image, {padding, padding, padding, padding}, "constant", Scalar(fill)) : image;
  return padded.narrow(-2, top, height).narrow(-1, left, width);
}

Tensor RandomVerticalFlip::operator()(const Tensor& image) const {
  check_probability("RandomVerticalFlip", p);
  return draws_of(generator).uniform() < p ? flip(image, -2) : image;
}

Tensor RandomGrayscale::operator()(const Tensor& image) const {
  check_probability("RandomGrayscale", p);
  return draws_of(generator).uniform() < p ? rgb_to_grayscale(image, image.size(-3)) : image;
}

void RandomResizedCrop::check_options() const {
  check<ValueError>(height >= 1 && width >= 1, [&] {
    return "RandomResizedCrop: expected a height and width above 0, got " + std::to_string(height) + " and " +
           std::to_string(width);
  });
  for (const auto* range : {&scale, &ratio})
    check<ValueError>((*range)[0] > 0 && (*range)[0] <= (*range)[1] && std::isfinite((*range)[1]), [&] {
      return std::string("RandomResizedCrop: expected a ") + (range == &scale ? "scale" : "ratio") +
             " of two rising numbers above 0, got " + Scalar((*range)[0]).str() + " and " + Scalar((*range)[1]).str();
    });
}

Window RandomResizedCrop::draw(std::int64_t rows, std::int64_t columns, Draws& draws) const {
  for (int i = 0; i < 10; ++i) {
    const double area = double(rows) * double(columns) * draws.between(scale[0], scale[1]);
    const double shape = std::exp(draws.between(std::log(ratio[0]), std::log(ratio[1])));
    const auto w = std::int64_t(std::lround(std::min(std::sqrt(area * shape), 1e9)));
    const auto h = std::int64_t(std::lround(std::min(std::sqrt(area / shape), 1e9)));
    if (w < 1 || h < 1 || w > columns || h > rows) continue;
    const std::int64_t top = draws.below(rows - h + 1);
    return {top, draws.below(columns - w + 1), h, w};
  }
  const double shape = double(columns) / double(rows);
  std::int64_t h = rows, w = columns;
  if (shape < ratio[0]) h = std::int64_t(std::lround(double(w) / ratio[0]));
  else if (shape > ratio[1]) w = std::int64_t(std::lround(double(h) * ratio[1]));
  h = std::clamp<std::int64_t>(h, 1, rows), w = std::clamp<std::int64_t>(w, 1, columns);
  return {(rows - h) / 2, (columns - w) / 2, h, w};
}

Tensor RandomResizedCrop::operator()(const Tensor& image) const {
  check_options();
  check_picture("RandomResizedCrop", image);
  Draws draws = draws_of(generator);
  const Window w = draw(image.size(-2), image.size(-1), draws);
  return resize(image.narrow(-2, w.top, w.height).narrow(-1, w.left, w.width), height, width, interpolation);
}

}  // namespace neura::data
