// Kernels of norm.cpp's table that are defined in norm_channels.cpp.
#pragma once
#include "neura/backend/kernels/norm.h"

namespace neura {

void cpu_group_norm(Context&, View x, View weight, View bias, int groups, double eps, View y, View mean, View var);
void cpu_group_norm_backward(Context&, View g, View x, View mean, View var, View weight, double eps, View gx, View gw,
                             View gb);
void cpu_batch_norm(Context&, View x, View weight, View bias, bool training, double eps, View y, View mean, View var,
                    const RunningStatistics&);
void cpu_batch_norm_backward(Context&, View g, View x, View mean, View var, View weight, bool training, double eps,
                             View gx, View gw, View gb);

}  // namespace neura
