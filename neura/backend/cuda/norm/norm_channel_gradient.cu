// Gradients of batch_norm, and those of group_norm: its input's is one of rows, its weight's and bias' are sums over
// channels.
#include "neura/backend/cuda/norm/norm_channels.cuh"

namespace neura::cuda {
namespace {

template <class M> Failed backward(const ChannelGradientOp<number_of<M>, false>& op, const RowPlan& r,
                                   const ColumnSizes& s, int index, cudaStream_t stream) {
  using Op = ChannelGradientOp<number_of<M>, false>;
  if (r.segment.divisor > 1 || !r.n) return run_rows<Op, M>(op, r, true, index, stream);
  ColumnPlan c{};
  c.in[0] = r.in[0], c.in[1] = r.in[1], c.out = r.out;
  return run_columns<Op, M>(op, c, s, index, stream);
}

}  // namespace

void batch_norm_backward(Context& c, View g, View x, View mean, View var, View weight, bool training, double eps,
                         View gx, View gw, View gb) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  const DType computed = accumulation(x.dtype());
  RowStaging staging(index, stream);
  RowPlan r{};
  ColumnSizes sizes;
  Affine a;
  if (Failed f = channel_rows(x, r, sizes)) return c.fail(f);
  if (!r.rows) return;
  if (Failed f = stage_affine(staging, computed, weight, {}, &a)) return c.fail(f);
  for (View* v : {&mean, &var})
    if (Failed f = staging.dense(*v, computed)) return c.fail(f);
  r.in[0] = g.data, r.in[1] = x.data, r.out = gx.data;
  c.fail(with_floating(x.dtype(), [&]<class M>() {
    using E = number_of<M>;
    const ChannelGradientOp<E, false> op{a,      r.segment, mean.as<E>(),         var.as<E>(),
                                         E(eps), !training, parameters_of(gw, gb)};
    return backward<M>(op, r, sizes, index, stream);
  }));
}

void group_norm_backward(Context& c, View g, View x, View mean, View var, View weight, double eps, View gx, View gw,
                         View gb) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  RowStaging staging(index, stream);
  RowPlan r{};
  Affine a;
  if (gx && x.numel()) {
    if (Failed f = stage_affine(staging, accumulation(x.dtype()), weight, {}, &a)) return c.fail(f);
    if (Failed f = group_rows(x, int(mean.numel() / x.size(0)), r, a)) return c.fail(f);
    r.in[0] = g.data, r.in[1] = x.data, r.out = gx.data;
    const NormStatistics s{mean.data, var.data, true, eps};
    if (Failed f = norm_input_gradient(x.dtype(), r, a, s, true, index, stream)) return c.fail(f);
  }
  if (!gw && !gb) return;
  ColumnSizes sizes;
  if (Failed f = channel_rows(x, r, sizes)) return c.fail(f);
  if (!r.rows) return;
  a.groups = x.size(0) ? std::uint32_t(mean.numel() / x.size(0)) : 1;
  a.channels = std::uint32_t(x.size(1)) / a.groups;
  r.in[0] = g.data, r.in[1] = x.data, r.out = nullptr;
  c.fail(with_floating(x.dtype(), [&]<class M>() {
    using E = number_of<M>;
    using Op = ChannelGradientOp<E, true>;
    const Op op{a, r.segment, mean.as<E>(), var.as<E>(), E(eps), false, parameters_of(gw, gb)};
    return launch_rows<Op, M, 1>(op, r, index, stream);
  }));
}

}  // namespace neura::cuda
