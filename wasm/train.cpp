// A network learns which points lie inside a circle: a program that needs no file and no thread, and ends at the same
// loss on every machine.
#include <neura/neura.h>

#include <cmath>
#include <cstdio>
#include <string>

using namespace neura;

struct Net : nn::Module {
  nn::Linear hidden{2, 64}, output{64, 2};
  NEURA_MODULE(Net, hidden, output)
  Tensor forward(const Tensor& x) { return output(relu(hidden(x))); }
};

bool says_that_there_are_no_plugins() {
  try {
    ones({1}, {.device = "cuda"});
  } catch (const DeviceError& e) {
    std::printf("%s\n", e.what());
    return std::string(e.what()).find("no plug-ins") != std::string::npos;
  }
  return false;
}

int main() {
  manual_seed(0);
  set_num_threads(4);  // or as many as there are: in WebAssembly, this one
  const Tensor points = randn({1000, 2});
  const Tensor inside = ((points * points).sum(1) < 1.44).to(int64);
  Net net;
  optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
  double loss = 0;
  for (int step = 0; step < 200; ++step) {
    const Tensor now = cross_entropy(net(points), inside);
    optimizer.zero_grad();
    now.backward();
    optimizer.step();
    loss = now.item<double>();
  }
  const double right = (argmax(net(points), 1) == inside).to(float32).mean().item<double>();
  std::printf("loss %.6f, %.1f %% of the points on the right side\n", loss, 100 * right);
  bool good = std::abs(loss - 0.039189) < 1e-4 && right > 0.99;
#ifdef __EMSCRIPTEN__
  good &= says_that_there_are_no_plugins();
#endif
  return good ? 0 : 1;
}
