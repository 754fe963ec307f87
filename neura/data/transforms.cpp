#include "neura/data/transforms.h"

#include <algorithm>
#include <limits>

#include "neura/data/random.h"
#include "neura/ops/rows.h"
#include "neura/ops/shape.h"

namespace neura::data {
namespace {

double largest(DType d) {
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

Draws draws_of(Generator* own) { return Draws(own ? *own : generator()); }

// One number per channel, in the shape that broadcasts against a picture.
Tensor per_channel(const std::vector<double>& values, const Tensor& image) {
  Tensor t = Tensor::empty(Spec::dense(float64, Shape{std::int64_t(values.size()), 1, 1}));
  std::copy(values.begin(), values.end(), t.data<double>());
  return t.to(image.dtype()).to(image.device());
}

}  // namespace

Tensor ToFloat::operator()(const Tensor& image) const {
  check<DTypeError>(is_floating(dtype),
                    [&] { return std::string("ToFloat: expected a floating dtype, got ") + name(dtype); });
  const double scale = largest(image.dtype());
  const Tensor x = image.to(dtype);
  return scale == 1 ? x : div(x, scale);
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
  check<ValueError>(p >= 0 && p <= 1,
                    [&] { return "RandomHorizontalFlip: expected p in [0, 1], got " + Scalar(p).str(); });
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

}  // namespace neura::data
