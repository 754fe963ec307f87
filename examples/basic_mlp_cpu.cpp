// The first network: a multilayer perceptron learns a smooth function, with every step of the loop written out. The
// update is made by hand: a new tensor without history becomes the data of each parameter.
#include <neura/neura.h>

#include <cstdio>

using namespace neura;

struct SimpleMLP : nn::Module {
  nn::Linear linear1{2, 32}, linear2{32, 1};
  NEURA_MODULE(SimpleMLP, linear1, linear2)
  Tensor forward(const Tensor& x) { return linear2(relu(linear1(x))); }
};

int main() {
  manual_seed(1);
  SimpleMLP model;
  std::printf("%s\n", model.str().c_str());
  for (const auto& [name, p] : model.named_parameters())
    std::printf("  %-15s %s\n", name.c_str(), p.shape().str().c_str());

  // y = sin(2 a) + b² on 256 random points
  const Tensor x = rand({256, 2}) * 2 - 1;
  const Tensor a = x.slice(1, 0, 1), b = x.slice(1, 1, 2), y = sin(a * 2) + b * b;

  const nn::MSELoss criterion;
  const double learning_rate = 0.1;
  const int epochs = 300;
  double first = 0, last = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Tensor loss = criterion(model(x), y);
    loss.backward();
    for (const Tensor& p : model.parameters()) nn::set_data(p, p.detach() - p.grad() * learning_rate);
    model.zero_grad();

    last = loss.item<double>();
    if (epoch == 0) first = last;
    if (epoch % 50 == 0 || epoch == epochs - 1) std::printf("epoch %3d  loss %.5f\n", epoch, last);
  }
  const bool learned = last < first / 10;
  std::printf("%s: the loss went from %.4f to %.4f\n", learned ? "ok" : "failed", first, last);
  return learned ? 0 : 1;
}
