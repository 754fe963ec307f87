// Changes to pictures, [..., channels, height, width], on their way into a batch. Plain values: copy them, keep them in
// a lambda, hand them to data::map. Random ones decide once per call and draw from data::generator(), so that a
// loader's epochs repeat with any number of workers, or from a generator of the caller.
#pragma once
#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include "neura/core/random.h"
#include "neura/core/tensor.h"
#include "neura/data/random.h"

namespace neura::data {

// To a floating dtype; integers are divided by their largest value, so that uint8 becomes 0 … 1.
struct ToFloat {
  DType dtype = DType::float32;
  Tensor operator()(const Tensor& image) const;
};

// (x - mean) / std, with a number for each channel or one for all. ValueError for a std of 0.
struct Normalize {
  std::vector<double> mean, std;
  Tensor operator()(const Tensor& image) const;
};

// Mirrored horizontally with probability p.
struct RandomHorizontalFlip {
  double p = 0.5;
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// Mirrored vertically with probability p.
struct RandomVerticalFlip {
  double p = 0.5;
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// Greyscale, of the same number of channels, with probability p.
struct RandomGrayscale {
  double p = 0.1;
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// A window of height x width at a random place, after `padding` pixels of `fill` on every side. ShapeError if it does
// not fit.
struct RandomCrop {
  std::int64_t height, width;
  std::int64_t padding = 0;
  double fill = 0;
  Generator* generator = nullptr;
  Tensor operator()(const Tensor& image) const;
};

// The position of a random part of a picture.
struct Window {
  std::int64_t top, left, height, width;
};

// A part of a random area (`scale`, of the picture's) and shape (`ratio`, width over height, evenly by its logarithm),
// resized to height x width; the middle where ten tries find none that fits.
struct RandomResizedCrop {
  std::int64_t height, width;
  std::array<double, 2> scale = {0.08, 1}, ratio = {3. / 4, 4. / 3};
  std::string_view interpolation = "bilinear";
  Generator* generator = nullptr;
  void check_options() const;  // ValueError
  Window draw(std::int64_t height, std::int64_t width, Draws& draws) const;
  Tensor operator()(const Tensor& image) const;
};

// One after the other: Compose(ToFloat(), Normalize{{0.5}, {0.5}}).
template <class... F> class Compose {
 public:
  explicit Compose(F... steps) : steps_(std::move(steps)...) {}
  Tensor operator()(Tensor x) const {
    std::apply([&](const F&... step) { ((x = step(x)), ...); }, steps_);
    return x;
  }

 private:
  std::tuple<F...> steps_;
};

}  // namespace neura::data
