// One computation in three ways: call by call; as a compiled function, whose pointwise calls go over memory once; and
// as a program that was traced, made smaller and is run again. All give the same values; how long each takes is
// printed.
#include <neura/graph/passes.h>
#include <neura/graph/trace.h>
#include <neura/graph/window.h>
#include <neura/neura.h>

#include <algorithm>
#include <chrono>

#include "example.h"

using namespace neura;

template <class F> double milliseconds(const F& f, Device device, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Tensor result = f();
    if (device.is_cuda()) result.flatten()[0].item<double>();  // waits for the device
    all.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return *std::min_element(all.begin(), all.end());
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Calls one by one, compiled, and as a program.");
  const DeviceScope on(device);
  const NoGrad guard;
  manual_seed(1);
  const int times = quick ? 3 : 20;

  // Six pointwise operations on large tensors: memory is what they wait for.
  const std::int64_t n = quick ? 1 << 20 : 1 << 22;
  const Tensor a = randn({n}), b = randn({n}), c = randn({n});
  const auto f = [](const Tensor& a, const Tensor& b, const Tensor& c) { return gelu(a * b + c) * sigmoid(c) - a; };
  auto compiled = graph::compile(f);
  graph::reset_explanation();
  const Tensor expected = f(a, b, c), got = compiled(a, b, c);
  const graph::Explanation e = graph::explanation();
  std::printf("%lld calls waited, %lld ran in their place\n", (long long)e.waited, (long long)e.ran);
  std::printf("one by one %.2f ms, compiled %.2f ms\n", milliseconds([&] { return f(a, b, c); }, device, times),
              milliseconds([&] { return compiled(a, b, c); }, device, times));
  example::check(equal(expected, got), "a compiled function gives the same bits");
  example::check(device.is_cuda() || e.ran < e.waited,
                 "and on the cpu makes fewer calls");  // elsewhere they run at once

  // A network for inference. Its parameters are made constants, batch normalisation goes into the filters, and what
  // depends on constants alone is computed now.
  nn::Sequential net{nn::Conv2d(3, 16, 3, {.padding = 1}),
                     nn::BatchNorm2d(16),
                     nn::ReLU(),
                     nn::MaxPool2d(2),
                     nn::Conv2d(16, 32, 3, {.padding = 1}),
                     nn::BatchNorm2d(32),
                     nn::ReLU(),
                     nn::Flatten(),
                     nn::Linear(32 * 256, 10),
                     nn::Softmax(1)};
  net.eval();
  const Tensor images = randn({8, 3, 32, 32});
  const graph::Program traced = graph::trace([&](auto in) { return std::vector{net(in[0])}; }, {{images}});
  const graph::Program small = graph::optimized(graph::without_batch_norm(graph::frozen(traced)));
  std::printf("%zu calls traced, %zu are left\n", traced.nodes.size(), small.nodes.size());
  std::printf("network %.2f ms, program %.2f ms\n", milliseconds([&] { return net(images); }, device, times),
              milliseconds([&] { return graph::run(small, {{images}})[0]; }, device, times));
  example::check(small.nodes.size() < traced.nodes.size(), "the program is smaller");
  example::check(allclose(net(images), graph::run(small, {{images}})[0], {.rtol = 1e-4, .atol = 1e-6}),
                 "it computes what the network does, within rounding");
}
