// A multilayer perceptron trained on the GPU without waiting for it: the model is made in a device scope, batches come
// from pinned memory on a stream of the loader's own, and the host waits only where it prints. The same run on the CPU
// gives the same losses. Without a device the program says why, and that is all.
#include <neura/backend/plugin.h>
#include <neura/cuda/stream.h>
#include <neura/neura.h>

#include <cmath>
#include <cstdio>
#include <cstring>

using namespace neura;

namespace {

struct MLP : nn::Module {
  nn::Linear first{2, 64}, second{64, 64}, last{64, 1};  // their parameters follow the scope
  NEURA_MODULE(MLP, first, second, last)
  Tensor forward(const Tensor& x) { return last(relu(second(relu(first(x))))); }
};

// Losses of the epochs, computed where `device` says.
std::vector<double> train(Device device, int epochs) {
  manual_seed(2);
  // y = sin(2 a) + b² on random points, which stay in the memory of the host.
  const Tensor x = rand({4096, 2}) * 2 - 1;
  const Tensor a = x.slice(1, 0, 1), b = x.slice(1, 1, 2), y = sin(a * 2) + b * b;

  const DeviceScope on(device);  // what is made from here on without a device is made there
  MLP model;
  optim::AdamW optimizer(model.parameters(), {.lr = 3e-3});
  // In a scope a loader brings its batches there: a thread puts them together in pinned memory, and copies the next one
  // while the device is at the one before.
  data::DataLoader loader(data::TensorDataset(x, y), {.batch_size = 256, .shuffle = true, .num_workers = 1, .seed = 3});
  std::vector<double> losses;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    Tensor sum = zeros({});  // on the device: adding to it waits for nothing
    for (const auto& [points, values] : loader) {
      const Tensor loss = mse_loss(model(points), values);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      sum = sum + loss.detach();
    }
    if (device.is_cuda()) cuda::current_stream(device).synchronize();  // before the host looks; item() would do it, too
    losses.push_back(sum.item<double>() / double(loader.size()));
    if (epoch % 5 == 0 || epoch == epochs - 1)
      std::printf("%-7s epoch %2d  loss %.6f\n", device.str().c_str(), epoch, losses.back());
  }
  return losses;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::string why = unavailable(DeviceType::cuda); !why.empty()) {
    std::printf("nothing to show without a CUDA device: %s\n", why.c_str());
    return 0;
  }
  const int epochs = argc > 1 && !std::strcmp(argv[1], "--quick") ? 6 : 16;
  const std::vector<double> there = train("cuda", epochs), here = train("cpu", epochs);
  bool ok = there.back() < there.front() / 5;
  std::printf("the loss went from %.5f to %.5f\n", there.front(), there.back());
  // Sums are added up in another order: the runs part slowly.
  for (int i = 0; i < epochs; ++i) ok &= std::abs(there[i] - here[i]) <= 0.02 * here[i] + 1e-5;
  std::printf("%s: the losses %s the cpu's\n", ok ? "ok" : "failed", ok ? "are" : "should fall as");
  return ok ? 0 : 1;
}
