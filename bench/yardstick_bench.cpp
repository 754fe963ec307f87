// How fast the processor is in this minute: multiplications that wait for each other, nothing of the library.
#include <benchmark/benchmark.h>

#include <cstdint>

namespace {

void yardstick(benchmark::State& state) {
  std::uint64_t x = 1;
  for (auto _ : state) {
    for (int i = 0; i < 10000; ++i) {
      x *= 6364136223846793005u;
      benchmark::DoNotOptimize(x);
    }
  }
}
BENCHMARK(yardstick);

}  // namespace
