// Gated linear unit and bilinear form, as compositions.
#pragma once
#include "neura/core/tensor.h"

namespace neura {

// The first half along `dim` times the sigmoid of the second. ShapeError for an odd size.
Tensor glu(const Tensor& input, int dim = -1);
// x1ᵀ weight x2 + bias: [..., in1] and [..., in2] with weight [out, in1, in2] and bias [out] (or undefined) -> [...,
// out].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias = {});

}  // namespace neura
