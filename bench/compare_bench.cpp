// The cases that bench/compare.py times in PyTorch as well, under the same names. All of them use every thread there
// is.
#include <benchmark/benchmark.h>

#include <cstring>

#include "neura/core/parallel.h"
#include "neura/neura.h"

namespace neura {
namespace {

constexpr std::int64_t kFloats = std::int64_t{16} << 20;  // 64 MiB

template <class F> void timed(benchmark::State& state, F f) {
  for (auto _ : state) benchmark::DoNotOptimize(f());
}
#define COMPARE(name) BENCHMARK(name)->Name("compare/" #name)->UseRealTime()->Unit(benchmark::kMillisecond)

void copy_loop(benchmark::State& s) {  // the limit: warm memory to warm memory, both threads
  const Tensor a = ones({kFloats}), b = ones({kFloats});
  timed(s, [&] {
    parallel_for(kFloats, 1 << 16, [&](std::int64_t from, std::int64_t to) {
      std::memcpy(b.data<float>() + from, a.data<float>() + from, std::size_t(to - from) * 4);
    });
    return b;
  });
}
COMPARE(copy_loop);

void add_64mib(benchmark::State& s) {
  const Tensor a = rand({kFloats}), b = rand({kFloats});
  timed(s, [&] { return a + b; });
}
COMPARE(add_64mib);

template <Tensor (*f)(const Tensor&)> void unary_64mib(benchmark::State& s) {
  const Tensor a = randn({kFloats});
  timed(s, [&] { return f(a); });
}
void neg_64mib(benchmark::State& s) { unary_64mib<neg>(s); }
void exp_64mib(benchmark::State& s) { unary_64mib<exp>(s); }
void tanh_64mib(benchmark::State& s) { unary_64mib<tanh>(s); }
void gelu_64mib(benchmark::State& s) {
  const Tensor a = randn({kFloats});
  timed(s, [&] { return gelu(a); });
}
COMPARE(neg_64mib);
COMPARE(exp_64mib);
COMPARE(tanh_64mib);
COMPARE(gelu_64mib);

// Forward alone, and forward and backward, of [4096, 1024].
template <class F> void both_ways(benchmark::State& s, bool backwards, F f) {
  Tensor x = randn({4096, 1024}).requires_grad_(backwards);
  const Tensor g = randn({4096, 1024});
  timed(s, [&] {
    const Tensor y = f(x);
    if (backwards) y.backward(y.dim() ? g : Tensor()), x.set_grad({});
    return y;
  });
}
void softmax_forward(benchmark::State& s) {
  both_ways(s, false, [](const Tensor& x) { return softmax(x, -1); });
}
void softmax_both(benchmark::State& s) {
  both_ways(s, true, [](const Tensor& x) { return softmax(x, -1); });
}
COMPARE(softmax_forward);
COMPARE(softmax_both);

void layer_norm_case(benchmark::State& s, bool backwards) {
  Tensor w = ones({1024}).requires_grad_(backwards), b = zeros({1024}).requires_grad_(backwards);
  both_ways(s, backwards, [&](const Tensor& x) { return layer_norm(x, {1024}, w, b); });
}
void layer_norm_forward(benchmark::State& s) { layer_norm_case(s, false); }
void layer_norm_both(benchmark::State& s) { layer_norm_case(s, true); }
COMPARE(layer_norm_forward);
COMPARE(layer_norm_both);

void cross_entropy_case(benchmark::State& s, bool backwards) {
  const Tensor labels = randint(0, 1024, {4096});
  both_ways(s, backwards, [&](const Tensor& x) { return cross_entropy(x, labels); });
}
void cross_entropy_forward(benchmark::State& s) { cross_entropy_case(s, false); }
void cross_entropy_both(benchmark::State& s) { cross_entropy_case(s, true); }
COMPARE(cross_entropy_forward);
COMPARE(cross_entropy_both);

void sum_64mib(benchmark::State& s) {
  const Tensor a = rand({kFloats});
  timed(s, [&] { return sum(a); });
}
COMPARE(sum_64mib);

void product(benchmark::State& s, std::int64_t m, std::int64_t k, std::int64_t n, int threads) {
  const Tensor a = randn({m, k}), b = randn({k, n});
  const int before = get_num_threads();
  set_num_threads(threads ? threads : before);
  timed(s, [&] { return matmul(a, b); });
  set_num_threads(before);
}
void matmul_1024(benchmark::State& s) { product(s, 1024, 1024, 1024, 0); }
void matmul_1024_one_thread(benchmark::State& s) { product(s, 1024, 1024, 1024, 1); }
void matmul_128_10_128(benchmark::State& s) { product(s, 128, 10, 128, 1); }
COMPARE(matmul_1024);
COMPARE(matmul_1024_one_thread);
COMPARE(matmul_128_10_128);

struct Cnn : nn::Module {
  nn::Conv2d first{1, 32, 3, {.padding = {1}}}, second{32, 64, 3, {.padding = {1}}};
  nn::Linear hidden{3136, 128}, output{128, 10};
  NEURA_MODULE(Cnn, first, second, hidden, output)
  Tensor forward(const Tensor& x) {
    const Tensor a = max_pool2d(relu(first(x)), {2});
    const Tensor b = max_pool2d(relu(second(a)), {2});
    return output(relu(hidden(b.flatten(1))));
  }
};
void cnn_training_step(benchmark::State& s) {  // Fashion-MNIST's size, batch 128
  const Tensor images = rand({128, 1, 28, 28}), labels = randint(0, 10, {128});
  Cnn net;
  optim::AdamW optimizer(net.parameters(), {.lr = 1e-3});
  timed(s, [&] {
    Tensor loss = cross_entropy(net(images), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    return loss;
  });
}
COMPARE(cnn_training_step);

}  // namespace
}  // namespace neura
