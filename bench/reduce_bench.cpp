// Reductions, scans and sorting: sizes that fit a cache and sizes that do not, rows and columns.
#include <benchmark/benchmark.h>

#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/sort/sort.h"

namespace neura {
namespace {

Tensor scattered(const Shape& size, DType d = DType::float32) {
  Tensor t = empty(size, {.dtype = d});
  std::uint32_t state = 1;
  char* p = static_cast<char*>(t.raw_data());
  for (std::int64_t i = 0; i < t.numel(); ++i, p += size_of(d)) {
    state = state * 1664525u + 1013904223u;
    Scalar(double(state >> 8) * 0x1p-24 - 0.5).store(d, p);
  }
  return t;
}
template <class F> void run(benchmark::State& state, const Tensor& x, F f) {
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  state.SetBytesProcessed(state.iterations() * std::int64_t(x.nbytes()));
}

void sum_all(benchmark::State& s) {
  run(s, scattered({s.range(0)}), [](const Tensor& x) { return sum(x); });
}
void sum_rows(benchmark::State& s) {
  run(s, scattered({(1 << 22) / s.range(0), s.range(0)}), [](const Tensor& x) { return sum(x, 1); });
}
void sum_columns(benchmark::State& s) {
  run(s, scattered({(1 << 22) / s.range(0), s.range(0)}), [](const Tensor& x) { return sum(x, 0); });
}
void sum_channels(benchmark::State& s) {
  run(s, scattered({16, 64, 56, 56}), [](const Tensor& x) { return sum(x, {0, 2, 3}); });
}
void sum_transposed(benchmark::State& s) {
  run(s, scattered({2048, 2048}).transpose(0, 1), [](const Tensor& x) { return sum(x, 1); });
}
void sum_halves(benchmark::State& s) {
  run(s, scattered({1 << 22}, DType::bfloat16), [](const Tensor& x) { return sum(x); });
}
void sum_bools(benchmark::State& s) {
  run(s, scattered({1 << 22}, DType::boolean), [](const Tensor& x) { return sum(x); });
}
void amax_all(benchmark::State& s) {
  run(s, scattered({1 << 22}), [](const Tensor& x) { return amax(x); });
}
void argmax_rows(benchmark::State& s) {
  run(s, scattered({4096, 1024}), [](const Tensor& x) { return argmax(x, 1); });
}
void argmax_columns(benchmark::State& s) {
  run(s, scattered({4096, 1024}), [](const Tensor& x) { return argmax(x, 0); });
}
void var_rows(benchmark::State& s) {
  run(s, scattered({4096, 1024}), [](const Tensor& x) { return var(x, 1); });
}
void logsumexp_rows(benchmark::State& s) {
  run(s, scattered({4096, 1024}), [](const Tensor& x) { return logsumexp(x, 1); });
}
void cumsum_rows(benchmark::State& s) {
  run(s, scattered({4096, 1024}), [](const Tensor& x) { return cumsum(x, 1); });
}
void cumsum_columns(benchmark::State& s) {
  run(s, scattered({4096, 1024}), [](const Tensor& x) { return cumsum(x, 0); });
}
void sort_all(benchmark::State& s) {
  run(s, scattered({s.range(0)}), [](const Tensor& x) { return sort(x); });
}
void sort_rows(benchmark::State& s) {
  run(s, scattered({4096, 256}), [](const Tensor& x) { return sort(x); });
}
void topk_rows(benchmark::State& s) {
  run(s, scattered({64, 50000}), [](const Tensor& x) { return topk(x, 50); });
}

BENCHMARK(sum_all)->Arg(8)->Arg(1000)->Arg(1 << 16)->Arg(1 << 24);
BENCHMARK(sum_rows)->Arg(4)->Arg(64)->Arg(1024);
BENCHMARK(sum_columns)->Arg(4)->Arg(64)->Arg(1024);
BENCHMARK(sum_channels);
BENCHMARK(sum_transposed);
BENCHMARK(sum_halves);
BENCHMARK(sum_bools);
BENCHMARK(amax_all);
BENCHMARK(argmax_rows);
BENCHMARK(argmax_columns);
BENCHMARK(var_rows);
BENCHMARK(logsumexp_rows);
BENCHMARK(cumsum_rows);
BENCHMARK(cumsum_columns);
BENCHMARK(sort_all)->Arg(1000)->Arg(1 << 20);
BENCHMARK(sort_rows);
BENCHMARK(topk_rows);

}  // namespace
}  // namespace neura
