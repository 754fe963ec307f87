#include "cli/models.h"

#include "neura/io/checkpoint.h"
#include "neura/nn/activation.h"
#include "neura/nn/conv.h"
#include "neura/nn/dropout.h"
#include "neura/nn/linear.h"
#include "neura/nn/norm.h"
#include "neura/nn/pool.h"
#include "neura/ops/rows.h"

namespace neura::cli {
namespace {

// Of Fashion-MNIST's training pictures, as parts of 255.
constexpr double kMean = 0.2860, kDeviation = 0.3530;

template <class T> T get(const std::string& file, const nn::Dict& d, const char* name) {
  const nn::Value* v = d.find(name);
  const T* typed = v ? v->get<T>() : nullptr;
  check<FormatError>(typed, [&] { return file + ": not a checkpoint of neura train (no " + name + ")"; });
  return *typed;
}

}  // namespace

nn::Dict Settings::save() const {
  nn::List names{{}, false};
  for (const std::string& c : classes) names.items.emplace_back(c);
  nn::Dict d;
  d["model"] = model;
  d["epochs"] = epochs;
  d["batch_size"] = batch_size;
  d["lr"] = lr;
  d["seed"] = std::int64_t(seed);
  d["height"] = height;
  d["width"] = width;
  d["classes"] = std::move(names);
  return d;
}

Settings Settings::load(const std::string& file, const nn::Dict& d) {
  Settings s;
  s.model = get<std::string>(file, d, "model");
  s.epochs = get<std::int64_t>(file, d, "epochs");
  s.batch_size = get<std::int64_t>(file, d, "batch_size");
  s.lr = get<double>(file, d, "lr");
  s.seed = std::uint64_t(get<std::int64_t>(file, d, "seed"));
  s.height = get<std::int64_t>(file, d, "height");
  s.width = get<std::int64_t>(file, d, "width");
  for (const nn::Value& v : get<nn::List>(file, d, "classes").items) {
    const auto* text = v.get<std::string>();
    check<FormatError>(text, [&] { return file + ": not a checkpoint of neura train (classes without names)"; });
    s.classes.push_back(*text);
  }
  const bool sound = (s.model == "cnn" || s.model == "mlp") && s.epochs >= 1 && s.batch_size >= 1 && s.lr > 0 &&
                     s.height >= 4 && s.width >= 4 && s.height <= 4096 && s.width <= 4096 && !s.classes.empty() &&
                     s.classes.size() <= 256;
  check<FormatError>(sound, [&] { return file + ": not a checkpoint of neura train (settings out of range)"; });
  return s;
}

Ref<nn::Sequential> make_model(const Settings& s) {
  const auto classes = std::int64_t(s.classes.size());
  check<ValueError>(s.height >= 4 && s.width >= 4, [&] {
    return "train: expected pictures of 4 x 4 pixels or more, got " + std::to_string(s.height) + " x " +
           std::to_string(s.width);
  });
  if (s.model == "mlp")
    return nn::make<nn::Sequential>(nn::Flatten(), nn::Linear(s.height * s.width, 512), nn::ReLU(), nn::Dropout(0.2),
                                    nn::Linear(512, 256), nn::ReLU(), nn::Dropout(0.2), nn::Linear(256, classes));
  const std::int64_t features = 64 * (s.height / 4) * (s.width / 4);
  // Pooling comes first: what follows has a quarter of the work.
  return nn::make<nn::Sequential>(nn::Conv2d(1, 32, 3, {.padding = 1}), nn::MaxPool2d(2), nn::BatchNorm2d(32),
                                  nn::ReLU(), nn::Conv2d(32, 64, 3, {.padding = 1}), nn::MaxPool2d(2),
                                  nn::BatchNorm2d(64), nn::ReLU(), nn::Flatten(), nn::Linear(features, 128), nn::ReLU(),
                                  nn::Dropout(0.25), nn::Linear(128, classes));
}

Tensor network_input(const Tensor& pictures) {
  return sub(mul(pictures.to(float32), 1 / (255 * kDeviation)), kMean / kDeviation);
}

Trained load_trained(const std::string& file, Device device) {
  const nn::Dict extra = load_checkpoint(file, {}, Device());
  Trained t{Settings::load(file, get<nn::Dict>(file, extra, "settings")), {}};
  t.model = make_model(t.settings);
  load_checkpoint(file, {.model = t.model.get()}, Device());
  t.model->to(device);
  t.model->eval();
  return t;
}

}  // namespace neura::cli
