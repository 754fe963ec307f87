// Runs an inference.
#include <neura/neura.h>

#include <cstdio>

using namespace neura;

struct Net : nn::Module {
  nn::Linear hidden{4, 8}, output{8, 3};
  NEURA_MODULE(Net, hidden, output)
  Tensor forward(const Tensor& x) { return output(relu(hidden(x))); }
};

int main() {
  Net net;
  net.eval();
  InferenceMode inference;
  const Tensor probabilities = softmax(net(ones({2, 4})), -1);
  std::printf("%s\n", probabilities.str().c_str());
  const double sum = probabilities.sum().item<double>();
  return sum > 1.999 && sum < 2.001 ? 0 : 1;
}
