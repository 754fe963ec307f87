// layer_norm, rms_norm and group_norm: every row has statistics of its own.
#include "neura/backend/cuda/norm/norm.cuh"

namespace neura::cuda {

Failed stage_affine(RowStaging& staging, DType computed, View weight, View bias, Affine* a) {
  for (View* v : {&weight, &bias}) {
    const bool half = computed == DType::float32 && (v->data && bit(v->dtype()) & dtypes::halves);
    if (v->data)
      if (Failed f = staging.dense(*v, half ? v->dtype() : computed)) return f;
  }
  if (weight) a->w = weight.data, a->w_dtype = weight.dtype();
  if (bias) a->b = bias.data, a->b_dtype = bias.dtype();
  return nullptr;
}
ParameterGradients parameters_of(const View& gw, const View& gb) {
  ParameterGradients p;
  if (gw) p.w = gw.data, p.w_dtype = gw.dtype(), p.w_bytes = std::uint32_t(size_of(gw.dtype()));
  if (gb) p.b = gb.data, p.b_dtype = gb.dtype(), p.b_bytes = std::uint32_t(size_of(gb.dtype()));
  return p;
}
bool allows_packs(const Affine& a, int pack) {
  if (a.channels) return a.inner.divisor % std::uint32_t(pack) == 0;
  return (reinterpret_cast<std::uintptr_t>(a.w) | reinterpret_cast<std::uintptr_t>(a.b)) % 16 == 0;
}

Failed group_rows(const View& x, int groups, RowPlan& r, Affine& a) {
  const std::int64_t inner = x.numel() / (x.size(0) * x.size(1)), n = x.size(1) / groups * inner;
  if (n >> 31) return fail(DeviceFailure::absent, "expected groups of fewer than 2^31 elements on cuda, got more");
  a.channels = std::uint32_t(x.size(1) / groups), a.groups = std::uint32_t(groups);
  a.inner = division(std::uint32_t(inner));
  r.rows = x.size(0) * groups, r.n = std::uint32_t(n);
  r.pitch[0] = r.pitch[1] = r.out_pitch = n * size_of(x.dtype());
  return nullptr;
}

Failed norm_forward(DType d, RowPlan r, const Affine& a, const NormStatistics& s, bool centred, int index,
                    cudaStream_t stream) {
  return with_floating(d, [&]<class M>() -> Failed {
    using E = number_of<M>;
    constexpr int V = 16 / sizeof(M);
    const bool packs = allows_packs(a, V);
    const auto with = [&]<class W>() {
      return NormOp<E, W>{a, static_cast<E*>(s.mean), static_cast<E*>(s.second), E(s.eps), centred, s.variance};
    };
    if constexpr (V > 2) {  // no pack asks what its weights are
      const bool both = a.w && a.b && !a.channels && a.w_dtype == a.b_dtype;
      if (both && packs && in_packs<NormOp<E>, M>(r) && is_held<NormOp<E>, V>(r)) {
        if (a.w_dtype == d) return launch_held<NormOp<E, M>, M, V>(with.template operator()<M>(), r, index, stream);
        if (a.w_dtype == DType::float32)
          return launch_held<NormOp<E, float>, M, V>(with.template operator()<float>(), r, index, stream);
      }
    }
    return run_rows<NormOp<E>, M>(with.template operator()<void>(), r, packs, index, stream);
  });
}

namespace {

void rows_forward(Context& c, View x, View weight, View bias, int first, double eps, View y, View mean, View rstd,
                  bool centred) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  RowStaging staging(index, stream);
  RowPlan r{};
  Affine a;
  if (Failed f = staging.plan({&x}, first, y.data, r)) return c.fail(f);
  if (!r.rows) return;
  const NormStatistics s{mean.data, rstd.data, false, eps};
  if (Failed f = stage_affine(staging, accumulation(x.dtype()), weight, bias, &a)) return c.fail(f);
  c.fail(norm_forward(x.dtype(), r, a, s, centred, index, stream));
}
void layer_norm(Context& c, View x, View weight, View bias, int first, double eps, View y, View mean, View rstd) {
  rows_forward(c, x, weight, bias, first, eps, y, mean, rstd, true);
}
void rms_norm(Context& c, View x, View weight, int first, double eps, View y, View rstd) {
  rows_forward(c, x, weight, {}, first, eps, y, {}, rstd, false);
}

}  // namespace

void group_norm(Context& c, View x, View weight, View bias, int groups, double eps, View y, View mean, View var) {
  const int index = c.device.index;
  const OnDevice on(index);
  const cudaStream_t stream = current_stream(index);
  RowStaging staging(index, stream);
  Affine a;
  if (Failed f = stage_affine(staging, accumulation(x.dtype()), weight, bias, &a)) return c.fail(f);
  RowPlan r{};
  if (Failed f = group_rows(x, groups, r, a)) return c.fail(f);
  r.in[0] = x.data, r.out = y.data;
  c.fail(norm_forward(x.dtype(), r, a, {mean.data, var.data, true, eps}, true, index, stream));
}

const norm_kernels* norm() {
  static constexpr norm_kernels table{.layer_norm = layer_norm,
                                      .layer_norm_backward = layer_norm_backward,
                                      .rms_norm = rms_norm,
                                      .rms_norm_backward = rms_norm_backward,
                                      .group_norm = group_norm,
                                      .group_norm_backward = group_norm_backward,
                                      .batch_norm = batch_norm,
                                      .batch_norm_backward = batch_norm_backward};
  return &table;
}

}  // namespace neura::cuda
