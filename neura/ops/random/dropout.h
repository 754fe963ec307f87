// Dropout: elements, or whole channels, become 0 with probability p; the others are scaled by 1 / (1 - p).
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// ValueError for p outside [0, 1]. Without `training`, or with p = 0, the input itself.
Tensor dropout(const Tensor& input, double p = 0.5, bool training = true);
// Whole channels of [N, C, L], [N, C, H, W] and [N, C, D, H, W]; dropout1d and dropout3d also of one sample without N.
Tensor dropout1d(const Tensor& input, double p = 0.5, bool training = true);
Tensor dropout2d(const Tensor& input, double p = 0.5, bool training = true);
Tensor dropout3d(const Tensor& input, double p = 0.5, bool training = true);
// Alpha dropout: dropped elements become SELU's negative saturation value, so that mean and deviation are kept.
Tensor alpha_dropout(const Tensor& input, double p = 0.5, bool training = false);
Tensor feature_alpha_dropout(const Tensor& input, double p = 0.5, bool training = false);

}  // namespace neura
