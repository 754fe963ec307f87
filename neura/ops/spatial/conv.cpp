#include "neura/ops/spatial/conv.h"

#include <algorithm>

#include "neura/core/checked_int.h"
#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/conv_ops.h"

namespace neura {
namespace {

std::string operands(const Tensor& input, const Tensor& weight, std::int64_t groups) {
  return " (input " + input.shape().str() + ", weight " + weight.shape().str() + ", groups " + std::to_string(groups) +
         ")";
}

void check_operands(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias, std::int64_t groups,
                    int dims, std::int64_t filters) {
  check<ShapeError>(weight.dim() == dims + 2, [&] {
    return std::string(op) + ": expected a weight of " + std::to_string(dims + 2) + " dimensions, got " +
           weight.spec().str();
  });
  check<ShapeError>(input.dim() == dims + 2 || input.dim() == dims + 1, [&] {
    return std::string(op) + ": expected an input of " + std::to_string(dims + 2) + " dimensions, or " +
           std::to_string(dims + 1) + " without a batch, got " + input.spec().str();
  });
  check<ValueError>(groups > 0,
                    [&] { return std::string(op) + ": expected at least one group, got " + std::to_string(groups); });
  check<ShapeError>(!bias || (bias.dim() == 1 && bias.size(0) == filters), [&] {
    return std::string(op) + ": expected bias [" + std::to_string(filters) + "], got " + bias.spec().str();
  });
}

Tensor with_batch(const Tensor& x, bool batched) { return batched ? x : unsqueeze(x, 0); }

// The same for one, two and three dimensions. "same" pads the more at the end where it cannot be even.
Tensor convolve(const char* op, int dims, const Tensor& input, const Tensor& weight, const Tensor& bias,
                const ConvOptions& o) {
  if (const amp::CastScope cast{amp::Name::convolution, input, weight})
    return convolve(op, dims, cast(input), cast(weight), cast(bias), o);
  check_given(op, "weight", weight);
  check_operands(op, input, weight, bias, o.groups, dims, weight.dim() ? weight.size(0) : 0);
  const Shape stride = per_dim(op, "stride", o.stride, dims, 1),
              dilation = per_dim(op, "dilation", o.dilation, dims, 1);
  const bool batched = input.dim() == dims + 2;
  const Tensor x = with_batch(input, batched);
  check<ShapeError>(weight.size(0) % o.groups == 0, [&] {
    return std::string(op) + ": expected filters that divide into groups, got " + std::to_string(weight.size(0)) +
           operands(input, weight, o.groups);
  });
  const std::int64_t channels = (CheckedInt(weight.size(1)) * o.groups).of(op);
  check<ShapeError>(x.size(1) == channels, [&] {
    return std::string(op) + ": expected an input of " + std::to_string(channels) + " channels, got " +
           std::to_string(x.size(1)) + operands(input, weight, o.groups);
  });
  check<ValueError>(o.padding.mode != Padding::unknown,
                    [&] { return std::string(op) + ": expected padding of numbers, \"same\" or \"valid\""; });
  ConvolutionShape s;
  s.dims = dims, s.groups = o.groups, s.stride = stride, s.dilation = dilation;
  s.before = s.after = Shape::filled(dims, 0);
  if (o.padding.mode == Padding::numbers) s.before = s.after = per_dim(op, "padding", o.padding.amount, dims, 0);
  for (int d = 0; d < dims; ++d) {
    const std::int64_t reach = (dilation[d] * (CheckedInt(weight.size(d + 2)) - 1)).of(op);
    if (o.padding.mode == Padding::same) {
      check<ValueError>(stride[d] == 1, [&] {
        return std::string(op) + ": expected stride 1 with padding \"same\", got " + o.stride.str();
      });
      s.before[d] = reach / 2, s.after[d] = reach - reach / 2;
    }
    const std::int64_t padded = x.size(d + 2) + s.before[d] + s.after[d];
    check<ShapeError>(weight.size(d + 2) > 0 && padded > reach, [&] {
      return std::string(op) + ": expected a kernel no larger than the padded input, got " + std::to_string(reach + 1) +
             " against " + std::to_string(padded) + operands(input, weight, o.groups);
    });
  }
  const Tensor y = apply(ConvolutionOp{s}, x.contiguous(), weight.contiguous(), bias ? bias.contiguous() : bias);
  return batched ? y : squeeze(y, 0);
}

Tensor convolve_transposed(const char* op, int dims, const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const ConvTransposeOptions& o) {
  if (const amp::CastScope cast{amp::Name::convolution, input, weight})
    return convolve_transposed(op, dims, cast(input), cast(weight), cast(bias), o);
  check_given(op, "weight", weight);
  const std::int64_t filters = weight.dim() > 1 ? (CheckedInt(weight.size(1)) * o.groups).of(op) : 0;
  check_operands(op, input, weight, bias, o.groups, dims, filters);
  const bool batched = input.dim() == dims + 2;
  const Tensor x = with_batch(input, batched);
  check<ShapeError>(x.size(1) == weight.size(0) && weight.size(0) % o.groups == 0, [&] {
    return std::string(op) + ": expected an input of " + std::to_string(weight.size(0)) +
           " channels, which divide into groups, got " + std::to_string(x.size(1)) + operands(input, weight, o.groups);
  });
  ConvolutionShape s;
  s.dims = dims, s.groups = o.groups;
  s.stride = per_dim(op, "stride", o.stride, dims, 1), s.dilation = per_dim(op, "dilation", o.dilation, dims, 1);
  s.before = s.after = per_dim(op, "padding", o.padding, dims, 0);
  const Shape extra = per_dim(op, "output_padding", o.output_padding, dims, 0);
  Shape sizes;
  for (int d = 0; d < dims; ++d) {
    check<ValueError>(extra[d] < std::max(s.stride[d], s.dilation[d]), [&] {
      return std::string(op) + ": expected output_padding below stride or dilation, got " + o.output_padding.str();
    });
    const CheckedInt steps = (CheckedInt(x.size(d + 2)) - 1) * s.stride[d],
                     reach = s.dilation[d] * (CheckedInt(weight.size(d + 2)) - 1);
    sizes.push_back((steps - 2 * s.before[d] + reach + extra[d] + 1).of(op));
    // Padding after the input such that a convolution of the result has exactly the input's size, for any
    // output_padding.
    s.after[d] = (steps + reach + 1 - sizes[d] - s.before[d]).of(op);
    check<ShapeError>(x.size(d + 2) > 0 && weight.size(d + 2) > 0 && sizes[d] > 0, [&] {
      return std::string(op) + ": expected a result of at least one element in every dimension, got " +
             std::to_string(sizes[d]) + operands(input, weight, o.groups);
    });
  }
  check<DTypeError>(!bias || bias.dtype() == x.dtype(), [&] {  // no operand of the call, which has the weight compared
    return std::string(op) + ": expected a bias of the result's dtype " + name(x.dtype()) + ", got " +
           bias.spec().str() + "; convert it with .to()";
  });
  Tensor y = apply(ConvolutionBackwardInput{s, sizes}, x.contiguous(), weight.contiguous());
  if (bias) {
    Shape shape = Shape::filled(dims + 1, 1);
    shape[0] = filters;
    y = add(y, reshape(bias, shape));
  }
  return batched ? y : squeeze(y, 0);
}

// The window of unfold and fold over an image of these sizes.
ConvolutionShape patches(const char* op, const PerDim& kernel, const UnfoldOptions& o, const Shape& image,
                         Shape& kernel_size) {
  ConvolutionShape s;
  s.dims = 2, s.groups = 1;
  kernel_size = per_dim(op, "kernel_size", kernel, 2, 1);
  s.stride = per_dim(op, "stride", o.stride, 2, 1), s.dilation = per_dim(op, "dilation", o.dilation, 2, 1);
  s.before = s.after = per_dim(op, "padding", o.padding, 2, 0);
  for (int d = 0; d < 2; ++d)
    check<ShapeError>(image[d] + 2 * s.before[d] > s.dilation[d] * (kernel_size[d] - 1), [&] {
      return std::string(op) + ": expected a window no larger than the padded image, got kernel_size " +
             kernel_size.str() + " on " + image.str();
    });
  return s;
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolve("conv1d", 1, input, weight, bias, options);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolve("conv2d", 2, input, weight, bias, options);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  return convolve("conv3d", 3, input, weight, bias, options);
}
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return convolve_transposed("conv_transpose1d", 1, input, weight, bias, options);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return convolve_transposed("conv_transpose2d", 2, input, weight, bias, options);
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
  return convolve_transposed("conv_transpose3d", 3, input, weight, bias, options);
}

Tensor unfold(const Tensor& input, const PerDim& kernel_size, const UnfoldOptions& options) {
  check<ShapeError>((input.dim() == 3 || input.dim() == 4) && input.size(-1) && input.size(-2) && input.size(-3), [&] {
    return "unfold: expected [n, channels, h, w] or [channels, h, w], got " + input.spec().str();
  });
  const bool batched = input.dim() == 4;
  Shape kernel;
  const ConvolutionShape s = patches("unfold", kernel_size, options, {input.size(-2), input.size(-1)}, kernel);
  const Tensor y = apply(Im2Col{s, kernel}, with_batch(input, batched).contiguous());
  return batched ? y : squeeze(y, 0);
}
Tensor fold(const Tensor& input, const PerDim& output_size, const PerDim& kernel_size, const UnfoldOptions& options) {
  check<ShapeError>(input.dim() == 2 || input.dim() == 3, [&] {
    return "fold: expected [n, channels * kernel, windows] or without n, got " + input.spec().str();
  });
  const bool batched = input.dim() == 3;
  Shape kernel;
  const Shape size = per_dim("fold", "output_size", output_size, 2, 1);
  const ConvolutionShape s = patches("fold", kernel_size, options, size, kernel);
  const Tensor y = apply(FoldOp{s, kernel, size}, with_batch(input, batched).contiguous());
  return batched ? y : squeeze(y, 0);
}

}  // namespace neura
