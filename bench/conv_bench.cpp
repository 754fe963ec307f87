// Convolution and pooling, forward and backward; items per second are floating point operations.
#include <benchmark/benchmark.h>

#include "neura/core/parallel.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/conv_ops.h"
#include "neura/ops/spatial/pool.h"

namespace neura {
namespace {

Tensor filled(const Shape& shape) { return Tensor::empty(Spec::dense(DType::float32, shape)).fill_(0.5); }

struct Layer {  // 3 x 3, stride 1, padding 1
  std::int64_t n, channels, filters, size;
};
constexpr Layer layers[] = {{128, 1, 32, 28}, {128, 32, 64, 14}, {8, 64, 64, 56}, {32, 512, 512, 7}};

struct Operands {
  explicit Operands(const Layer& l)
      : x(filled({l.n, l.channels, l.size, l.size})),
        w(filled({l.filters, l.channels, 3, 3})),
        y(filled({l.n, l.filters, l.size, l.size})),
        flops(2 * l.n * l.filters * l.size * l.size * l.channels * 9) {}
  Tensor x, w, y;
  std::int64_t flops;
  ConvolutionShape shape{2, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
};
template <class F> void run(benchmark::State& state, F f) {  // arguments: layer, threads
  const int before = get_num_threads();
  set_num_threads(int(state.range(1)));
  const Operands o(layers[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(f(o));
  state.SetItemsProcessed(state.iterations() * o.flops);
  set_num_threads(before);
}
void conv(benchmark::State& state) {
  run(state, [](const Operands& o) { return conv2d(o.x, o.w, {}, {.padding = 1}); });
}
void conv_input_gradient(benchmark::State& state) {
  run(state, [](const Operands& o) {
    return apply(ConvolutionBackwardInput{o.shape, {o.x.size(2), o.x.size(3)}}, o.y, o.w);
  });
}
void conv_weight_gradient(benchmark::State& state) {
  run(state, [](const Operands& o) { return apply(ConvolutionBackwardWeight{o.shape, {3, 3}}, o.x, o.y); });
}
void every_layer(benchmark::internal::Benchmark* b) { b->ArgsProduct({{0, 1, 2, 3}, {1, 2}})->UseRealTime(); }
BENCHMARK(conv)->Apply(every_layer);
BENCHMARK(conv_input_gradient)->Apply(every_layer);
BENCHMARK(conv_weight_gradient)->Apply(every_layer);

void max_pool(benchmark::State& state) {
  const Tensor x = filled({128, 32, 28, 28});
  for (auto _ : state) benchmark::DoNotOptimize(max_pool2d(x, 2));
  state.SetBytesProcessed(state.iterations() * std::int64_t(x.nbytes()));
}
BENCHMARK(max_pool)->UseRealTime();

}  // namespace
}  // namespace neura
