// What the files of the normalisations share: weights as kernels read them, and the entries of their table.
#pragma once
#include "neura/backend/cuda/operands.h"
#include "neura/backend/cuda/rowwise/rowwise.h"
#include "neura/backend/kernels/norm.h"

namespace neura::cuda {

// Weight and bias of rows: one number for each column, or for each of `channels` that a row has, `inner` elements long.
// Rows are numbered so that `groups` of them make a sample.
struct Affine {
  const char *w = nullptr, *b = nullptr;  // null: absent
  DType w_dtype = DType::float32, b_dtype = DType::float32;
  std::uint32_t channels = 0, groups = 1;
  Division inner;
};
// Both in the dtype of computation or a half of it, contiguous.
Failed stage_affine(RowStaging&, DType computed, View weight, View bias, Affine*);
// A row for each sample and group of a contiguous x [N, C, ...].
Failed group_rows(const View& x, int groups, RowPlan&, Affine&);
// True if packs of that many elements may share one load or one channel.
bool allows_packs(const Affine&, int pack);

struct ParameterGradients {  // of weight and bias; null: not wanted
  char *w = nullptr, *b = nullptr;
  DType w_dtype = DType::float32, b_dtype = DType::float32;
  std::uint32_t w_bytes = 0, b_bytes = 0;
};
ParameterGradients parameters_of(const View& gw, const View& gb);

struct NormStatistics {  // of each row; `second` is 1 / sqrt(variance + eps), or the variance itself
  void *mean = nullptr, *second = nullptr;
  bool variance = false;
  double eps = 0;
};
Failed norm_forward(DType, RowPlan, const Affine&, const NormStatistics&, bool centred, int index, cudaStream_t);
Failed norm_input_gradient(DType, RowPlan, const Affine&, const NormStatistics&, bool centred, int index, cudaStream_t);

void layer_norm_backward(Context&, View g, View x, View mean, View rstd, View weight, int first, View gx, View gw,
                         View gb);
void rms_norm_backward(Context&, View g, View x, View rstd, View weight, int first, View gx, View gw);
void group_norm(Context&, View x, View weight, View bias, int groups, double eps, View y, View mean, View var);
void group_norm_backward(Context&, View g, View x, View mean, View var, View weight, double eps, View gx, View gw,
                         View gb);
void batch_norm(Context&, View x, View weight, View bias, bool training, double eps, View y, View mean, View var,
                const RunningStatistics&);
void batch_norm_backward(Context&, View g, View x, View mean, View var, View weight, bool training, double eps, View gx,
                         View gw, View gb);

}  // namespace neura::cuda
