// The first network: a multilayer perceptron learns a smooth function, with every step of the loop written out. The
// update is made by hand: a new tensor without history becomes the data of each parameter.
#include <neura/neura.h>

#include "example.h"

using namespace neura;

struct SimpleMLP : nn::Module {
  nn::Linear linear1{2, 32}, linear2{32, 1};
  NEURA_MODULE(SimpleMLP, linear1, linear2)
  Tensor forward(const Tensor& x) { return linear2(relu(linear1(x))); }
};

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A multilayer perceptron, every step written out.");
  manual_seed(1);
  SimpleMLP model;
  model.to(device);
  std::printf("%s\n", model.str().c_str());
  for (const auto& [name, p] : model.named_parameters())
    std::printf("  %-15s %s\n", name.c_str(), p.shape().str().c_str());

  // y = sin(2 a) + b² on 256 random points
  const Tensor x = (rand({256, 2}) * 2 - 1).to(device);
  const Tensor a = x.slice(1, 0, 1), b = x.slice(1, 1, 2), y = sin(a * 2) + b * b;

  const nn::MSELoss criterion;
  const double learning_rate = 0.1;
  const int epochs = quick ? 300 : 1000;
  double first = 0, last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Tensor loss = criterion(model(x), y);
    loss.backward();
    for (const Tensor& p : model.parameters()) nn::set_data(p, p.detach() - p.grad() * learning_rate);
    model.zero_grad();

    last = loss.item<double>();
    if (epoch == 0) first = last;
    if (epoch % (epochs / 5) == 0 || epoch == epochs - 1) std::printf("epoch %3d  loss %.5f\n", epoch, last);
  }
  std::printf("the loss went from %.4f to %.4f\n", first, last);
  example::check(last < first / 10, "the loss is below a tenth of what it was");
}
