// Every family of kernels on 1, 2, 4, … all threads. Before a case is timed its result must be that of one thread, bit
// for bit. bench/threads.py makes the table.
#include <benchmark/benchmark.h>

#include <cstring>

#include "neura/core/parallel.h"
#include "neura/neura.h"

namespace neura {
namespace {

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && !std::memcmp(a.raw_data(), b.raw_data(), a.nbytes());
}
// checked: what is compared, where f() changes something.
template <class F, class Checked> void timed(benchmark::State& s, F f, Checked checked) {
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor alone = contiguous(checked());
  set_num_threads(int(s.range(0)));
  if (!same_bytes(contiguous(checked()), alone)) s.SkipWithError("another result than with one thread");
  for (auto _ : s) benchmark::DoNotOptimize(f());
  set_num_threads(before);
}
template <class F> void timed(benchmark::State& s, F f) { timed(s, f, f); }

void counts(benchmark::internal::Benchmark* b) {
  const int most = get_num_threads();
  for (int n = 1; n < most; n *= 2) b->Arg(n);
  b->Arg(most);
}
#define THREADS(family, name)             \
  BENCHMARK(name)                         \
      ->Name("threads/" family "/" #name) \
      ->ArgName("threads")                \
      ->Apply(counts)                     \
      ->UseRealTime()                     \
      ->Unit(benchmark::kMillisecond)

constexpr std::int64_t kMany = std::int64_t{1} << 22;

void add(benchmark::State& s) {
  const Tensor a = randn({kMany}), b = randn({kMany});
  timed(s, [&] { return neura::add(a, b); });
}
void tanh(benchmark::State& s) {
  const Tensor a = randn({kMany});
  timed(s, [&] { return neura::tanh(a); });
}
void strided_mul(benchmark::State& s) {
  const Tensor a = randn({2048, 2048}).t(), b = randn({2048});
  timed(s, [&] { return mul(a, b); });
}
void half_add(benchmark::State& s) {
  const Tensor a = to(randn({kMany}), bfloat16), b = to(randn({kMany}), bfloat16);
  timed(s, [&] { return neura::add(a, b); });
}
THREADS("element-wise", add);
THREADS("element-wise", tanh);
THREADS("element-wise", strided_mul);
THREADS("element-wise", half_add);

void sum_all(benchmark::State& s) {
  const Tensor a = randn({4 * kMany});
  timed(s, [&] { return sum(a); });
}
void sum_columns(benchmark::State& s) {
  const Tensor a = randn({4096, 1024});
  timed(s, [&] { return sum(a, 0); });
}
void argmax_rows(benchmark::State& s) {
  const Tensor a = randn({4096, 1024});
  timed(s, [&] { return argmax(a, 1); });
}
void var_rows(benchmark::State& s) {
  const Tensor a = randn({4096, 1024});
  timed(s, [&] { return var(a, 1); });
}
THREADS("reduction", sum_all);
THREADS("reduction", sum_columns);
THREADS("reduction", argmax_rows);
THREADS("reduction", var_rows);

void cumsum_rows(benchmark::State& s) {
  const Tensor a = randn({4096, 1024});
  timed(s, [&] { return cumsum(a, 1); });
}
void cumsum_columns(benchmark::State& s) {
  const Tensor a = randn({4096, 1024});
  timed(s, [&] { return cumsum(a, 0); });
}
THREADS("scan", cumsum_rows);
THREADS("scan", cumsum_columns);

void square(benchmark::State& s) {
  const Tensor a = randn({768, 768}), b = randn({768, 768});
  timed(s, [&] { return matmul(a, b); });
}
void batch(benchmark::State& s) {
  const Tensor a = randn({64, 128, 64}), b = randn({64, 64, 128});
  timed(s, [&] { return bmm(a, b); });
}
void matrix_vector(benchmark::State& s) {
  const Tensor a = randn({4096, 2048}), b = randn({2048});
  timed(s, [&] { return matmul(a, b); });
}
THREADS("matmul", square);
THREADS("matmul", batch);
THREADS("matmul", matrix_vector);

template <class F> void both_ways(benchmark::State& s, Tensor x, F f) {
  x.requires_grad_();
  timed(s, [&] {
    const Tensor y = f(x);
    y.backward(y.dim() ? ones_like(y) : Tensor());
    Tensor g = x.grad();
    x.set_grad({});
    return g;
  });
}
void conv_forward(benchmark::State& s) {
  const Tensor x = randn({16, 32, 56, 56}), w = randn({64, 32, 3, 3});
  timed(s, [&] { return conv2d(x, w, {}, {.padding = {1}}); });
}
void conv_both_ways(benchmark::State& s) {
  const Tensor w = randn({64, 32, 3, 3}).requires_grad_();
  both_ways(s, randn({16, 32, 28, 28}), [&](const Tensor& x) { return conv2d(x, w, {}, {.padding = {1}}); });
}
void conv_depthwise(benchmark::State& s) {
  const Tensor x = randn({16, 64, 56, 56}), w = randn({64, 1, 3, 3});
  timed(s, [&] { return conv2d(x, w, {}, {.padding = {1}, .groups = 64}); });
}
THREADS("convolution", conv_forward);
THREADS("convolution", conv_both_ways);
THREADS("convolution", conv_depthwise);

void max_pool(benchmark::State& s) {
  both_ways(s, randn({32, 64, 56, 56}), [](const Tensor& x) { return max_pool2d(x, {2}); });
}
void avg_pool(benchmark::State& s) {
  both_ways(s, randn({32, 64, 56, 56}), [](const Tensor& x) { return avg_pool2d(x, {3}); });
}
THREADS("pooling", max_pool);
THREADS("pooling", avg_pool);

void layer_norm(benchmark::State& s) {
  const Tensor w = ones({1024}).requires_grad_(), b = zeros({1024}).requires_grad_();
  both_ways(s, randn({4096, 1024}), [&](const Tensor& x) { return neura::layer_norm(x, {1024}, w, b); });
}
void batch_norm(benchmark::State& s) {
  both_ways(s, randn({32, 64, 56, 56}),
            [](const Tensor& x) { return neura::batch_norm(x, {}, {}, {}, {}, {.training = true}); });
}
void group_norm(benchmark::State& s) {
  both_ways(s, randn({32, 64, 56, 56}), [](const Tensor& x) { return neura::group_norm(x, 8); });
}
THREADS("norm", layer_norm);
THREADS("norm", batch_norm);
THREADS("norm", group_norm);

void softmax_rows(benchmark::State& s) {
  both_ways(s, randn({4096, 1024}), [](const Tensor& x) { return softmax(x, 1); });
}
void attention(benchmark::State& s) {
  const Tensor k = randn({4, 8, 512, 64}), v = randn({4, 8, 512, 64});
  both_ways(s, randn({4, 8, 512, 64}), [&](const Tensor& q) { return scaled_dot_product_attention(q, k, v); });
}
THREADS("softmax", softmax_rows);
THREADS("softmax", attention);

void transposed_copy(benchmark::State& s) {
  const Tensor a = randn({2048, 2048}).t();
  timed(s, [&] { return contiguous(a); });
}
void cat_columns(benchmark::State& s) {
  const Tensor a = randn({4096, 512}), b = randn({4096, 512});
  timed(s, [&] { return cat({a, b}, 1); });
}
void to_half(benchmark::State& s) {
  const Tensor a = randn({kMany});
  timed(s, [&] { return to(a, bfloat16); });
}
THREADS("copy", transposed_copy);
THREADS("copy", cat_columns);
THREADS("copy", to_half);

void index_select_rows(benchmark::State& s) {
  const Tensor a = randn({8192, 256}), rows = randint(8192, {16384});
  timed(s, [&] { return index_select(a, 0, rows); });
}
void gather_rows(benchmark::State& s) {
  const Tensor a = randn({4096, 1024}), at = randint(1024, {4096, 1024});
  timed(s, [&] { return gather(a, 1, at); });
}
void scatter_add_rows(benchmark::State& s) {
  const Tensor a = zeros({4096, 1024}), at = randint(1024, {4096, 1024}), source = randn({4096, 1024});
  timed(s, [&] { return scatter_add(a, 1, at, source); });
}
void nonzeros(benchmark::State& s) {
  const Tensor a = randn({4096, 1024}) > 0;
  timed(s, [&] { return nonzero(a); });
}
THREADS("index", index_select_rows);
THREADS("index", gather_rows);
THREADS("index", scatter_add_rows);
THREADS("index", nonzeros);

void sort_rows(benchmark::State& s) {
  const Tensor a = randn({1024, 1024});
  timed(s, [&] { return sort(a).indices; });
}
void topk_rows(benchmark::State& s) {
  const Tensor a = randn({128, 32768});
  timed(s, [&] { return topk(a, 32).indices; });
}
THREADS("sort", sort_rows);
THREADS("sort", topk_rows);

void normal(benchmark::State& s) {
  timed(s, [] {
    manual_seed(1);
    return randn({kMany});
  });
}
void dropout(benchmark::State& s) {
  const Tensor a = randn({kMany});
  timed(s, [&] {
    manual_seed(1);
    return neura::dropout(a, 0.5);
  });
}
THREADS("random", normal);
THREADS("random", dropout);

void cross_entropy(benchmark::State& s) {
  const Tensor labels = randint(1024, {4096});
  both_ways(s, randn({4096, 1024}), [&](const Tensor& x) { return neura::cross_entropy(x, labels); });
}
void mse_loss(benchmark::State& s) {
  const Tensor target = randn({kMany});
  both_ways(s, randn({kMany}), [&](const Tensor& x) { return neura::mse_loss(x, target); });
}
THREADS("loss", cross_entropy);
THREADS("loss", mse_loss);

void embedding(benchmark::State& s) {
  const Tensor ids = randint(4096, {64, 256});
  both_ways(s, randn({4096, 256}), [&](const Tensor& w) { return neura::embedding(ids, w); });
}
THREADS("embedding", embedding);

// Two branches whose calls are too small to be shared among threads: one after the other, or as two tasks.
void two_branches(benchmark::State& s, bool as_tasks) {
  const NoGrad off;
  const Tensor x = randn({32, 128});
  std::vector<Tensor> weights[2];
  for (auto& branch : weights)
    for (int layer = 0; layer < 8; ++layer) branch.push_back(randn({128, 128}) * 0.1);
  const auto run = [&](int i) {
    Tensor h = x;
    for (const Tensor& w : weights[i]) h = neura::tanh(matmul(h, w));
    return h;
  };
  timed(s, [&] {
    Tensor y[2];
    TaskGraph g;
    for (int i = 0; i < 2; ++i) g.add([&, i] { y[i] = run(i); });
    if (as_tasks) g.run();
    else y[0] = run(0), y[1] = run(1);
    return y[0] + y[1];
  });
}
void in_sequence(benchmark::State& s) { two_branches(s, false); }
void as_tasks(benchmark::State& s) { two_branches(s, true); }
THREADS("two-branches", in_sequence);
THREADS("two-branches", as_tasks);

struct Model {
  std::vector<Tensor> parameters;
  Model() {
    manual_seed(2);
    for (int i = 0; i < 8; ++i) {
      parameters.push_back(randn({1024, 512}).requires_grad_());
      parameters.back().set_grad(randn({1024, 512}));
    }
  }
};
template <class Optimizer> void step(benchmark::State& s) {
  Model model;
  Optimizer optimizer(model.parameters);
  timed(
      s,
      [&] {
        optimizer.step();
        return model.parameters[0];
      },
      [] {
        Model fresh;
        Optimizer first(fresh.parameters);
        first.step(), first.step();
        return fresh.parameters[7].detach();
      });
}
void adamw(benchmark::State& s) { step<optim::AdamW>(s); }
void rprop(benchmark::State& s) { step<optim::Rprop>(s); }
THREADS("optimizer", adamw);
THREADS("optimizer", rprop);

}  // namespace
}  // namespace neura
