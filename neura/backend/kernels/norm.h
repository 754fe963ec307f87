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
  NEURA_KERNEL(norm, layer_norm,
               void(Context&, View x, View weight, View bias, int first, double eps, View y, View mean, View rstd));
  NEURA_KERNEL(norm, layer_norm_backward,
               void(Context&, View g, View x, View mean, View rstd, View weight, int first, View gx, View gw, View gb));
  // y = x * rstd * weight; no mean
  NEURA_KERNEL(norm, rms_norm, void(Context&, View x, View weight, int first, double eps, View y, View rstd));
  NEURA_KERNEL(norm, rms_norm_backward,
               void(Context&, View g, View x, View rstd, View weight, int first, View gx, View gw));

  // x [N, C, …] with statistics [N * groups]; var is the mean of squared differences
  NEURA_KERNEL(norm, group_norm,
               void(Context&, View x, View weight, View bias, int groups, double eps, View y, View mean, View var));
  NEURA_KERNEL(norm, group_norm_backward,
               void(Context&, View g, View x, View mean, View var, View weight, double eps, View gx, View gw, View gb));
  // x [N, C, …] with statistics [C]: of the batch, written to mean and var; or (`training` false) those given.
  NEURA_KERNEL(norm, batch_norm,
               void(Context&, View x, View weight, View bias, bool training, double eps, View y, View mean, View var,
                    const RunningStatistics&));
  NEURA_KERNEL(norm, batch_norm_backward,
               void(Context&, View g, View x, View mean, View var, View weight, bool training, double eps, View gx,
                    View gw, View gb));
};

}  // namespace neura
