// Fourier transforms: powers of two, products of small primes, primes; single lines and batches. Items: n log2(n) each.
#include <benchmark/benchmark.h>

#include <cmath>

#include "neura/ops/random/random.h"
#include "neura/ops/signal/fft.h"

namespace neura {
namespace {

void count(benchmark::State& state) {
  const double n = double(state.range(1));
  state.SetItemsProcessed(state.iterations() * std::int64_t(double(state.range(0)) * n * std::log2(n)));
}
Tensor complexes(benchmark::State& state) {
  return randn({state.range(0), state.range(1)}, {.dtype = DType::complex64});
}

void BM_fft(benchmark::State& state) {
  const Tensor x = complexes(state);
  for (auto _ : state) benchmark::DoNotOptimize(fft::fft(x));
  count(state);
}
void BM_fft_columns(benchmark::State& state) {
  const Tensor x = randn({state.range(1), state.range(0)}, {.dtype = DType::complex64});
  for (auto _ : state) benchmark::DoNotOptimize(fft::fft(x, {}, 0));
  count(state);
}
void BM_fft_double(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1)}, {.dtype = DType::complex128});
  for (auto _ : state) benchmark::DoNotOptimize(fft::fft(x));
  count(state);
}
void BM_rfft(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(fft::rfft(x));
  count(state);
}
void BM_irfft(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1) / 2 + 1}, {.dtype = DType::complex64});
  for (auto _ : state) benchmark::DoNotOptimize(fft::irfft(x, state.range(1)));
  count(state);
}
void BM_fft2(benchmark::State& state) {
  const Tensor x = randn({state.range(0), state.range(1), state.range(1)}, {.dtype = DType::complex64});
  for (auto _ : state) benchmark::DoNotOptimize(fft::fft2(x));
  count(state);
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const auto& [lines, n] : {std::pair{1, 1024},
                                 {1, 1 << 16},
                                 {1, 1 << 20},
                                 {4096, 16},
                                 {1024, 64},
                                 {64, 1024},
                                 {32, 4096},
                                 {64, 1000},
                                 {64, 1009},
                                 {1, 100003}})
    b->Args({lines, n});
}
BENCHMARK(BM_fft)->Apply(sizes);
BENCHMARK(BM_fft_columns)->Apply(sizes);
BENCHMARK(BM_fft_double)->Apply(sizes);
BENCHMARK(BM_rfft)->Apply(sizes);
BENCHMARK(BM_irfft)->Apply(sizes);
BENCHMARK(BM_fft2)->Args({1, 512})->Args({16, 64});

}  // namespace
}  // namespace neura
