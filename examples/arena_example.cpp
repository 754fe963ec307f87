// Answers to requests of very different sizes, with and without an arena: how long they take, and how much memory the
// process takes from the system for them. An arena is one block; what a request makes is cut from it, and is gone when
// its scope ends.
#include <neura/neura.h>

#include <algorithm>
#include <chrono>

#include "example.h"

using namespace neura;

struct Measured {
  std::vector<double> milliseconds, answers;
  std::size_t reserved = 0;  // bytes beyond what there was before
  double percentile(double p) const {
    std::vector<double> sorted = milliseconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[std::min(sorted.size() - 1, std::size_t(p * double(sorted.size())))];
  }
  void print(const char* name) const {
    std::printf("%-14s median %.2f ms, of 100 requests one above %.2f ms, the slowest %.2f ms; %.0f MiB\n", name,
                percentile(0.5), percentile(0.99), percentile(1), double(reserved) / (1 << 20));
  }
};

double answer(nn::Sequential& net, const Tensor& request) { return max(net(request)).item<double>(); }

// `sizes` says how many rows each request has; `arena` may be null.
Measured serve(nn::Sequential& net, const Tensor& rows, const std::vector<std::int64_t>& sizes, Arena* arena) {
  Measured m;
  const std::size_t before = memory_reserved() - (arena ? arena->stats().bytes : 0);
  for (const std::int64_t n : sizes) {
    const auto begin = std::chrono::steady_clock::now();
    std::optional<ArenaScope> scope;
    if (arena) scope.emplace(*arena);
    m.answers.push_back(answer(net, rows.slice(0, 0, n)));
    scope.reset();
    m.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  m.reserved = memory_reserved() - before;
  return m;
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Requests of different sizes, with and without an arena.");
  if (!device.is_cpu()) return std::puts("nothing to show: an arena holds tensors of the cpu"), 0;
  manual_seed(0);
  nn::Sequential net{nn::Linear(32, 256), nn::GELU(), nn::Linear(256, 256), nn::GELU(), nn::Linear(256, 8)};
  const InferenceMode no_gradients;
  const std::int64_t most = quick ? 6000 : 24000;
  const Tensor rows = randn({most, 32});
  std::vector<std::int64_t> sizes;
  const Tensor drawn = rand({quick ? 40 : 400});
  for (const float u : drawn.to_vector<float>()) sizes.push_back(1 + std::int64_t(u * u * float(most - 1)));

  // How large must it be? A scope counts what is asked for, whether it fits or not.
  Arena probe(1);
  {
    const ArenaScope scope(probe);
    answer(net, rows);
  }
  const std::size_t bytes = probe.stats().peak;
  std::printf("the largest request takes %.0f MiB\n", double(bytes) / (1 << 20));

  empty_cache();
  const Measured plain = serve(net, rows, sizes, nullptr);
  empty_cache();
  Arena arena(bytes);
  const Measured cut = serve(net, rows, sizes, &arena);
  plain.print("without arena");
  cut.print("with arena");
  example::check(plain.answers == cut.answers, "the answers are the same");
  example::check(arena.stats().missed == 0 && arena.stats().escaped == 0, "everything came from the arena");
  example::check(cut.reserved <= plain.reserved, "with the arena the process takes no more memory from the system");
}
