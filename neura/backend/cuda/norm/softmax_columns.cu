// Softmax along a dimension that is not the last.
#include "neura/backend/cuda/norm/softmax.cuh"

namespace neura::cuda {

Failed softmax_columns(DType d, SoftmaxKind kind, const char* x, char* y, const ColumnSizes& s, int index,
                       cudaStream_t stream) {
  ColumnPlan c{};
  c.in[0] = x, c.out = y;
  return with_floating(d,
                       [&]<class M>() { return run_columns<SoftmaxOp<number_of<M>>, M>({kind}, c, s, index, stream); });
}
Failed softmax_columns_backward(DType d, bool logarithm, const char* g, const char* y, char* gx, const ColumnSizes& s,
                                int index, cudaStream_t stream) {
  ColumnPlan c{};
  c.in[0] = g, c.in[1] = y, c.out = gx;
  return with_floating(
      d, [&]<class M>() { return run_columns<SoftmaxGradientOp<number_of<M>>, M>({logarithm}, c, s, index, stream); });
}

}  // namespace neura::cuda
