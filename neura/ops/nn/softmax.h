// Softmax, log_softmax and variants along one dimension, each in one pass over memory.
#pragma once
#include <optional>

#include "neura/core/tensor.h"

namespace neura {

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/softmax.def"
#include "neura/tables/functions/end.h"

// softmax(-x).
Tensor softmin(const Tensor& input, int dim, std::optional<DType> dtype = {});

// Their gradients from the gradient of the result and the result; differentiable in both.
Tensor softmax_backward(const Tensor& grad_output, const Tensor& output, int dim);
Tensor log_softmax_backward(const Tensor& grad_output, const Tensor& output, int dim);

}  // namespace neura
