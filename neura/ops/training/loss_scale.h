// Loss scaling of mixed precision: unscaling gradients, updating the scale. Nothing here waits for a device.
#pragma once
#include <span>

#include "neura/core/tensor.h"

namespace neura {

// Multiplies each of the gradients, floating or complex and dense, by inverse_scale, one float32 number; found_inf, one
// float32 number, becomes 1 where an element was not finite before. No two of the tensors share memory.
void unscale_gradients(std::span<const Tensor> gradients, const Tensor& inverse_scale, const Tensor& found_inf);

struct ScaleGrowth {
  double growth_factor = 2, backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
};
// After a step. found_inf > 0: scale falls by backoff_factor, and tracker starts again. Else tracker counts, and at
// growth_interval the scale grows, unless beyond float32, and it starts again. All three are one number of one device.
void update_scale(Tensor& scale, Tensor& tracker, const Tensor& found_inf, const ScaleGrowth&);

}  // namespace neura
