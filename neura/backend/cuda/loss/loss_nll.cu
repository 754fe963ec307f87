// The loss of log-probabilities: one element of each sample is read, and the gradient is zero elsewhere.
#include "neura/backend/cuda/loss/loss.cuh"

namespace neura::cuda {
namespace {

template <class M> __global__ void __launch_bounds__(kThreads) pick(const __grid_constant__ Scores<number_of<M>> s) {
  using N = number_of<M>;
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= s.samples) return;
  const std::int64_t t = s.target_of(i);
  N value = N(0);
  if (t >= 0) value = -cast<N>(reinterpret_cast<const M*>(s.x)[s.begin(i) + t * s.step]) * s.weight_of(t);
  store_simple(s.values, s.values_dtype, i, value);
}
template <class M> __global__ void __launch_bounds__(kThreads) put(const __grid_constant__ Scores<number_of<M>> s) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= s.samples) return;
  if (const std::int64_t t = s.target_of(i); t >= 0)
    reinterpret_cast<M*>(s.gx)[s.begin(i) + t * s.step] = cast<M>(-incoming(s, i) * s.weight_of(t));
}

template <class M>
Failed nll(Context& c, View x, View target, View weight, const LossOptions& o, View loss, View total) {
  LossCall call(c);
  Scores<number_of<M>> s;
  if (Failed f = call.prepare(x, target, weight, o, false, s)) return f;
  if (Failed f = call.results(loss, total.data, o, s)) return f;
  if (s.samples) pick<M><<<blocks_of(s.samples, kThreads), kThreads, 0, call.stream>>>(s);
  return call.sum(s);
}
template <class M>
Failed nll_backward(Context& c, View g, View target, View weight, View total, const LossOptions& o, View gx) {
  using N = number_of<M>;
  LossCall call(c);
  Scores<N> s;
  if (Failed f = call.prepare(gx, target, weight, o, false, s)) return f;
  call.incoming(g, total.as<N>(), o, gx, s);
  NEURA_CUDA_TRY(cudaMemsetAsync(gx.data, 0, gx.spec->bytes(), call.stream), "nll_loss");
  if (s.samples) put<M><<<blocks_of(s.samples, kThreads), kThreads, 0, call.stream>>>(s);
  return nullptr;
}

}  // namespace

void nll_loss(Context& c, View x, View target, View weight, const LossOptions& o, View loss, View total) {
  NEURA_LOSS_BY_DTYPE(x, nll, c, x, target, weight, o, loss, total);
}
void nll_loss_backward(Context& c, View g, View target, View weight, View total, const LossOptions& o, View gx) {
  NEURA_LOSS_BY_DTYPE(gx, nll_backward, c, g, target, weight, total, o, gx);
}

}  // namespace neura::cuda
