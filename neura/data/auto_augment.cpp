// RandAugment, TrivialAugmentWide and AutoAugment: changes by name and magnitude.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "neura/data/augment.h"

namespace neura::data {
namespace {

enum class Change {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
  invert
};

// The ranges at the highest magnitude.
struct Reach {
  double shear, translate_x, translate_y, degrees, colour;
  int lost_bits;  // of posterize
};

// The strength of a change at place `level` of 0 … 1: bits kept, a threshold in 0 … 1, else what `apply` takes.
double strength(Change change, const Reach& r, double level) {
  switch (change) {
    case Change::shear_x:
    case Change::shear_y:
      return r.shear * level;
    case Change::translate_x:
      return r.translate_x * level;
    case Change::translate_y:
      return r.translate_y * level;
    case Change::rotate:
      return r.degrees * level;
    case Change::brightness:
    case Change::color:
    case Change::contrast:
    case Change::sharpness:
      return r.colour * level;
    case Change::posterize:
      return 8 - std::nearbyint(r.lost_bits * level);
    case Change::solarize:
      return 1 - level;
    default:
      return 0;
  }
}
bool either_way(Change c) { return c >= Change::shear_x && c <= Change::sharpness; }

Tensor apply(Change change, const Tensor& x, double s, AffineOptions o) {
  constexpr double degrees = 180 / std::numbers::pi;
  switch (change) {
    case Change::shear_x:  // about the upper left corner
      o.center = {0, 0};
      return affine(x, 0, {0, 0}, 1, {std::atan(s) * degrees, 0}, o);
    case Change::shear_y:
      o.center = {0, 0};
      return affine(x, 0, {0, 0}, 1, {0, std::atan(s) * degrees}, o);
    case Change::translate_x:
      return affine(x, 0, {std::trunc(s), 0}, 1, {0, 0}, o);
    case Change::translate_y:
      return affine(x, 0, {0, std::trunc(s)}, 1, {0, 0}, o);
    case Change::rotate:
      return rotate(x, s, false, o);
    case Change::brightness:
      return adjust_brightness(x, 1 + s);
    case Change::color:
      return adjust_saturation(x, 1 + s);
    case Change::contrast:
      return adjust_contrast(x, 1 + s);
    case Change::sharpness:
      return adjust_sharpness(x, 1 + s);
    case Change::posterize:
      return posterize(x, int(s));
    case Change::solarize:
      return solarize(x, s * largest_level(x.dtype()));
    case Change::autocontrast:
      return autocontrast(x);
    case Change::equalize:
      return is_floating(x.dtype()) ? to_dtype(equalize(to_dtype(x, uint8, true)), x.dtype(), true) : equalize(x);
    case Change::invert:
      return invert(x);
    default:
      return x;
  }
}

Tensor change_by(Change change, const Tensor& x, const Reach& reach, double level, Draws& draws,
                 const AffineOptions& o) {
  double s = strength(change, reach, level);
  if (either_way(change) && draws.uniform() < 0.5) s = -s;
  return apply(change, x, s, o);
}

// Of RandAugment and AutoAugment: translations are parts of the picture's size, as on the 331 pixels of the paper.
Reach usual(const Tensor& x) {
  return {0.3, 150. / 331 * double(x.size(-1)), 150. / 331 * double(x.size(-2)), 30, 0.9, 4};
}

struct Step {
  Change change;
  double p;
  int magnitude;  // of 0 … 9
};
using Policy = std::array<std::array<Step, 2>, 25>;

#define P(a, p, m, b, q, n)                  \
  {                                          \
    {                                        \
      {Change::a, p, m}, { Change::b, q, n } \
    }                                        \
  }
// The tables of the paper's appendix.
constexpr Policy kImagenet = {{
    P(posterize, .4, 8, rotate, .6, 9),  P(solarize, .6, 5, autocontrast, .6, 0),
    P(equalize, .8, 0, equalize, .6, 0), P(posterize, .6, 7, posterize, .6, 6),
    P(equalize, .4, 0, solarize, .2, 4), P(equalize, .4, 0, rotate, .8, 8),
    P(solarize, .6, 3, equalize, .6, 0), P(posterize, .8, 5, equalize, 1, 0),
    P(rotate, .2, 3, solarize, .6, 8),   P(equalize, .6, 0, posterize, .4, 6),
    P(rotate, .8, 8, color, .4, 0),      P(rotate, .4, 9, equalize, .6, 0),
    P(equalize, 0, 0, equalize, .8, 0),  P(invert, .6, 0, equalize, 1, 0),
    P(color, .6, 4, contrast, 1, 8),     P(rotate, .8, 8, color, 1, 2),
    P(color, .8, 8, solarize, .8, 7),    P(sharpness, .4, 7, invert, .6, 0),
    P(shear_x, .6, 5, equalize, 1, 0),   P(color, .4, 0, equalize, .6, 0),
    P(equalize, .4, 0, solarize, .2, 4), P(solarize, .6, 5, autocontrast, .6, 0),
    P(invert, .6, 0, equalize, 1, 0),    P(color, .6, 4, contrast, 1, 8),
    P(equalize, .8, 0, equalize, .6, 0),
}};
constexpr Policy kCifar10 = {{
    P(invert, .1, 0, contrast, .2, 6),          P(rotate, .7, 2, translate_x, .3, 9),
    P(sharpness, .8, 1, sharpness, .9, 3),      P(shear_y, .5, 8, translate_y, .7, 9),
    P(autocontrast, .5, 0, equalize, .9, 0),    P(shear_y, .2, 7, posterize, .3, 7),
    P(color, .4, 3, brightness, .6, 7),         P(sharpness, .3, 9, brightness, .7, 9),
    P(equalize, .6, 0, equalize, .5, 0),        P(contrast, .6, 7, sharpness, .6, 5),
    P(color, .7, 7, translate_x, .5, 8),        P(equalize, .3, 0, autocontrast, .4, 0),
    P(translate_y, .4, 3, sharpness, .2, 6),    P(brightness, .9, 6, color, .2, 8),
    P(solarize, .5, 2, invert, 0, 0),           P(equalize, .2, 0, autocontrast, .6, 0),
    P(equalize, .2, 0, equalize, .6, 0),        P(color, .9, 9, equalize, .6, 0),
    P(autocontrast, .8, 0, solarize, .2, 8),    P(brightness, .1, 3, color, .7, 0),
    P(solarize, .4, 5, autocontrast, .9, 0),    P(translate_y, .9, 9, translate_y, .7, 9),
    P(autocontrast, .9, 0, solarize, .8, 3),    P(equalize, .8, 0, invert, .1, 0),
    P(translate_y, .7, 9, autocontrast, .9, 0),
}};
constexpr Policy kSvhn = {{
    P(shear_x, .9, 4, invert, .2, 0),       P(shear_y, .9, 8, invert, .7, 0),
    P(equalize, .6, 0, solarize, .6, 6),    P(invert, .9, 0, equalize, .6, 0),
    P(equalize, .6, 0, rotate, .9, 3),      P(shear_x, .9, 4, autocontrast, .8, 0),
    P(shear_y, .9, 8, invert, .4, 0),       P(shear_y, .9, 5, solarize, .2, 6),
    P(invert, .9, 0, autocontrast, .8, 0),  P(equalize, .6, 0, rotate, .9, 3),
    P(shear_x, .9, 4, solarize, .3, 3),     P(shear_y, .8, 8, invert, .7, 0),
    P(equalize, .9, 0, translate_y, .6, 6), P(invert, .9, 0, equalize, .6, 0),
    P(contrast, .3, 3, rotate, .8, 4),      P(invert, .8, 0, translate_y, 0, 2),
    P(shear_y, .7, 6, solarize, .4, 8),     P(invert, .6, 0, rotate, .8, 4),
    P(shear_y, .3, 7, translate_x, .9, 3),  P(shear_x, .1, 6, invert, .6, 0),
    P(solarize, .7, 2, translate_y, .6, 7), P(shear_y, .8, 4, invert, .8, 0),
    P(shear_x, .7, 9, translate_y, .8, 3),  P(shear_y, .8, 5, autocontrast, .7, 0),
    P(shear_x, .7, 2, invert, .1, 0),
}};
#undef P

void check_bins(const char* op, int bins, int magnitude) {
  check<ValueError>(bins >= 2 && magnitude >= 0 && magnitude < bins, [&] {
    return std::string(op) + ": expected a magnitude below num_magnitude_bins, of which there are at least 2, got " +
           std::to_string(magnitude) + " and " + std::to_string(bins);
  });
}
constexpr std::int64_t kChanges = std::int64_t(Change::invert);  // all but invert, as the papers have it

}  // namespace

Tensor RandAugment::operator()(const Tensor& image) const {
  check_picture("RandAugment", image);
  check_bins("RandAugment", num_magnitude_bins, magnitude);
  check<ValueError>(num_ops >= 0,
                    [&] { return "RandAugment: expected num_ops of 0 or more, got " + std::to_string(num_ops); });
  Draws draws = draws_of(generator);
  const double level = double(magnitude) / double(num_magnitude_bins - 1);
  Tensor x = image;
  for (int i = 0; i < num_ops; ++i)
    x = change_by(Change(draws.below(kChanges)), x, usual(image), level, draws, options);
  return x;
}

Tensor TrivialAugmentWide::operator()(const Tensor& image) const {
  check_picture("TrivialAugmentWide", image);
  check_bins("TrivialAugmentWide", num_magnitude_bins, 0);
  Draws draws = draws_of(generator);
  const auto change = Change(draws.below(kChanges));
  const double level = double(draws.below(num_magnitude_bins)) / double(num_magnitude_bins - 1);
  return change_by(change, image, {0.99, 32, 32, 135, 0.99, 6}, level, draws, options);
}

Tensor AutoAugment::operator()(const Tensor& image) const {
  check_picture("AutoAugment", image);
  const Policy* found = policy == "imagenet"  ? &kImagenet
                        : policy == "cifar10" ? &kCifar10
                        : policy == "svhn"    ? &kSvhn
                                              : nullptr;
  check<ValueError>(
      found, [&] { return "AutoAugment: expected policy imagenet, cifar10 or svhn, got " + std::string(policy); });
  Draws draws = draws_of(generator);
  Tensor x = image;
  for (const Step& step : (*found)[std::size_t(draws.below(25))])
    if (draws.uniform() < step.p) x = change_by(step.change, x, usual(image), step.magnitude / 9., draws, options);
  return x;
}

}  // namespace neura::data
