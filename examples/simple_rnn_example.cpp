// A recurrent network reads a row of digits and says whether they add up to more than nine: its answer after the last
// digit depends on every one of them. The layers are initialised by type, through Module::apply.
#include <neura/neura.h>

#include "example.h"

using namespace neura;

struct SimpleRNN : nn::Module {
  nn::Embedding embedding{4, 16};              // a vector for each digit 0 … 3
  nn::RNN rnn{16, 32, {.batch_first = true}};  // [N, T, 16] -> [N, T, 32]
  nn::Linear head{32, 2};                      // no or yes
  NEURA_MODULE(SimpleRNN, embedding, rnn, head)
  Tensor forward(const Tensor& digits) {
    const auto [outputs, state] = rnn.forward(embedding(digits));
    return head(outputs.select(1, -1));  // after the last digit
  }
};

// apply() calls this for every module, children first. A matrix that a state is multiplied by at each step should keep
// its length: an orthogonal one does.
void initialise(nn::Module& m) {
  if (auto* table = m.as<nn::Embedding>()) {
    nn::init::normal_(table->weight, 0, 0.5);
  } else if (auto* linear = m.as<nn::Linear>()) {
    nn::init::xavier_uniform_(linear->weight);
    nn::init::zeros_(linear->bias);
  } else if (auto* rnn = m.as<nn::RNN>()) {
    for (const auto& [name, p] : rnn->named_parameters()) {
      if (name.starts_with("weight_hh")) nn::init::orthogonal_(p);
      else if (name.starts_with("weight_ih")) nn::init::xavier_uniform_(p, nn::init::calculate_gain("tanh"));
      else nn::init::zeros_(p);
    }
  }
}

std::pair<Tensor, Tensor> make_rows(std::int64_t count, std::int64_t length, Device device) {
  const Tensor digits = randint(4, {count, length}).to(device);
  return {digits, (digits.sum(1) > 9).to(int64)};
}

double accuracy(SimpleRNN& net, const Tensor& digits, const Tensor& more) {
  const NoGrad guard;
  return mean(eq(net(digits).argmax(1), more).to(float32)).item<double>();
}

int main(int argc, char** argv) {
  const auto [device, quick] =
      example::options(argc, argv, "A recurrent network learns whether a sum is more than nine.");
  manual_seed(5);
  SimpleRNN net;
  net.apply(initialise);
  const Tensor w = net.get_parameter("rnn.weight_hh_l0");
  example::check(allclose(w.matmul(w.t()), eye(32), {.atol = 1e-5}), "apply: the recurrent matrix is orthogonal");
  net.to(device);

  optim::Adam optimizer(net.parameters(), {.lr = 3e-3});
  const auto [test, test_more] = make_rows(512, 6, device);
  double first = 0, last = 0;
  const int epochs = quick ? 12 : 30;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double total = 0;
    for (int batch = 0; batch < 25; ++batch) {
      const auto [digits, more] = make_rows(64, 6, device);
      const Tensor loss = cross_entropy(net(digits), more);
      optimizer.zero_grad();
      loss.backward();
      nn::utils::clip_grad_norm_(net.parameters(), 1);
      optimizer.step();
      total += loss.item<double>() / 25;
    }
    last = total;
    if (epoch == 0) first = last;
    if (epoch % 3 == 2) std::printf("epoch %2d  loss %.4f\n", epoch + 1, last);
  }
  const double right = accuracy(net, test, test_more);
  std::printf("%.1f %% of 512 new rows are right\n", 100 * right);
  example::check(last < first / 2 && right > 0.9, "it learned");
}
