// Fashion-MNIST, or another set in its four files: training pictures, and others to test with.
#include <cstdio>
#include <filesystem>

#include "cli/answers.h"
#include "cli/task.h"
#include "neura/data/mnist.h"
#include "neura/data/png.h"
#include "neura/models/small.h"
#include "neura/ops/create/create.h"

namespace neura::cli {
namespace {

// Two pixels to a character, so that it looks as high as it is wide.
void draw(const Tensor& picture) {
  static constexpr char kInk[] = " .:-=+*#%@";
  const std::int64_t height = picture.size(1), width = picture.size(2);
  if (width > 76) return;
  const auto* p = picture.const_data<std::uint8_t>();
  for (std::int64_t y = 0; y < height; y += 2) {
    std::string line = "  ";
    for (std::int64_t x = 0; x < width; ++x) {
      const int below = y + 1 < height ? p[(y + 1) * width + x] : p[y * width + x];
      line += kInk[(p[y * width + x] + below) * 9 / 510];
    }
    std::printf("%s\n", line.c_str());
  }
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
}

class Fashion final : public Task {
 public:
  explicit Fashion(Config& c) : Task(c) {
    if (!c.facts.contains("classes")) return;
    c.facts.at("classes").get_to(classes_);
    c.facts.at("height").get_to(height_), c.facts.at("width").get_to(width_);
  }
  const char* things() const override { return "pictures"; }

  TaskData open(bool fresh) override {
    const data::FashionMNIST training({.root = config_.data, .train = true});
    if (fresh) {
      height_ = training.images().size(2), width_ = training.images().size(3);
      check<ValueError>(height_ >= 4 && width_ >= 4, [&] {
        return "fashion-mnist: expected pictures of 4 x 4 pixels or more, got " + sides(training.images());
      });
      classes_ = training.classes();
      config_.facts = {{"classes", classes_}, {"height", height_}, {"width", width_}, {"count", training.size()}};
    }
    check<ValueError>(config_.facts.at("count") == training.size(), [&] {
      return "fashion-mnist: expected the " + config_.facts.at("count").dump() +
             " pictures that the run began with, got " + std::to_string(training.size());
    });
    const data::FashionMNIST testing = test_set(config_.data);
    check<ValueError>(training.size() > 0 && testing.size() > 0,
                      [] { return std::string("fashion-mnist: expected pictures, got none"); });
    return {examples(training), examples(testing), {}};
  }
  Examples open_other(const std::string& path) override { return examples(test_set(path)); }

  // cnn: two convolutions and two linear layers; mlp: three linear layers.
  Ref<nn::Sequential> network() const override {
    const auto n = std::int64_t(classes_.size());
    const models::FashionOptions o{.num_classes = n, .height = height_, .width = width_};
    return config_.model == "mlp" ? models::fashion_mlp(o) : models::fashion_cnn(o);
  }
  Tensor input() const override { return zeros({2, 1, height_, width_}, {.dtype = uint8}); }

  int predict(nn::Sequential& model, const PredictOptions& o) const override {
    check<ValueError>(!o.files.empty(), [] {
      return std::string("predict: expected pictures, got none; name PNG files, or numbers of test pictures");
    });
    for (const std::string& name : o.files) {
      const Tensor x = picture(name, o.invert, !o.json);
      const bool alone = o.files.size() == 1;
      if (alone && !o.json) draw(x);
      say_classes(name, classes_, probabilities(model, x), o.json, alone);
    }
    return kDone;
  }

 private:
  static std::string sides(const Tensor& x) { return std::to_string(x.size(-2)) + " x " + std::to_string(x.size(-1)); }
  data::FashionMNIST test_set(const std::string& root) const {
    data::FashionMNIST set({.root = root, .train = false});
    check<ValueError>(classes_.empty() || (set.images().size(2) == height_ && set.images().size(3) == width_), [&] {
      return "expected pictures of " + std::to_string(height_) + " x " + std::to_string(width_) + " pixels, got " +
             sides(set.images());
    });
    return set;
  }
  static Examples examples(const data::MNIST& set) {
    return {[set](std::span<const std::int64_t> indices) { return set.get_batch(indices); }, set.size(),
            [set](std::int64_t i) { return data::encode_png(set.get(i).first); }};
  }

  // A PNG file, or the number of a picture to test with.
  Tensor picture(const std::string& name, bool invert, bool tell) const {
    Tensor x;
    if (is_number(name)) {
      const data::FashionMNIST set = test_set(config_.data);
      const std::int64_t index = std::stoll(name);
      check<IndexError>(index < set.size(),
                        [&] { return "expected a picture below " + std::to_string(set.size()) + ", got " + name; });
      const auto [image, label] = set.get(index);
      if (tell) std::printf("picture %s of the test set: %s\n", name.c_str(), classes_[std::size_t(label)].c_str());
      x = image.clone();
    } else {
      x = data::read_png(name, data::ImageMode::gray);
      check<ValueError>(x.size(1) == height_ && x.size(2) == width_, [&] {
        return name + ": expected a picture of " + std::to_string(height_) + " x " + std::to_string(width_) +
               " pixels, got " + sides(x) + "; scale it";
      });
    }
    if (invert)
      for (std::int64_t i = 0; i < x.numel(); ++i) x.data<std::uint8_t>()[i] ^= 255;
    return x;
  }

  std::int64_t height_ = 0, width_ = 0;
};

}  // namespace

std::unique_ptr<Task> make_fashion(Config& c) { return std::make_unique<Fashion>(c); }

}  // namespace neura::cli
