// Windows that slide: the attributes of convolutions and pools, and what padding they mean.
#pragma once
#include "neura/onnx/operators.h"

namespace neura::onnx {

struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, pads, output_padding, output_shape;
  std::string auto_pad;
  std::int64_t group = 1;
  bool ceil = false;

  explicit Window(const Node&);
  int dims(const Tensor& x) const;  // spatial ones; ShapeError unless the attributes have as many
  std::int64_t stride(int i) const { return strides.empty() ? 1 : strides[std::size_t(i)]; }
  std::int64_t dilation(int i) const { return dilations.empty() ? 1 : dilations[std::size_t(i)]; }
};

struct Place {  // of one spatial dimension: zeros before and after, how many windows
  std::int64_t before, after, count;
};
// After padding by `before` and `after` (which may be negative), exactly `count` windows of that kernel fit.
std::vector<Place> places(const Window&, const Shape& kernel, const Tensor& x);

// [N, C, spatial...] with the padding of the places.
Tensor padded(const Tensor& x, const std::vector<Place>&, double value);

Tensor convolve(const Window&, const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace neura::onnx
