// Softmax, log_softmax and variants along one dimension, each in one pass over memory.
#pragma once
#include <optional>

#include "neura/core/tensor.h"

namespace neura {

// exp(x) / sum(exp(x)) along `dim`, of a floating tensor of any shape; an integer tensor needs `dtype`, to which the
// input is converted first. A line of -inf gives NaN. IndexError for a dimension that is not there, DTypeError for
// complex.
Tensor softmax(const Tensor& input, int dim, std::optional<DType> dtype = {});
// log(softmax(x)), computed without overflow or loss of digits.
Tensor log_softmax(const Tensor& input, int dim, std::optional<DType> dtype = {});
// softmax(-x).
Tensor softmin(const Tensor& input, int dim, std::optional<DType> dtype = {});
// softmax, but a line of -inf gives zeros: attention whose mask hides everything.
Tensor _safe_softmax(const Tensor& input, int dim, std::optional<DType> dtype = {});

// Their gradients from the gradient of the result and the result; differentiable in both.
Tensor softmax_backward(const Tensor& grad_output, const Tensor& output, int dim);
Tensor log_softmax_backward(const Tensor& grad_output, const Tensor& output, int dim);

}  // namespace neura
