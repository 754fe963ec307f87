// The same network trained three times, with less to write each time: an update in place by hand, an optimizer with a
// schedule, and an optimizer with two groups of parameters that have rates of their own.
#include <neura/neura.h>

#include <cmath>

#include "example.h"

using namespace neura;

struct SimpleMLP : nn::Module {
  nn::Linear linear1{2, 32}, linear2{32, 1};
  NEURA_MODULE(SimpleMLP, linear1, linear2)
  Tensor forward(const Tensor& x) { return linear2(relu(linear1(x))); }
};

struct Data {  // y = sin(2 a) + b² on random points
  Tensor x, y;
  explicit Data(Device device) : x((rand({256, 2}) * 2 - 1).to(device)) {
    const Tensor a = x.slice(1, 0, 1), b = x.slice(1, 1, 2);
    y = sin(a * 2) + b * b;
  }
};

// 1. In place: p -= rate * gradient. A parameter may not be written while recording, hence the guard; what the step
// computes is then no part of any graph.
double by_hand(SimpleMLP& model, const Data& data, int epochs, double rate) {
  double last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    model.zero_grad();
    const Tensor loss = mse_loss(model(data.x), data.y);
    loss.backward();
    const NoGrad guard;
    for (Tensor p : model.parameters()) sub_(p, p.grad() * rate);
    last = loss.item<double>();
  }
  return last;
}

// 2. and 3. The optimizer does that line, for each group with the rate that the schedule has written into it.
double by_optimizer(SimpleMLP& model, const Data& data, int epochs, optim::Optimizer& optimizer) {
  const int step_size = epochs / 3;
  optim::lr_scheduler::StepLR scheduler(optimizer, step_size, 0.5);
  std::vector<double> first;
  for (const auto& group : optimizer.param_groups()) first.push_back(group.lr());
  double last = 0;
  bool as_planned = true;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    if (epoch % step_size == 0) std::printf("  epoch %3d ", epoch);
    for (std::size_t g = 0; g < first.size(); ++g) {
      const double rate = optimizer.param_groups()[g].lr(), planned = first[g] * std::pow(0.5, epoch / step_size);
      as_planned &= std::abs(rate - planned) < 1e-12;
      if (epoch % step_size == 0) std::printf(" rate of group %zu: %.4f", g, rate);
    }
    optimizer.zero_grad();
    const Tensor loss = mse_loss(model(data.x), data.y);
    loss.backward();
    optimizer.step();
    scheduler.step();
    last = loss.item<double>();
    if (epoch % step_size == 0) std::printf("  loss %.5f\n", last);
  }
  example::check(as_planned, "every group's rate follows the schedule");
  return last;
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "An update in place, an optimizer, groups with rates.");
  const int epochs = quick ? 150 : 600;
  manual_seed(1);
  const Data data(device);
  SimpleMLP one;
  one.to(device);
  const Ref<SimpleMLP> two = one.clone(), three = one.clone();  // from the same initial values
  const double first = mse_loss(one(data.x), data.y).item<double>();
  std::printf("loss before: %.5f\n", first);

  const double hand = by_hand(one, data, epochs, 0.1);
  std::printf("by hand, p -= rate * gradient: loss %.5f\n", hand);

  optim::SGD plain(two->parameters(), {.lr = 0.2, .momentum = 0.8});
  const double planned = by_optimizer(*two, data, epochs, plain);
  std::printf("SGD with momentum and StepLR: loss %.5f\n", planned);

  std::vector<Tensor> weights, biases;
  for (const auto& [name, p] : three->named_parameters()) (name.ends_with("bias") ? biases : weights).push_back(p);
  std::vector<optim::ParamGroup> groups;
  groups.emplace_back(weights);  // the optimizer's rate
  groups.push_back({biases, {{"lr", 0.4}}});
  optim::SGD grouped(std::move(groups), {.lr = 0.2, .momentum = 0.8});
  const double in_groups = by_optimizer(*three, data, epochs, grouped);
  std::printf("the same, biases twice as fast: loss %.5f\n", in_groups);

  example::check(hand < first / 4 && planned < first / 10 && in_groups < first / 10, "all three learned");
}
