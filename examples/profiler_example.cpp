// What a training step does, operation by operation: how often each ran, how long, and how much memory it took. The
// program's own ranges are in it, too. (Python's neura.profiler also writes traces for viewers.)
#include <neura/neura.h>
#include <neura/profile/profile.h>

#include <algorithm>
#include <map>

#include "example.h"

using namespace neura;

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "The operations of training steps, counted and timed.");
  manual_seed(1);
  nn::Sequential net{nn::Linear(64, 256), nn::GELU(), nn::LayerNorm({256}), nn::Linear(256, 10)};
  net.to(device);
  optim::AdamW optimizer(net.parameters());
  const Tensor x = randn({128, 64}).to(device), y = randint(10, {128}).to(device);
  const auto step = [&] {
    const profiler::Range whole("step");  // without a profile it costs nothing
    optimizer.zero_grad();
    Tensor loss;
    {
      const profiler::Range range("forward");
      loss = cross_entropy(net(x), y);
    }
    loss.backward();
    optimizer.step();
  };
  step();  // warms up: memory comes from the system, optimizers make their states

  const int steps = quick ? 5 : 50;
  profiler::Profile profile({.memory = true, .devices = device.is_cuda()});
  for (int i = 0; i < steps; ++i) step();
  profile.stop();

  struct Row {
    std::int64_t calls = 0, nanoseconds = 0, bytes = 0;
  };
  std::map<std::string, Row> rows;
  std::int64_t in_steps = 0;
  bool inside = true;
  for (const profiler::Event& e : profile.events()) {
    const bool range = e.kind == profiler::Event::range;
    Row& row = rows[range ? "[" + e.name + "]" : e.name + (e.backward ? ", in backward" : "")];
    row.calls += 1, row.nanoseconds += e.end - e.begin, row.bytes += std::max<std::int64_t>(e.bytes, 0);
    in_steps += range && e.name == "step" ? e.end - e.begin : 0;
    inside &= e.end >= e.begin;
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  std::printf("%-36s %7s %12s %12s\n", "operation", "calls", "us a call", "kB a call");
  for (const auto& [name, row] : sorted)
    std::printf("%-36s %7lld %12.2f %12.1f\n", name.c_str(), (long long)row.calls,
                double(row.nanoseconds) / 1e3 / double(row.calls), double(row.bytes) / 1e3 / double(row.calls));

  const auto calls = [&](const char* name) { return rows.count(name) ? rows[name].calls : 0; };
  example::check(calls("[step]") == steps && calls("[forward]") == steps, "every range is there as often as it was");
  example::check(calls("gelu") == steps && calls("layer_norm") == steps, "and so is every operation of the network");
  example::check(inside && in_steps > 0, "none ends before it begins");
}
