// batch_norm forward: statistics of each channel over samples and positions, or given ones.
#include "neura/backend/cuda/norm/norm_channels.cuh"

namespace neura::cuda {

Failed channel_rows(const View& x, RowPlan& r, ColumnSizes& s) {
  std::int64_t inner = 1;
  for (int d = 2; d < x.rank(); ++d) inner *= x.size(d);
  const std::int64_t n = x.size(0) * inner, bytes = size_of(x.dtype());
  if (n >> 31 || x.size(1) >> 31)
    return fail(DeviceFailure::absent, "expected channels of fewer than 2^31 elements on cuda, got more");
  r.rows = x.size(1), r.n = std::uint32_t(n);
  r.segment = division(std::uint32_t(inner)), r.segment_pitch = r.rows * inner * bytes;
  r.pitch[0] = r.pitch[1] = r.out_pitch = inner * bytes;
  s = {1, x.size(0), x.size(1)};
  return nullptr;
}

namespace {

template <class M> Failed forward(const BatchOp<number_of<M>>& op, const RowPlan& r, const ColumnSizes& s, int index,
                                  cudaStream_t stream) {
  using Op = BatchOp<number_of<M>>;
  if (r.segment.divisor > 1 || !r.n) return run_rows<Op, M>(op, r, true, index, stream);
  ColumnPlan c{};
  c.in[0] = r.in[0], c.out = r.out;
  return run_columns<Op, M>(op, c, s, index, stream);
}

template <class E> Running<E> running_of(const View& v, double momentum, double factor) {
  if (!v) return {};
  return {v.data, v.dtype(), v.stride(0) * size_of(v.dtype()), E(1 - momentum), E(momentum * factor)};
}

}  // namespace

void batch_norm(Context& c, View x, View weight, View bias, bool training, double eps, View y, View mean, View var,
                const RunningStatistics& running) {
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
  if (Failed f = stage_affine(staging, computed, weight, bias, &a)) return c.fail(f);
  if (!training)
    for (View* v : {&mean, &var})
      if (Failed f = staging.dense(*v, computed)) return c.fail(f);
  a.channels = 1, a.groups = std::uint32_t(r.rows), a.inner = division(r.n);
  r.in[0] = x.data, r.out = y.data;
  c.fail(with_floating(x.dtype(), [&]<class M>() {
    using E = number_of<M>;
    const double n = r.n, momentum = running.momentum;
    const BatchOp<E> op{{a, mean.as<E>(), var.as<E>(), E(eps), true, true},
                        !training,
                        running_of<E>(running.mean, momentum, 1),
                        running_of<E>(running.var, momentum, n / (n - 1))};
    return forward<M>(op, r, sizes, index, stream);
  }));
}

}  // namespace neura::cuda
