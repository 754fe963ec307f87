// Products of float and double; items per second are floating point operations.
#include <benchmark/benchmark.h>

#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/product/matmul.h"

namespace neura {
namespace {

Tensor filled(const Shape& shape, DType dtype) { return Tensor::empty(Spec::dense(dtype, shape)).fill_(0.5); }

// Arguments: m, n, k, threads.
void product(benchmark::State& state, DType dtype, bool transposed) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const int before = get_num_threads();
  set_num_threads(int(state.range(3)));
  const Tensor a = filled({m, k}, dtype), b = transposed ? filled({n, k}, dtype).t() : filled({k, n}, dtype);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(a, b));
  state.SetItemsProcessed(state.iterations() * 2 * m * n * k);
  set_num_threads(before);
}
void shapes(benchmark::internal::Benchmark* b) {
  for (const int threads : {1, 2}) b->Args({1024, 1024, 1024, threads});
  for (const auto& s : {std::array{128, 10, 128}, std::array{32, 128, 784}, std::array{128, 128, 3136},
                        std::array{8, 8, 8}, std::array{1024, 1, 1024}})
    b->Args({s[0], s[1], s[2], 1});
  b->UseRealTime();
}
BENCHMARK_CAPTURE(product, float32, DType::float32, false)->Apply(shapes);
BENCHMARK_CAPTURE(product, float32_transposed, DType::float32, true)->Apply(shapes);
BENCHMARK_CAPTURE(product, float64, DType::float64, false)->Apply(shapes);

void linear_layer(benchmark::State& state) {
  const Tensor x = filled({128, 3136}, DType::float32), w = filled({128, 3136}, DType::float32),
               b = filled({128}, DType::float32);
  for (auto _ : state) benchmark::DoNotOptimize(linear(x, w, b));
  state.SetItemsProcessed(state.iterations() * 2 * 128 * 128 * 3136);
}
BENCHMARK(linear_layer)->UseRealTime();

// A bias in the call of the product, and as a sum of its own. Arguments: rows, outputs, inputs.
void biased(benchmark::State& state, bool composed) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const Tensor x = filled({m, k}, DType::float32), w = filled({n, k}, DType::float32), b = filled({n}, DType::float32);
  for (auto _ : state) benchmark::DoNotOptimize(composed ? matmul(x, w.t()) + b : linear(x, w, b));
}
void layers(benchmark::internal::Benchmark* b) {
  b->Args({128, 128, 3136})->Args({512, 512, 512})->Args({4096, 256, 64})->Args({32, 64, 16})->UseRealTime();
}
BENCHMARK_CAPTURE(biased, in_one_call, false)->Apply(layers);
BENCHMARK_CAPTURE(biased, composed, true)->Apply(layers);

}  // namespace
}  // namespace neura
