// A training loop that says of everything where it is. The same program runs on "cpu", "cuda" and "cuda:1": the device
// is a value, and nothing below depends on which one it is.
//     training_on_a_device --device cuda:0
#include <neura/neura.h>

#include "example.h"

using namespace neura;

struct Net : nn::Module {
  nn::Linear hidden{8, 32}, output{32, 3};
  nn::BatchNorm1d norm{32};
  NEURA_MODULE(Net, hidden, norm, output)
  Tensor forward(const Tensor& x) { return output(relu(norm(hidden(x)))); }
};

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A training loop with explicit devices.");
  // A device that is not there is an error that says why, before anything is made.
  const Tensor probe = zeros({1}, {.device = device});
  std::printf("training on %s\n", probe.device().str().c_str());

  // 1. The data begin on the host, where files are read. Only batches go to the device.
  manual_seed(1);
  const Tensor x = randn({512, 8}), y = x.slice(1, 0, 3).argmax(1);
  data::DataLoader loader(data::TensorDataset(x, y), {.batch_size = 64, .shuffle = true});

  // 2. The model moves in place: its parameters and buffers are the same objects, elsewhere. So an optimizer may be
  // made before or after; what it keeps for each parameter is made on the parameter's device.
  Net model;
  model.to(device);
  optim::Adam optimizer(model.parameters(), {.lr = 0.01});

  bool placed = model.device() == device;
  for (const Tensor& p : model.parameters()) placed &= p.device() == device;
  for (const Tensor& b : model.buffers()) placed &= b.device() == device;  // running mean and variance
  example::check(placed, "parameters and buffers are on the device");

  double first = 0, last = 0;
  for (int epoch = 0; epoch < (quick ? 6 : 20); ++epoch)
    for (const auto& [host_x, host_y] : loader) {
      // 3. to() copies, unless the tensor is there already; then it is the tensor itself.
      const Tensor batch_x = host_x.to(device), batch_y = host_y.to(device);
      // 4. Operations run where their operands are. Two devices in one operation are an error: nothing moves by itself.
      const Tensor loss = cross_entropy(model(batch_x), batch_y);
      optimizer.zero_grad();
      loss.backward();  // gradients are where their parameters are
      optimizer.step();
      for (const Tensor& t : {batch_x, batch_y, loss}) placed &= t.device() == device;
      for (const Tensor& p : model.parameters()) placed &= p.grad().device() == device;
      // 5. item() brings one number to the host, and waits for the device until it is there.
      last = loss.item<double>();
      if (first == 0) first = last;
    }
  for (const Tensor& p : model.parameters()) placed &= optimizer.state(p).tensor("exp_avg", p).device() == device;
  std::printf("loss %.3f -> %.3f\n", first, last);
  example::check(placed, "batches, losses, gradients and the optimizer's state were there, too");
  example::check(last < first / 2, "the model learned");

  // 6. Results come back the same way.
  const NoGrad guard;
  model.eval();
  const Tensor guesses = model(x.to(device)).argmax(1).to("cpu");
  std::printf("%.1f %% right\n", 100 * mean(eq(guesses, y).to(float32)).item<double>());
  example::check(guesses.device().is_cpu(), "the answers are on the host");
}
