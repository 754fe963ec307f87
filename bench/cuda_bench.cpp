// The CUDA back end: what is bandwidth, what is arithmetic, what a small call costs the host. See cuda_torch.py.
#include <benchmark/benchmark.h>

#include "neura/backend/plugin.h"
#include "neura/ops/copy.h"
#include "neura/ops/create.h"
#include "neura/ops/matmul.h"
#include "neura/ops/random.h"
#include "neura/ops/reduce.h"
#include "neura/ops/rows.h"

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
#define SMALL(name) BENCHMARK(name)->Unit(benchmark::kMicrosecond)->UseRealTime()->Iterations(50)
SMALL(small_add);
SMALL(small_add_recorded);
SMALL(small_add_out);
SMALL(small_copy);
SMALL(small_empty);

}  // namespace

int main(int argc, char** argv) {
  if (const std::string why = unavailable(DeviceType::cuda); !why.empty())
    return std::printf("no device: %s\n", why.c_str()), 0;
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
