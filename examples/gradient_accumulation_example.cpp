// A step over a batch that is too large for the memory: its gradients are added up over small parts, and the optimizer
// takes one step with the sum. The weights end as those of the run with large batches, within rounding.
#include <neura/neura.h>

#include "example.h"

using namespace neura;

// backward() adds to .grad; nothing has to be written for accumulation but where zero_grad() and step() stand.
struct Run {
  nn::Sequential net{nn::Linear(10, 64), nn::Tanh(), nn::Linear(64, 3)};
  optim::SGD optimizer{net.parameters(), {.lr = 0.1, .momentum = 0.9}};

  void large(const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    cross_entropy(net(x), y).backward();
    optimizer.step();
  }
  void in_parts(const Tensor& x, const Tensor& y, const std::vector<std::int64_t>& sizes) {
    optimizer.zero_grad();
    const auto xs = split(x, sizes), ys = split(y, sizes);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      // The large batch's loss is a mean over all items. So each part gives its sum, divided by the number of all
      // items: a mean of means would weigh the items of small parts too much.
      const Tensor part = cross_entropy(net(xs[i]), ys[i], {.reduction = Reduction::sum});
      (part / double(x.size(0))).backward();  // and what this part's graph has kept is freed here
    }
    optimizer.step();
  }
};

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Gradients of small batches are added up to a large one.");
  const DeviceScope on(device);
  manual_seed(0);
  Run whole, parts;
  parts.net.load_state_dict(whole.net.state_dict());
  const int steps = quick ? 60 : 300;
  double first = 0, last = 0;
  for (int step = 0; step < steps; ++step) {
    const Tensor x = randn({64, 10}), y = x.slice(1, 0, 3).argmax(1);  // which of the first three is the largest?
    last = cross_entropy(whole.net(x), y).item<double>();
    if (step == 0) first = last;
    whole.large(x, y);
    parts.in_parts(x, y, {5, 20, 1, 38});
  }
  double farthest = 0;
  const auto a = whole.net.parameters(), b = parts.net.parameters();
  for (std::size_t i = 0; i < a.size(); ++i) farthest = std::max(farthest, max(abs(a[i] - b[i])).item<double>());
  std::printf("%d steps, loss %.3f -> %.3f, largest difference of a weight: %.1e\n", steps, first, last, farthest);
  example::check(last < first / 2, "the network learned");
  example::check(farthest < 1e-4, "four parts of unequal sizes make the step of one large batch");
}
