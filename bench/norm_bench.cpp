// Normalisations, forward and both ways.
#include <benchmark/benchmark.h>

#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/random/random.h"

namespace neura {
namespace {

void count(benchmark::State& state, const Tensor& x, int tensors) {
  state.SetBytesProcessed(state.iterations() * std::int64_t(x.nbytes()) * tensors);
}
template <class F> void both_ways(benchmark::State& state, Tensor& x, const F& f) {
  x.requires_grad_();
  const Tensor g = randn(x.shape());
  for (auto _ : state) {
    x.set_grad({});
    f(x).backward(g);
  }
  count(state, x, 5);
}

void BM_layer_norm(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1)}), w = randn({state.range(1)}), b = randn({state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(layer_norm(x, {state.range(1)}, w, b));
  count(state, x, 2);
}
void BM_layer_norm_both_ways(benchmark::State& state) {
  const std::int64_t n = state.range(1);
  Tensor x = randn({state.range(0), n}), w = randn({n}).requires_grad_(), b = randn({n}).requires_grad_();
  both_ways(state, x, [&](const Tensor& v) { return layer_norm(v, {n}, w, b); });
}
void BM_rms_norm(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1)}), w = randn({state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(rms_norm(x, {state.range(1)}, w));
  count(state, x, 2);
}
void BM_batch_norm(benchmark::State& state) {
  const Tensor x = randn({32, 64, 56, 56}), w = ones({64}), b = zeros({64}), mean = zeros({64}), var = ones({64});
  for (auto _ : state) benchmark::DoNotOptimize(batch_norm(x, mean, var, w, b, {.training = state.range(0) != 0}));
  count(state, x, 2);
}
void BM_batch_norm_both_ways(benchmark::State& state) {
  Tensor x = randn({32, 64, 56, 56}), w = ones({64}).requires_grad_(), b = zeros({64}).requires_grad_();
  both_ways(state, x, [&](const Tensor& v) { return batch_norm(v, {}, {}, w, b, {.training = true}); });
}
void BM_group_norm(benchmark::State& state) {
  const Tensor x = randn({8, 64, 56, 56}), w = ones({64}), b = zeros({64});
  for (auto _ : state) benchmark::DoNotOptimize(group_norm(x, 8, w, b));
  count(state, x, 2);
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const auto& [rows, n] : {std::pair{64, 64}, {4096, 1024}, {8192, 768}}) b->Args({rows, n});
}
BENCHMARK(BM_layer_norm)->Apply(sizes);
BENCHMARK(BM_layer_norm_both_ways)->Apply(sizes);
BENCHMARK(BM_rms_norm)->Apply(sizes);
BENCHMARK(BM_batch_norm)->Arg(0)->Arg(1);
BENCHMARK(BM_batch_norm_both_ways);
BENCHMARK(BM_group_norm);

}  // namespace
}  // namespace neura
