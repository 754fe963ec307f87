// Kernels of the normalisations, of floating tensors. Operands and results are contiguous, except x and g of layer_norm
// and rms_norm before `first`. Weights and biases may be absent and of another floating dtype; statistics have the
// dtype of computation (float32 for halves). Absent results (null) are not computed.
#pragma once
#include "neura/backend/backend.h"

namespace neura {

// Statistics of earlier batches, [C] of any floating dtype, which the kernel moves towards the new ones: what they are
// times 1 - momentum, plus momentum times the batch's mean, or its variance as of n - 1 numbers. null: absent
struct RunningStatistics {
  View mean, var;
  double momentum = 0;
};

struct norm_kernels {
  // Over the dimensions from `first` on. y = (x - mean) * rstd * weight + bias
  Entry<void(Context&, View x, View weight, View bias, int first, double eps, View y, View mean, View rstd)> layer_norm;
  Entry<void(Context&, View g, View x, View mean, View rstd, View weight, int first, View gx, View gw, View gb)>
      layer_norm_backward;
  // y = x * rstd * weight; no mean
  Entry<void(Context&, View x, View weight, int first, double eps, View y, View rstd)> rms_norm;
  Entry<void(Context&, View g, View x, View rstd, View weight, int first, View gx, View gw)> rms_norm_backward;

  // x [N, C, …] with statistics [N * groups]; var is the mean of squared differences
  Entry<void(Context&, View x, View weight, View bias, int groups, double eps, View y, View mean, View var)> group_norm;
  Entry<void(Context&, View g, View x, View mean, View var, View weight, double eps, View gx, View gw, View gb)>
      group_norm_backward;
  // x [N, C, …] with statistics [C]: of the batch, written to mean and var; or (`training` false) those given.
  Entry<void(Context&, View x, View weight, View bias, bool training, double eps, View y, View mean, View var,
             const RunningStatistics&)>
      batch_norm;
  Entry<void(Context&, View g, View x, View mean, View var, View weight, bool training, double eps, View gx, View gw,
             View gb)>
      batch_norm_backward;
};

}  // namespace neura
