// A small convolutional network on images made by hand: one bright bar in each, and the class is where it lies. The
// layers are initialised by type, through Module::apply.
#include <neura/neura.h>

#include "example.h"

using namespace neura;

struct SimpleCNN : nn::Module {
  nn::Conv2d conv1{1, 8, 3, {.padding = 1}}, conv2{8, 16, 3, {.padding = 1}};
  nn::MaxPool2d pool{2};
  nn::Flatten flat;
  nn::Linear fc1{16 * 4 * 4, 32}, fc2{32, 4};
  NEURA_MODULE(SimpleCNN, conv1, conv2, pool, flat, fc1, fc2)
  Tensor forward(const Tensor& images) {
    Tensor x = pool(relu(conv1(images)));
    x = pool(relu(conv2(x)));
    return fc2(relu(fc1(flat(x))));
  }
};

void initialise(nn::Module& m) {
  if (auto* conv = m.as<nn::Conv2d>()) {
    nn::init::kaiming_normal_(conv->weight, {.mode = "fan_out", .nonlinearity = "relu"});
    nn::init::zeros_(conv->bias);
  } else if (auto* linear = m.as<nn::Linear>()) {
    nn::init::xavier_uniform_(linear->weight);
    nn::init::zeros_(linear->bias);
  }
}

// 16 x 16 noise with a bar: upper half, lower half (across), left half, right half (down).
std::pair<Tensor, Tensor> make_images(std::int64_t count) {
  Tensor images = rand({count, 1, 16, 16}) * 0.3, labels = randint(4, {count}), place = randint(1, 6, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto label = labels[i].item<std::int64_t>();
    const std::int64_t at = place[i].item<std::int64_t>() + (label % 2 ? 8 : 0);
    images[i][0].select(label < 2 ? 0 : 1, at).fill_(1);
  }
  return {images, labels};
}

double accuracy(SimpleCNN& net, const Tensor& images, const Tensor& labels) {
  NoGrad guard;
  net.eval();
  const double share = mean(eq(net(images).argmax(1), labels).to(DType::float32)).item<double>();
  net.train();
  return share;
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "A small convolutional network, on the cpu or a GPU.");
  manual_seed(3);
  SimpleCNN net;
  net.apply(initialise);
  net.to(device);
  std::printf("%s\n", net.str().c_str());
  const auto [images, labels] = make_images(512);
  const auto [host_images, host_labels] = make_images(128);
  const Tensor test_images = host_images.to(device), test_labels = host_labels.to(device);
  // Batches are put together on the host and brought to the device.
  data::DataLoader loader(data::TensorDataset(images, labels), {.batch_size = 32, .shuffle = true, .device = device});
  optim::Adam optimizer(net.parameters(), {.lr = 2e-3});
  const nn::CrossEntropyLoss criterion;

  double first = 0, last = 0;
  for (int epoch = 0; epoch < (quick ? 5 : 10); ++epoch) {
    double total = 0;
    int batches = 0;
    for (auto& [x, y] : loader) {
      const Tensor loss = criterion(net(x), y);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      total += loss.item<double>(), ++batches;
    }
    last = total / batches;
    if (epoch == 0) first = last;
    std::printf("epoch %d  loss %.4f  accuracy on new images %.3f\n", epoch, last,
                accuracy(net, test_images, test_labels));
  }
  example::check(last < first / 2, "the loss fell to less than half");
  example::check(accuracy(net, test_images, test_labels) > 0.9, "more than 90 % of new images are right");
}
