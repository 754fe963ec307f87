// Scans along `dim` of contiguous operands, in float32, float64, int64, complex64 or complex128 (as each entry says);
// operand and result have one dtype.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

struct scan_kernels {
  // y[k] = x[0] + … + x[k], or the product; reverse: from the end. All five dtypes.
  NEURA_KERNEL(scan, cumulate, void(Context&, bool product, int dim, bool reverse, View x, View y));
  // y[k] = b[k] + a[k] y[k - 1]; reverse: y[k] = b[k] + a[k + 1] y[k + 1]. Floating and complex.
  NEURA_KERNEL(scan, recurrence, void(Context&, int dim, bool reverse, View a, View b, View y));
  // y[k] = x[k - 1], or x[k + 1] (back); `fill` where there is no such element. All five.
  NEURA_KERNEL(scan, shift, void(Context&, int dim, bool back, double fill, View x, View y));
  // Running extreme and the index of the last element that reached it. float32, float64, int64.
  NEURA_KERNEL(scan, extreme, void(Context&, bool largest, int dim, View x, View values, View indices));
  // y[k] = log(exp(x[0]) + … + exp(x[k])). Floating and complex.
  NEURA_KERNEL(scan, logcumsumexp, void(Context&, int dim, View x, View y));
};

}  // namespace neura
