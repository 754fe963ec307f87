// Activations that draw random numbers.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// leaky_relu whose slope is drawn from [lower, upper) for each element in training, and is their mean otherwise.
// ValueError for lower > upper.
Tensor rrelu(const Tensor& input, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false);
// A sample of the categorical distribution with these unnormalised logarithms of probabilities, relaxed: softmax of
// (logits + Gumbel noise) / tau along dim. hard: one-hot, with the gradient of the relaxed one.
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int dim = -1);

}  // namespace neura
