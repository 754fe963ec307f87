// What a training loop needs besides a loss: parameter groups with rates of their own, a schedule, clipped gradients.
#include <neura/neura.h>

#include <memory>

#include "example.h"

using namespace neura;

struct Net : nn::Module {
  nn::Linear hidden{8, 32}, output{32, 1};
  NEURA_MODULE(Net, hidden, output)
  Tensor forward(const Tensor& x) { return output(tanh(hidden(x))); }
};

// Weights and biases in two groups: biases learn faster and are not decayed.
std::vector<optim::ParamGroup> groups_of(const nn::Module& net, double lr) {
  std::vector<Tensor> weights, biases;
  for (const auto& [name, p] : net.named_parameters()) (name.ends_with("bias") ? biases : weights).push_back(p);
  return {{weights, {{"lr", lr}, {"weight_decay", 1e-4}}}, {biases, {{"lr", 2 * lr}, {"weight_decay", 0.0}}}};
}

void train(const char* name, double lr, Device device,
           const std::function<std::unique_ptr<optim::Optimizer>(std::vector<optim::ParamGroup>)>& make) {
  manual_seed(2);
  Net net;
  net.to(device);
  const Tensor x = randn({128, 8}).to(device), y = sum(x, 1, true) * 2 + sin(x.slice(1, 0, 1) * 3);
  const auto optimizer = make(groups_of(net, lr));
  optim::lr_scheduler::StepLR scheduler(*optimizer, 25, 0.5);
  const double max_norm = 1;

  std::printf("%s\n", name);
  double first = 0, last = 0, highest_norm = 0, clipped_norm = 0;
  for (int epoch = 0; epoch < 100; ++epoch) {
    const Tensor loss = mse_loss(net(x), y);
    optimizer->zero_grad();
    loss.backward();
    const double norm = nn::utils::clip_grad_norm_(net.parameters(), max_norm).item<double>();
    optimizer->step();
    scheduler.step();

    last = loss.item<double>();
    if (epoch == 0) {
      first = last;
      std::vector<Tensor> grads;
      for (const Tensor& p : net.parameters()) grads.push_back(p.grad());
      clipped_norm = nn::utils::get_total_norm(grads).item<double>();
    }
    highest_norm = std::max(highest_norm, norm);
    if (epoch % 20 == 0)
      std::printf("  epoch %3d  loss %8.4f  gradient norm %7.3f  rates %.5f, %.5f\n", epoch, last, norm,
                  scheduler.get_last_lr()[0], scheduler.get_last_lr()[1]);
  }
  const auto rates = scheduler.get_last_lr();
  const bool scheduled = std::abs(rates[0] - lr / 16) < 1e-12 && std::abs(rates[1] - lr / 8) < 1e-12;
  const bool clipped = highest_norm > max_norm && clipped_norm < max_norm + 1e-4;
  const bool learned = last < first / 2;
  std::printf("  loss %.3f -> %.3f\n", first, last);
  example::check(learned, "the loss fell to less than half");
  example::check(scheduled, "the rates are those of the schedule");
  example::check(clipped, "gradients were clipped");
}

int main(int argc, char** argv) {
  const Device device = example::options(argc, argv, "Parameter groups, a schedule, clipped gradients.").device;
  train("SGD with momentum", 0.05, device, [](auto groups) {
    return std::make_unique<optim::SGD>(std::move(groups), optim::SGDOptions{.momentum = 0.9});
  });
  train("Adam", 0.02, device, [](auto groups) { return std::make_unique<optim::Adam>(std::move(groups)); });
  train("AdamW", 0.02, device, [](auto groups) { return std::make_unique<optim::AdamW>(std::move(groups)); });

  // Element by element instead: each gradient within [-0.1, 0.1].
  Net net;
  net.to(device);
  sum(net(randn({64, 8}).to(device)) * 100).backward();
  nn::utils::clip_grad_value_(net.parameters(), 0.1);
  bool within = true;
  for (const Tensor& p : net.parameters()) within &= max(abs(p.grad())).item<double>() <= 0.1 + 1e-6;
  example::check(within, "no gradient is larger than 0.1");
}
