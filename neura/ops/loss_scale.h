// The scale of a loss in mixed precision: taking it off the gradients, and its growth. Nothing here waits for a device.
#pragma once
#include <span>

#include "neura/ops/apply.h"

namespace neura {

// Operand 0: what to multiply by, one float32 number. Operand 1: one float32 number that becomes 1 where an element of
// the others was not finite before. The others are floating or complex, and dense; no two share memory.
struct UnscaleGradients {
  static constexpr int results = 0;
  static constexpr Operation op = operation("unscale_").list(1, 2).writes(in(1, 2));
  NEURA_FIELDS()
  void infer(std::span<const Spec* const> operands, Spec&) const;
  void run(Context&, std::span<const View> operands, const View&) const;
};
void unscale_gradients(std::span<const Tensor> gradients, const Tensor& inverse_scale, const Tensor& found_inf);

struct ScaleGrowth {
  double growth_factor = 2, backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
};
// After a step. found_inf > 0: scale falls by backoff_factor, and tracker starts anew. Else tracker counts, and at
// growth_interval the scale grows, unless beyond float32, and it starts anew. All three are one number of one device.
void update_scale(Tensor& scale, Tensor& tracker, const Tensor& found_inf, const ScaleGrowth&);

}  // namespace neura
