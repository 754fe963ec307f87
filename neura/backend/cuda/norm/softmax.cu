// Softmax, log_softmax and their gradients.
#include "neura/backend/cuda/norm/softmax.cuh"

namespace neura::cuda {
namespace {

ColumnSizes sizes_of(const View& x, int dim) {
  ColumnSizes s{1, x.rank() ? x.size(dim) : 1, 1};
  for (int d = 0; d < x.rank(); ++d)
    if (d != dim) (d < dim ? s.outer : s.inner) *= x.size(d);
  return s;
}

void forward(Context& c, View x, int dim, SoftmaxKind kind, View y) {
  if (!x.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  const ColumnSizes sizes = sizes_of(x, dim);
  RowStaging staging(index, stream);
  if (sizes.inner > 1) {
    if (Failed f = staging.dense(x)) return c.fail(f);
    return c.fail(softmax_columns(x.dtype(), kind, x.data, y.data, sizes, index, stream));
  }
  RowPlan r{};
  if (Failed f = staging.plan({&x}, x.rank() ? dim : 0, y.data, r)) return c.fail(f);
  c.fail(with_floating(
      x.dtype(), [&]<class M>() { return run_rows<SoftmaxOp<number_of<M>>, M>({kind}, r, true, index, stream); }));
}

void backward(Context& c, View g, View y, int dim, bool logarithm, View gx) {
  if (!y.numel()) return;
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  const ColumnSizes sizes = sizes_of(y, dim);
  RowStaging staging(index, stream);
  if (sizes.inner > 1) {
    for (View* v : {&g, &y})
      if (Failed f = staging.dense(*v)) return c.fail(f);
    return c.fail(softmax_columns_backward(y.dtype(), logarithm, g.data, y.data, gx.data, sizes, index, stream));
  }
  RowPlan r{};
  if (Failed f = staging.plan({&g, &y}, y.rank() ? dim : 0, gx.data, r)) return c.fail(f);
  c.fail(with_floating(y.dtype(), [&]<class M>() {
    return run_rows<SoftmaxGradientOp<number_of<M>>, M>({logarithm}, r, true, index, stream);
  }));
}

}  // namespace

const softmax_kernels* softmax() {
  static constexpr softmax_kernels table{.softmax = forward, .softmax_backward = backward};
  return &table;
}

}  // namespace neura::cuda
