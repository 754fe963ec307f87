// A trained network goes to a file and comes back into a new object: by its state dict, a list of names and tensors.
// The file is a safetensors file, which other frameworks read, too.
#include <neura/neura.h>

#include <filesystem>

#include "example.h"

using namespace neura;

struct Net : nn::Module {
  nn::Linear hidden{2, 32};
  nn::BatchNorm1d norm{32};  // has buffers besides parameters: running means and variances
  nn::Linear output{32, 2};
  NEURA_MODULE(Net, hidden, norm, output)
  Tensor forward(const Tensor& x) { return output(relu(norm(hidden(x)))); }
};

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A trained network is saved, loaded, and gives the same.");
  manual_seed(1);
  const Tensor points = randn({512, 2}).to(device);
  const Tensor labels = (sum(square(points), 1) < 1.4).to(int64);  // inside of a circle?

  Net net;
  net.to(device);
  optim::AdamW optimizer(net.parameters(), {.lr = 0.02});
  for (int step = 0; step < (quick ? 40 : 200); ++step) {
    const Tensor loss = cross_entropy(net(points), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }

  const auto path = std::filesystem::temp_directory_path() / "neura-native-serialization.safetensors";
  save(path.string(), net.state_dict(), {{"task", "circle"}});
  std::printf("%s, %ju bytes\n", path.filename().c_str(), std::uintmax_t(std::filesystem::file_size(path)));

  // Into a fresh network, whose own initial values are others. load() brings tensors to where they were, or, with a
  // second argument, to where one wants them; load_state_dict() copies.
  const TensorFile file = load_file(path.string(), device);
  for (const auto& [name, tensor] : file.tensors)
    std::printf("  %-28s %-9s %s\n", name.c_str(), neura::name(tensor.dtype()), tensor.shape().str().c_str());
  example::check(file.metadata.at("task") == "circle", "texts of your own come back, too");

  Net again;
  again.to(device);
  net.eval();
  again.eval();
  const Tensor fresh = again(points), before = net(points);
  again.load_state_dict(file.tensors);
  const Tensor after = again(points);
  const double right = mean(eq(after.argmax(1), labels).to(float32)).item<double>();
  std::printf("%.1f %% of the points are right\n", 100 * right);
  example::check(!equal(fresh, before), "a fresh network says something else");
  example::check(equal(after, before), "after loading it says the same, bit for bit");
  example::check(right > 0.9, "and what it says is right");

  // A file that does not fit changes nothing and says why.
  nn::Sequential other{nn::Linear(2, 8)};
  try {
    other.load_state_dict(file.tensors);
    example::check(false, "a state dict of another network is refused");
  } catch (const Error& e) {
    std::printf("%s\n", std::string(e.what()).substr(0, 110).c_str());
  }
  std::filesystem::remove(path);
}
