// Changes to pictures, [..., channels, height, width], on their way into a batch. Plain values: copy them, keep them in
// a lambda, hand them to data::map. Random ones decide once per call and draw from data::generator(), so that a
// loader's epochs repeat with any number of workers, or from a generator of the caller.
#pragma once
#include <tuple>
#include <vector>

#include "neura/core/random.h"
#include "neura/core/tensor.h"

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

// Left becomes right with probability p.
struct RandomHorizontalFlip {
  double p = 0.5;
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
