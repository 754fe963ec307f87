// Shared by the normalisations and softmax.
#pragma once
#include <string>

#include "neura/backend/kernels/norm.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"

namespace neura {

inline Spec absent() {
  Spec s;
  s.rank = kAbsent;
  return s;
}
// A floating input; weight and bias of its dtype, or float32 where it is a half. DTypeError.
void check_norm_dtypes(const char* op, const Spec& x, const Spec& w, const Spec& b);

// What a kernel of the dimensions from `first` on takes, or of that one alone: the last one may be strided, for others
// x is contiguous.
inline Tensor laid_out(const Tensor& x, int first) {
  return first >= x.dim() - 1 || x.is_contiguous() ? x : contiguous(x);
}

struct NormOperands {  // the first ones of all normalisations
  NEURA_OPERANDS(input, weight, bias)
};
struct BatchNormOperands {
  NEURA_OPERANDS(input, weight, bias, running_mean, running_var)
};
struct RowNormBackwardOperands {
  NEURA_OPERANDS(grad_output, input, mean, rstd, weight)
};
struct NormBackwardOperands {  // of group_norm and batch_norm
  NEURA_OPERANDS(grad_output, input, mean, var, weight)
};

// The dtype of weight or bias, whichever needs a gradient; else `otherwise`.
inline DType parameter_dtype(const Gradient& g, DType otherwise) {
  for (const int i : {NormOperands::In::weight, NormOperands::In::bias})
    if (g.needs(i) && g.meta[i]) return g.meta[i]->dtype;
  return otherwise;
}

// x less its mean over `dims`; twice, because the first mean is rounded: of numbers around 10^6 a float holds it to
// 0.03.
Tensor around_mean(const Tensor& x, const Dims& dims);

// y = xhat weight + bias, in `dtype`; either may be absent.
Tensor scaled(const Tensor& xhat, const Tensor& weight, const Tensor& bias, DType dtype);

}  // namespace neura
