// What the normalisations share: checks of dtypes, and gradients made of differentiable operations.
#pragma once
#include <string>

#include "neura/backend/kernels/norm.h"
#include "neura/ops/apply.h"
#include "neura/ops/copy.h"
#include "neura/ops/rows.h"
#include "neura/ops/view.h"

namespace neura {

inline Spec absent() {
  Spec s;
  s.rank = kAbsent;
  return s;
}
// A floating input; weight and bias of its dtype, or float32 where it is a half. DTypeError.
void check_norm_dtypes(const char* op, const Spec& x, const Spec& w, const Spec& b);

// Of weight or bias, whichever is wanted.
inline DType parameter_dtype(const Gradient& g, DType otherwise) {
  for (int i = 1; i < 3; ++i)
    if (g.needs(i) && g.meta[i]) return g.meta[i]->dtype;
  return otherwise;
}

// x less its mean over `dims`; twice, because the first mean is rounded: of numbers around 10^6 a float holds it to
// 0.03.
Tensor around_mean(const Tensor& x, const Dims& dims);

// Of y = xhat w + b: gx = rstd (g w - mean(g w) - xhat mean(g w xhat)), the means over `dims` and the first only if
// `centred` (neither if `fixed`: the statistics were given); gw = sum(g xhat) and gb = sum(g) over `others`.
// `broadcast`: the sizes in which weight meets the input, where it needs other ones than its own.
void norm_gradients(Gradient& g, const Tensor& xhat, const Tensor& rstd, const Dims& dims, const Dims& others,
                    const Tensor& weight, const Shape& broadcast, bool centred, bool fixed = false);

}  // namespace neura
