// The dispatcher and the pointwise kernels: what a call costs, and what an element costs.
#include <benchmark/benchmark.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"

namespace neura {
namespace {

Tensor filled(std::int64_t n, double value, DType d = float32) {
  Tensor t = Tensor::empty(Spec::dense(d, Shape{n}));
  return t.fill_(value);
}
void count(benchmark::State& state, std::int64_t n, int tensors, DType d = float32) {
  state.SetItemsProcessed(state.iterations() * n);
  state.SetBytesProcessed(state.iterations() * n * tensors * size_of(d));
}

void BM_add(benchmark::State& state) {
  const Tensor a = filled(state.range(0), 1), b = filled(state.range(0), 2);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
  count(state, state.range(0), 3);
}
BENCHMARK(BM_add)->Name("add")->Arg(8)->Arg(1024)->Arg(1 << 16)->Arg(1 << 22);

void BM_add_in_place(benchmark::State& state) {
  Tensor a = filled(state.range(0), 1);
  const Tensor b = filled(state.range(0), 2);
  for (auto _ : state) add_(a, b);
  count(state, state.range(0), 3);
}
BENCHMARK(BM_add_in_place)->Name("add_in_place")->Arg(8)->Arg(1 << 22);

void BM_add_strided(benchmark::State& state) {
  const Tensor a = filled(2 * state.range(0), 1).slice(0, 0, INT64_MAX, 2), b = filled(state.range(0), 2);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
  count(state, state.range(0), 3);
}
BENCHMARK(BM_add_strided)->Name("add_strided")->Arg(1 << 20);

template <Tensor (*f)(const Tensor&)> void BM_unary(benchmark::State& state) {
  const Tensor x = filled(state.range(0), 0.5);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  count(state, state.range(0), 2);
}
Tensor exp_of(const Tensor& x) { return exp(x); }
Tensor tanh_of(const Tensor& x) { return tanh(x); }
Tensor erf_of(const Tensor& x) { return erf(x); }
Tensor sin_of(const Tensor& x) { return sin(x); }
BENCHMARK(BM_unary<exp_of>)->Name("exp")->Arg(1 << 20);
BENCHMARK(BM_unary<tanh_of>)->Name("tanh")->Arg(1 << 20);
BENCHMARK(BM_unary<erf_of>)->Name("erf")->Arg(1 << 20);
BENCHMARK(BM_unary<sin_of>)->Name("sin")->Arg(1 << 20);

void BM_add_bfloat16(benchmark::State& state) {
  const Tensor a = filled(state.range(0), 1, bfloat16), b = filled(state.range(0), 2, bfloat16);
  for (auto _ : state) benchmark::DoNotOptimize(add(a, b));
  count(state, state.range(0), 3, bfloat16);
}
BENCHMARK(BM_add_bfloat16)->Name("add_bfloat16")->Arg(1 << 20);

// Ten operations on small tensors, forward and backward: what recording and the engine cost.
void BM_chain(benchmark::State& state) {
  Tensor x = filled(8, 0.5);
  x.requires_grad_();
  const Tensor g = filled(8, 1);
  for (auto _ : state) {
    Tensor y = x;
    for (int i = 0; i < 5; ++i) y = tanh(mul(y, x));
    benchmark::DoNotOptimize(grad(y, x, g));
  }
  state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(BM_chain)->Name("chain");

}  // namespace
}  // namespace neura
