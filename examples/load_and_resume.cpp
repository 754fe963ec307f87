// Data from end to end: a data set of your own, augmentation in worker threads, and a run that is saved half-way,
// loaded into fresh objects, and ends bit for bit like the run that never stopped.
#include <neura/neura.h>

#include <filesystem>

#include "example.h"

using namespace neura;

// A data set is anything with get(index) and size(). Workers call get() at the same time.
struct Stripes {
  std::int64_t size() const { return 512; }
  std::pair<Tensor, std::int64_t> get(std::int64_t index) const {
    data::check_index(index, size());
    const std::int64_t label = index % 2;  // stripes lie or stand
    Tensor image = Tensor::empty(Spec::dense(uint8, Shape{1, 12, 12}));
    for (std::int64_t y = 0; y < 12; ++y)
      for (std::int64_t x = 0; x < 12; ++x) image.data<std::uint8_t>()[y * 12 + x] = (label ? x : y) / 2 % 2 ? 200 : 30;
    return {image, label};
  }
};

struct Trainer {
  nn::Sequential net{nn::Flatten(), nn::Linear(64, 16), nn::ReLU(), nn::Dropout(0.1), nn::Linear(16, 2)};
  optim::AdamW optimizer{net.parameters(), {.lr = 0.01}};
  optim::lr_scheduler::CosineAnnealingLR scheduler{optimizer, 4};
  explicit Trainer(Device device) { net.to(device); }
  Checkpoint parts() { return {&net, &optimizer, &scheduler, &default_generator()}; }
};

double train(Trainer& t, int from, int to) {
  const data::Compose augment(data::RandomCrop{8, 8}, data::RandomHorizontalFlip(), data::ToFloat());
  const auto set = data::map(Stripes(), [augment](std::pair<Tensor, std::int64_t> item) {
    return std::pair(augment(item.first), item.second);
  });
  data::DataLoader loader(set,
                          {.batch_size = 32, .shuffle = true, .num_workers = 2, .seed = 7, .device = t.net.device()});
  loader.set_epoch(from);
  double last = 0;
  for (int epoch = from; epoch < to; ++epoch) {
    for (auto [images, labels] : loader) {
      const Tensor loss = cross_entropy(t.net(images), labels);
      t.optimizer.zero_grad();
      loss.backward();
      t.optimizer.step();
      last = loss.item<double>();
    }
    t.scheduler.step();
    std::printf("epoch %d  loss %.4f\n", epoch + 1, last);
  }
  return last;
}

int main(int argc, char** argv) {
  const Device device = example::options(argc, argv, "A run is stopped half-way and continues.").device;
  const std::string file = (std::filesystem::temp_directory_path() / "neura-load-and-resume.safetensors").string();
  manual_seed(1);
  Trainer whole(device);
  train(whole, 0, 2);
  save_checkpoint(file, whole.parts(), nn::Dict{{{"epoch", 2}}});
  const double unbroken = train(whole, 2, 4);

  Trainer resumed(device);
  const nn::Dict extra = load_checkpoint(file, resumed.parts());
  const double again = train(resumed, int(nn::unbox<std::int64_t>(*extra.find("epoch"))), 4);
  std::filesystem::remove(file);
  example::check(unbroken == again, "the run that was stopped ends with the same loss, bit for bit");
}
