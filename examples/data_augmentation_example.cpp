// Augmentation: a data set of your own, whose few pictures are changed again each time they are asked for, by a crop, a
// flip, a rotation and other colours; and what that does for pictures that were never seen.
#include <neura/neura.h>

#include "example.h"

using namespace neura;

// Two kinds of pictures: an upright bar and a lying one, somewhere, of some colour, turned a little, with noise.
struct Bars {
  std::int64_t count;
  std::uint64_t seed;
  std::int64_t size() const { return count; }
  std::pair<Tensor, std::int64_t> get(std::int64_t index) const {
    data::check_index(index, count);
    Generator own(data::derive_seed(seed, 0, std::uint64_t(index)));
    data::Draws draws(own);
    const std::int64_t label = index % 2;
    Tensor image = Tensor::empty(Spec::dense(uint8, Shape{3, 20, 20}));
    for (std::int64_t i = 0; i < image.numel(); ++i) image.data<std::uint8_t>()[i] = std::uint8_t(draws.below(120));
    const std::int64_t top = 2 + draws.below(label ? 6 : 12), left = 2 + draws.below(label ? 12 : 6);
    for (std::int64_t c = 0; c < 3; ++c)
      image.select(0, c).narrow(0, top, label ? 10 : 4).narrow(1, left, label ? 4 : 10).fill_(40 + draws.below(200));
    return {data::rotate(image, draws.between(-25, 25)), label};
  }
};

using Item = std::pair<Tensor, std::int64_t>;

Item as_it_is(const Item& item) {
  const data::Compose change(data::ToFloat(), data::Normalize{{0.5}, {0.25}});
  return {change(data::center_crop(item.first, 16, 16)), item.second};
}

// All that is changed: where the picture is cut, mirrored and turned, and its colours.
auto augmentation() {
  return data::Compose(data::RandomCrop{16, 16}, data::RandomHorizontalFlip(), data::RandomVerticalFlip(),
                       data::RandomRotation{{-15, 15}, false, {.interpolation = "bilinear"}},
                       data::ColorJitter{{0.6, 1.4}, {0.6, 1.4}, {0.6, 1.4}, {-0.3, 0.3}}, data::ToFloat(),
                       data::Normalize{{0.5}, {0.25}});
}

// Sizes, and the range: 0 … 1 less 0.5, divided by 0.25, is -2 … 2. And no two are alike.
void show_one_picture_four_times() {
  const auto change = augmentation();
  const Tensor image = Bars{1, 5}.get(0).first;
  std::vector<Tensor> results;
  bool sizes = true, range = true, alike = false;
  for (int i = 0; i < 4; ++i) {
    const Tensor x = change(image);
    const double least = amin(x).item<double>(), most = amax(x).item<double>();
    std::printf("%s, %s, from %.2f to %.2f\n", x.shape().str().c_str(), name(x.dtype()), least, most);
    sizes &= x.shape() == Shape{3, 16, 16} && x.dtype() == float32;
    range &= least >= -2 && most <= 2;
    for (const Tensor& earlier : results) alike |= equal(earlier, x);
    results.push_back(x);
  }
  example::check(sizes, "3 x 20 x 20 bytes became 3 x 16 x 16 floats");
  example::check(range, "their values lie between -2 and 2");
  example::check(!alike, "the picture is another one every time");
}

double accuracy(nn::Sequential& net, std::int64_t count, Device device) {
  const NoGrad off;
  net.eval();
  std::int64_t right = 0;
  for (auto [x, y] : data::DataLoader(data::map(Bars{count, 99}, as_it_is), {.batch_size = 100, .device = device}))
    right += eq(argmax(net(x), 1), y).to(int64).sum().item<std::int64_t>();
  return double(right) / double(count);
}

double train(bool augmented, int epochs, Device device) {
  manual_seed(3);
  nn::Sequential net{nn::Conv2d(3, 8, 5), nn::ReLU(), nn::MaxPool2d(4), nn::Flatten(), nn::Linear(8 * 9, 2)};
  net.to(device);
  optim::AdamW optimizer(net.parameters(), {.lr = 0.005});
  const auto set = data::map(Bars{60, 1}, [change = augmentation(), augmented](const Item& item) {
    return augmented ? Item(change(item.first), item.second) : as_it_is(item);
  });
  data::DataLoader loader(set, {.batch_size = 20, .shuffle = true, .num_workers = 2, .seed = 7, .device = device});
  for (int epoch = 0; epoch < epochs; ++epoch)
    for (auto [images, labels] : loader) {
      const Tensor loss = cross_entropy(net(images), labels);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
  return accuracy(net, 400, device);
}

int main(int argc, char** argv) {
  const auto [device, quick] = example::options(argc, argv, "Pictures are changed again each time they are asked for.");
  manual_seed(1);
  show_one_picture_four_times();
  const int epochs = quick ? 2 : 60;
  const double plain = train(false, epochs, device), augmented = train(true, epochs, device);
  std::printf("right of 400 new pictures, after %d epochs over 60: %.1f %% as they are, %.1f %% with augmentation\n",
              epochs, 100 * plain, 100 * augmented);
  if (!quick) example::check(augmented > plain, "augmentation helps with pictures that were never seen");
}
