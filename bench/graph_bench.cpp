// A chain of six pointwise operations, eager and as a program, and what a program costs beside its kernels.
#include <benchmark/benchmark.h>

#include "neura/graph/passes.h"
#include "neura/graph/trace.h"
#include "neura/neura.h"

namespace {

using namespace neura;
using Inputs = std::span<const Tensor>;

std::vector<Tensor> chain(Inputs in) {
  const Tensor &a = in[0], &b = in[1], &c = in[2];
  return {gelu(a * b + c) * sigmoid(c) - a};
}
template <class F> void over(benchmark::State& state, F&& f) {
  const std::int64_t n = state.range(0);
  const std::vector<Tensor> in{randn({n}), randn({n}), randn({n})};
  const auto call = f(in);
  for (auto _ : state) benchmark::DoNotOptimize(call(in));
  state.SetBytesProcessed(state.iterations() * n * 16);
}
void eager(benchmark::State& state) {
  const NoGrad off;
  over(state, [](Inputs) { return [](Inputs in) { return chain(in); }; });
}
void program(benchmark::State& state) {
  over(state, [](Inputs in) { return [p = graph::trace(chain, in)](Inputs x) { return run(p, x); }; });
}
void fused_program(benchmark::State& state) {
  over(state, [](Inputs in) { return [p = optimized(graph::trace(chain, in))](Inputs x) { return run(p, x); }; });
}
BENCHMARK(eager)->Arg(8)->Arg(4096)->Arg(1 << 24);
BENCHMARK(program)->Arg(8)->Arg(4096)->Arg(1 << 24);
BENCHMARK(fused_program)->Arg(8)->Arg(4096)->Arg(1 << 24);

}  // namespace
