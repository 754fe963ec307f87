// Softmax and cross entropy: sizes that fit a cache and sizes that do not, rows and columns, forward and both ways.
#include <benchmark/benchmark.h>

#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/random/random.h"

namespace neura {
namespace {

// tensors: how often the operation must touch that much memory
void count(benchmark::State& state, const Tensor& x, int tensors) {
  state.SetBytesProcessed(state.iterations() * std::int64_t(x.nbytes()) * tensors);
}

void BM_softmax(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(softmax(x, 1));
  count(state, x, 2);
}
void BM_softmax_columns(benchmark::State& state) {
  const Tensor x = randn({4, state.range(0) / 4, state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(softmax(x, 1));
  count(state, x, 2);
}
void BM_log_softmax(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(log_softmax(x, 1));
  count(state, x, 2);
}
void BM_softmax_backward(benchmark::State& state) {
  const Tensor g = randn({state.range(0), state.range(1)}), y = softmax(g, 1);
  for (auto _ : state) benchmark::DoNotOptimize(softmax_backward(g, y, 1));
  count(state, y, 3);
}
void BM_cross_entropy(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1)}), target = randint(0, state.range(1), {state.range(0)});
  for (auto _ : state) benchmark::DoNotOptimize(cross_entropy(x, target));
  count(state, x, 1);
}
void BM_cross_entropy_both_ways(benchmark::State& state) {
  Tensor x = randn({state.range(0), state.range(1)}).requires_grad_();
  const Tensor target = randint(0, state.range(1), {state.range(0)});
  for (auto _ : state) {
    x.set_grad({});
    cross_entropy(x, target).backward();
  }
  count(state, x, 3);
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const auto& [rows, n] : {std::pair{100, 10}, {4096, 1024}, {512, 32000}}) b->Args({rows, n});
}
BENCHMARK(BM_softmax)->Apply(sizes);
BENCHMARK(BM_softmax_columns)->Apply(sizes);
BENCHMARK(BM_log_softmax)->Apply(sizes);
BENCHMARK(BM_softmax_backward)->Apply(sizes);
BENCHMARK(BM_cross_entropy)->Apply(sizes);
BENCHMARK(BM_cross_entropy_both_ways)->Apply(sizes);

}  // namespace
}  // namespace neura
