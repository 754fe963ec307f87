// Backward passes in several threads of the caller's, each kernel on one thread: what is gained is the engine's own
// concurrency. The work is the same for any number of threads. bench/threads.py makes the table.
#include <benchmark/benchmark.h>

#include <thread>

#include "neura/core/parallel.h"
#include "neura/neura.h"

namespace neura {
namespace {

constexpr int kBranches = 64, kDepth = 8;

// A chain of products and tanh from x.
Tensor branch(Tensor x, const Tensor& w) {
  for (int i = 0; i < kDepth; ++i) x = tanh(matmul(x, w));
  return sum(x);
}
// f(k) for k in [0, kBranches), dealt out to threads.
template <class F> void in_threads(int threads, F f) {
  std::vector<std::thread> others;
  const auto share = [&](int first) {
    for (int k = first; k < kBranches; k += threads) f(k);
  };
  for (int t = 1; t < threads; ++t) others.emplace_back(share, t);
  share(0);
  for (std::thread& t : others) t.join();
}
struct OneThreadKernels {
  int before = get_num_threads();
  OneThreadKernels() { set_num_threads(1); }
  ~OneThreadKernels() { set_num_threads(before); }
};
void counts(benchmark::internal::Benchmark* b) {
  const int most = get_num_threads();
  for (int n = 1; n < most; n *= 2) b->Arg(n);
  b->Arg(most);
}
#define THREADS(name)                   \
  BENCHMARK(name)                       \
      ->Name("threads/backward/" #name) \
      ->ArgName("threads")              \
      ->Apply(counts)                   \
      ->UseRealTime()                   \
      ->Unit(benchmark::kMillisecond)

void independent_graphs(benchmark::State& s) {  // one per branch, with leaves of its own; built and run by its thread
  std::vector<Tensor> x, w;
  for (int k = 0; k < kBranches; ++k) x.push_back(randn({48, 48})), w.push_back(randn({48, 48}).requires_grad_());
  const OneThreadKernels only;
  for (auto _ : s)
    in_threads(int(s.range(0)), [&](int k) {
      branch(x[std::size_t(k)], w[std::size_t(k)]).backward();
      w[std::size_t(k)].set_grad({});
    });
}
void branches_of_one_graph(benchmark::State& s) {  // all from one leaf, to which every thread adds
  Tensor w = (randn({48, 48}) * 0.1).requires_grad_(), shared = w * 2;
  std::vector<Tensor> ends;
  for (int k = 0; k < kBranches; ++k) ends.push_back(branch(randn({48, 48}), shared));
  const OneThreadKernels only;
  for (auto _ : s) {
    in_threads(int(s.range(0)), [&](int k) { ends[std::size_t(k)].backward({}, true); });
    w.set_grad({});
  }
}
void one_wide_pass(benchmark::State& s) {  // one pass over all branches; its kernels are shared, not its nodes
  Tensor w = (randn({256, 256}) * 0.1).requires_grad_(), all;
  for (int k = 0; k < 8; ++k) {
    const Tensor end = branch(randn({256, 256}), w);
    all = all ? all + end : end;
  }
  const int before = get_num_threads();
  set_num_threads(int(s.range(0)));
  for (auto _ : s) {
    all.backward({}, true);
    w.set_grad({});
  }
  set_num_threads(before);
}
THREADS(independent_graphs);
THREADS(branches_of_one_graph);
THREADS(one_wide_pass);

}  // namespace
}  // namespace neura
