// The CUDA back end: what is bandwidth, what is arithmetic, what a small call costs the host. See cuda_torch.py.
#include <benchmark/benchmark.h>

#include "neura/autograd/autograd.h"
#include "neura/backend/plugin.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/sort/sort.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/pool.h"

namespace {
using namespace neura;

constexpr std::int64_t kSize = std::int64_t{1} << 26;

// Twenty queued calls and one wait; `bytes` is what a call must move.
template <class F> void measure(benchmark::State& state, double bytes, F&& call) {
  const DeviceApi& api = device_api(Device("cuda"));
  for (int i = 0; i < 3; ++i) call();
  api.synchronize(0);
  for (auto _ : state) {
    for (int i = 0; i < 20; ++i) call();
    api.synchronize(0);
  }
  state.SetItemsProcessed(state.iterations() * 20);
  if (bytes > 0)
    state.counters["GB/s"] =
        benchmark::Counter(bytes * 20e-9 * double(state.iterations()), benchmark::Counter::kIsRate);
}
Tensor numbers(const Shape& size, DType dtype = DType::float32) {
  return (arange(size.numel(), {.dtype = DType::float32}) / double(size.numel())).reshape(size).to("cuda").to(dtype);
}
Tensor big() { return numbers({kSize}); }

void copy(benchmark::State& s) {
  Tensor a = big(), b = empty_like(a);
  measure(s, 8.0 * kSize, [&] { b.copy_(a); });
}
void add_floats(benchmark::State& s) {
  const Tensor a = big(), b = big();
  measure(s, 12.0 * kSize, [&] { add(a, b); });
}
void add_bfloat16(benchmark::State& s) {
  const Tensor a = numbers({kSize}, DType::bfloat16), b = numbers({kSize}, DType::bfloat16);
  measure(s, 6.0 * kSize, [&] { add(a, b); });
}
void exp_floats(benchmark::State& s) {
  const Tensor a = big();
  measure(s, 8.0 * kSize, [&] { exp(a); });
}
void add_bias(benchmark::State& s) {
  const Tensor a = numbers({65536, 1024}), b = numbers({1024});
  measure(s, 8.0 * kSize, [&] { add(a, b); });
}
void to_bfloat16(benchmark::State& s) {
  const Tensor a = big();
  measure(s, 6.0 * kSize, [&] { a.to(DType::bfloat16); });
}
void sum_all(benchmark::State& s) {
  const Tensor a = big();
  measure(s, 4.0 * kSize, [&] { sum(a); });
}
void sum_rows(benchmark::State& s) {
  const Tensor a = numbers({8192, 8192});
  measure(s, 4.0 * kSize, [&] { sum(a, Dims(1)); });
}
void sum_columns(benchmark::State& s) {
  const Tensor a = numbers({8192, 8192});
  measure(s, 4.0 * kSize, [&] { sum(a, Dims(0)); });
}
void matmul_bfloat16_8192(benchmark::State& s) {
  const Tensor a = numbers({8192, 8192}, DType::bfloat16);
  measure(s, 0, [&] { matmul(a, a); });
}
void matmul_float32_4096(benchmark::State& s) {
  const Tensor a = numbers({4096, 4096});
  measure(s, 0, [&] { matmul(a, a); });
}
// Convolutions of 3 x 3, with padding 1: the two of the Fashion-MNIST network, and one of a ResNet in bfloat16.
struct Conv {
  Tensor x, w, b;
  Conv(std::int64_t n, std::int64_t c, std::int64_t f, std::int64_t size, DType d = DType::float32)
      : x(numbers({n, c, size, size}, d)), w(numbers({f, c, 3, 3}, d)), b(numbers({f}, d)) {}
  Tensor operator()(const Tensor& bias) const { return conv2d(x, w, bias, {.padding = 1}); }
};
void forward(benchmark::State& s, const Conv& c, bool bias) {
  measure(s, 0, [&] { c(bias ? c.b : Tensor()); });
}
void backward(benchmark::State& s, Conv c) {
  c.x.requires_grad_(), c.w.requires_grad_();
  const Tensor y = c({}), ins[] = {c.x, c.w}, g = ones_like(y);
  measure(s, 0, [&] { grad({&y, 1}, ins, {&g, 1}, {.retain_graph = true}); });
}
void conv_first(benchmark::State& s) { forward(s, {128, 1, 32, 28}, true); }
void conv_first_no_bias(benchmark::State& s) { forward(s, {128, 1, 32, 28}, false); }
void conv_second(benchmark::State& s) { forward(s, {128, 32, 64, 14}, true); }
void conv_second_no_bias(benchmark::State& s) { forward(s, {128, 32, 64, 14}, false); }
void conv_second_backward(benchmark::State& s) { backward(s, {128, 32, 64, 14}); }
void conv_bfloat16(benchmark::State& s) { forward(s, {64, 64, 64, 56, DType::bfloat16}, true); }
void conv_bfloat16_backward(benchmark::State& s) { backward(s, {64, 64, 64, 56, DType::bfloat16}); }
void max_pool(benchmark::State& s) {
  const Tensor x = numbers({512, 64, 56, 56});
  measure(s, 5.25 * double(x.numel()), [&] { max_pool2d(x, 2); });
}
void max_pool_backward(benchmark::State& s) {
  Tensor x = numbers({512, 64, 56, 56}).requires_grad_();
  const Tensor y = max_pool2d(x, 2), g = ones_like(y);
  measure(s, 5.25 * double(x.numel()), [&] { grad(y, x, g, {.retain_graph = true}); });
}
void max_pool_overlapping(benchmark::State& s) {
  const Tensor x = numbers({512, 64, 56, 56});
  measure(s, 5.25 * double(x.numel()), [&] { max_pool2d(x, 3, {.stride = 2, .padding = 1}); });
}

// Random numbers, and what puts them in order.
Tensor random(const Shape& size, DType d = DType::float32) {
  return rand(size, {.dtype = d, .device = Device("cuda")});
}
void rand_floats(benchmark::State& s) {
  measure(s, 16.0 * kSize, [] { random({4 * kSize}); });
}
void randn_floats(benchmark::State& s) {
  measure(s, 16.0 * kSize, [] { randn({4 * kSize}, {.device = Device("cuda")}); });
}
void randint_int64(benchmark::State& s) {
  measure(s, 8.0 * kSize, [] { randint(1000, {kSize}, {.device = Device("cuda")}); });
}
void bernoulli_floats(benchmark::State& s) {
  Tensor x = random({kSize});
  measure(s, 4.0 * kSize, [&] { bernoulli_(x, 0.3); });
}
void randperm_million(benchmark::State& s) {
  measure(s, 0, [] { randperm(1 << 20, {.device = Device("cuda")}); });
}
void multinomial_vocabulary(benchmark::State& s) {
  const Tensor w = random({32, 50257});
  measure(s, 0, [&] { multinomial(w, 1, true); });
}
void sort_line(benchmark::State& s) {
  const Tensor x = random({1 << 24});
  measure(s, 0, [&] { sort(x); });
}
void sort_short_lines(benchmark::State& s) {
  const Tensor x = random({65536, 256});
  measure(s, 0, [&] { sort(x); });
}
void sort_lines(benchmark::State& s) {
  const Tensor x = random({8192, 2048});
  measure(s, 0, [&] { sort(x); });
}
void sort_long_lines(benchmark::State& s) {
  const Tensor x = random({256, 65536});
  measure(s, 0, [&] { sort(x); });
}
void topk_experts(benchmark::State& s) {
  const Tensor x = random({65536, 64}, DType::bfloat16);
  measure(s, 0, [&] { topk(x, 2); });
}
void topk_vocabulary(benchmark::State& s) {
  const Tensor x = random({64, 50257});
  measure(s, 0, [&] { topk(x, 50); });
}
void topk_rows(benchmark::State& s) {
  const Tensor x = randn({1024, 8192}, {.device = Device("cuda")});
  measure(s, 0, [&] { topk(x, 64); });
}
void topk_line(benchmark::State& s) {
  const Tensor x = random({1 << 24});
  measure(s, 0, [&] { topk(x, 100); });
}
void median_lines(benchmark::State& s) {
  const Tensor x = random({1024, 16384});
  measure(s, 0, [&] { median(x, 1); });
}
void scatter_add_floats(benchmark::State& s) {
  const Tensor source = random({1 << 24}), index = randint(1 << 20, {1 << 24}, {.device = Device("cuda")});
  Tensor x = zeros({1 << 20}, {.device = Device("cuda")});
  measure(s, 12.0 * (1 << 24), [&] { scatter_add_(x, 0, index, source); });
}
void searchsorted_floats(benchmark::State& s) {
  const Tensor sequence = sort(random({10000})).values, x = random({1 << 24});
  measure(s, 0, [&] { searchsorted(sequence, x); });
}

// The host's share of small calls: fewer than fill the device's queue, which is emptied in between.
template <class F> void queued(benchmark::State& state, F&& call) {
  const DeviceApi& api = device_api(Device("cuda"));
  for (auto _ : state) {
    for (int i = 0; i < 300; ++i) call();
    state.PauseTiming();
    api.synchronize(0);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * 300);
}
void small_add(benchmark::State& s) {
  const Tensor a = numbers({1000}), b = numbers({1000});
  queued(s, [&] { benchmark::DoNotOptimize(add(a, b)); });
}
void small_add_recorded(benchmark::State& s) {
  const Tensor a = numbers({1000}).requires_grad_(), b = numbers({1000});
  queued(s, [&] { benchmark::DoNotOptimize(add(a, b)); });
}
void small_add_out(benchmark::State& s) {
  const Tensor a = numbers({1000}), b = numbers({1000});
  Tensor out = empty_like(a);
  queued(s, [&] { benchmark::DoNotOptimize(add_out(out, a, b)); });
}
void small_copy(benchmark::State& s) {  // no kernel of ours
  const Tensor a = numbers({1000});
  Tensor out = empty_like(a);
  queued(s, [&] { benchmark::DoNotOptimize(out.copy_(a)); });
}
void small_empty(benchmark::State& s) {  // memory alone
  const Spec spec = Spec::dense(DType::float32, Shape{1000}, Device("cuda"));
  queued(s, [&] { benchmark::DoNotOptimize(Tensor::empty(spec)); });
}

void small_conv(benchmark::State& s) {
  const Conv c(1, 4, 4, 6);
  queued(s, [&] { benchmark::DoNotOptimize(c(c.b)); });
}
void small_pool(benchmark::State& s) {
  const Tensor x = numbers({1, 4, 8, 8});
  queued(s, [&] { benchmark::DoNotOptimize(max_pool2d(x, 2)); });
}

#define CASE(name) BENCHMARK(name)->Unit(benchmark::kMicrosecond)->UseRealTime()
CASE(copy);
CASE(add_floats);
CASE(add_bfloat16);
CASE(exp_floats);
CASE(add_bias);
CASE(to_bfloat16);
CASE(sum_all);
CASE(sum_rows);
CASE(sum_columns);
CASE(matmul_bfloat16_8192);
CASE(matmul_float32_4096);
CASE(conv_first);
CASE(conv_first_no_bias);
CASE(conv_second);
CASE(conv_second_no_bias);
CASE(conv_second_backward);
CASE(conv_bfloat16);
CASE(conv_bfloat16_backward);
CASE(max_pool);
CASE(max_pool_backward);
CASE(max_pool_overlapping);
CASE(rand_floats);
CASE(randn_floats);
CASE(randint_int64);
CASE(bernoulli_floats);
CASE(randperm_million);
CASE(multinomial_vocabulary);
CASE(sort_line);
CASE(sort_short_lines);
CASE(sort_lines);
CASE(sort_long_lines);
CASE(topk_experts);
CASE(topk_vocabulary);
CASE(topk_rows);
CASE(topk_line);
CASE(median_lines);
CASE(scatter_add_floats);
CASE(searchsorted_floats);
#define SMALL(name) BENCHMARK(name)->Unit(benchmark::kMicrosecond)->UseRealTime()->Iterations(50)
SMALL(small_add);
SMALL(small_add_recorded);
SMALL(small_add_out);
SMALL(small_copy);
SMALL(small_empty);
SMALL(small_conv);
SMALL(small_pool);

}  // namespace

int main(int argc, char** argv) {
  if (const std::string why = unavailable(DeviceType::cuda); !why.empty())
    return std::printf("no device: %s\n", why.c_str()), 0;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
