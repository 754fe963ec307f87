// Convolutions over three spatial dimensions (fewer: leading sizes of 1), and the patches they see.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct ConvShape {
  std::int64_t n = 1, channels = 1, filters = 1, groups = 1;  // channels and filters of all groups together
  std::int64_t in[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};  // padding: before the input

  std::int64_t in_size() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_size() const { return out[0] * out[1] * out[2]; }
  std::int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_filters() const { return filters / groups; }
  std::int64_t patch() const { return group_channels() * kernel_size(); }  // values that one result is a sum over
  // Elements from the first to the last that a window touches, with the padding, of dimension d.
  std::int64_t reach(int d) const { return (out[d] - 1) * stride[d] + (kernel[d] - 1) * dilation[d] + 1; }
};

struct Conjugated {  // complex operands: on the fly
  bool first = false, second = false;
};

// Operands and results are contiguous: input [n, channels, in..], weight [filters, channels / groups, kernel..], result
// [n, filters, out..], of one numeric dtype. bias [filters] may be absent.
struct conv_kernels {
  NEURA_KERNEL(conv, forward, void(Context&, View x, View w, View bias, View y, const ConvShape&, Conjugated));
  NEURA_KERNEL(conv, input_gradient,
               void(Context&, View g, View w, View x, const ConvShape&, Conjugated));  // x of the input's shape
  NEURA_KERNEL(conv, weight_gradient,
               void(Context&, View x, View g, View w, const ConvShape&, Conjugated));  // floating, complex
  // columns [n, channels * kernel, out]: the patches of an image of any dtype, and (floating, complex) their sum.
  NEURA_KERNEL(conv, unfold, void(Context&, View x, View columns, const ConvShape&));
  NEURA_KERNEL(conv, fold, void(Context&, View columns, View x, const ConvShape&));
};

}  // namespace neura
