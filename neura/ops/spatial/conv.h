// Convolutions over one, two and three spatial dimensions, their transposes, and the patches they see.
#pragma once
#include <string_view>

#include "neura/core/arguments.h"
#include "neura/core/tensor.h"
#include "neura/ops/spatial/spatial.h"

namespace neura {

struct Padding {  // zeros on both sides of every spatial dimension, or "same" (stride 1) or "valid" (none)
  enum Mode : std::uint8_t { numbers, same, valid, unknown };
  PerDim amount = 0;
  Mode mode = numbers;

  Padding() = default;
  Padding(std::integral auto everywhere) : amount(everywhere) {}
  Padding(std::initializer_list<std::int64_t> l) : amount(l) {}
  Padding(const Shape& s) : amount(s) {}
  Padding(std::string_view text) : mode(text == "same" ? same : text == "valid" ? valid : unknown) {}
  Padding(const char* text) : Padding(std::string_view(text)) {}
};

struct ConvOptions {
  PerDim stride = 1;
  Padding padding = 0;
  PerDim dilation = 1;
  std::int64_t groups = 1;
};
// input [n, channels, spatial..] (or without n), weight [out, channels / groups, kernel..], bias [out] or undefined
// -> [n, out, spatial..]. Differentiable to any order. ShapeError, ValueError, DTypeError.
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

struct ConvTransposeOptions {
  PerDim stride = 1;
  PerDim padding = 0;
  PerDim output_padding = 0;
  std::int64_t groups = 1;
  PerDim dilation = 1;
};
// The gradient of a convolution as an operation: input [n, channels, spatial..] (or without n), weight [channels,
// out / groups, kernel..], bias [out] or undefined.
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});

struct UnfoldOptions {
  PerDim dilation = 1, padding = 0, stride = 1;
  NEURA_ARGUMENTS(dilation, padding, stride)
};
// The patches under a sliding window: [n, channels, h, w] (or without n) -> [n, channels * kernel, windows]. fold adds
// patches back into an image of output_size.
Tensor unfold(const Tensor& input, const PerDim& kernel_size, const UnfoldOptions& options = {});
Tensor fold(const Tensor& input, const PerDim& output_size, const PerDim& kernel_size,
            const UnfoldOptions& options = {});

}  // namespace neura
