// Pooling over three spatial dimensions (fewer: leading sizes of 1).
#pragma once
#include <algorithm>

#include "neura/backend/backend.h"

namespace neura {

struct PoolShape {
  std::int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  std::int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  bool adaptive = false;          // windows follow from in and out; kernel to dilation mean nothing
  bool count_include_pad = true;  // of a mean: does padding count?
  std::int64_t divisor = 0;       // of a mean, in place of the count; 0: none

  std::int64_t in_size() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_size() const { return out[0] * out[1] * out[2]; }
  // The window of result o in dimension d: its first element inside the input, and the first one after it.
  std::int64_t begin(int d, std::int64_t o) const {
    if (adaptive) return o * in[d] / out[d];
    const std::int64_t first = o * stride[d] - padding[d];
    return first >= 0 ? first : first + (-first + dilation[d] - 1) / dilation[d] * dilation[d];
  }
  std::int64_t end(int d, std::int64_t o) const {
    if (adaptive) return ((o + 1) * in[d] + out[d] - 1) / out[d];
    return std::min(in[d], o * stride[d] - padding[d] + (kernel[d] - 1) * dilation[d] + 1);
  }
  std::int64_t step(int d) const { return adaptive ? 1 : dilation[d]; }
};

// Contiguous: x [.., in], y [.., out]. Places are of y's shape: int64, counted within the spatial dimensions of x, or
// uint8, counted within the window (not adaptive; at most 256 elements).
struct pool_kernels {
  NEURA_KERNEL(pool, max, void(Context&, View x, View y, View places, const PoolShape&));
  NEURA_KERNEL(pool, scatter,
               void(Context&, View g, View places, View x, const PoolShape&));  // x = zeros, plus g at the places
  NEURA_KERNEL(pool, gather, void(Context&, View x, View places, View y, const PoolShape&));  // y = x at the places
  NEURA_KERNEL(pool, mean, void(Context&, View x, View y, const PoolShape&));
  NEURA_KERNEL(pool, mean_gradient, void(Context&, View g, View x, const PoolShape&));
};

}  // namespace neura
