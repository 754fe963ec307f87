// Pictures: a folder with a folder for each class.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/answers.h"
#include "cli/choice.h"
#include "cli/picture_files.h"
#include "cli/task.h"
#include "cli/zoo.h"
#include "neura/data/combine.h"
#include "neura/data/device_copy.h"
#include "neura/data/image_pipeline.h"
#include "neura/data/image_sets.h"
#include "neura/data/png.h"
#include "neura/ops/create/create.h"

namespace neura::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLeastSide = 16;  // of pictures to learn from
constexpr std::int64_t kShownSide = 64;  // and on the page

data::Labelled folder_of(const std::string& root, std::vector<std::string> classes = {}) {
  std::error_code ignored;
  check<ValueError>(fs::is_directory(root, ignored), [&] {
    return "images: expected a folder with a folder of pictures for each class, got \"" + root + '"' +
           (fs::exists(root, ignored) ? ", which is none" : ", which does not exist");
  });
  const bool has_folders = std::any_of(fs::directory_iterator(root, ignored), fs::directory_iterator(),
                                       [&](const fs::directory_entry& e) { return e.is_directory(ignored); });
  check<ValueError>(has_folders, [&] {
    return "images: expected a folder of pictures for each class in \"" + root +
           "\", got no folder; put the pictures of each class into one of its own";
  });
  return data::files_by_class(root, data::picture_endings(), std::move(classes));
}

std::string part_for_validation(const std::string& root) {  // the folder next to root/train; empty where there is none
  std::error_code ignored;
  if (!fs::is_directory(root + "/train", ignored)) return {};
  for (const char* name : {"/val", "/valid", "/validation", "/test"})
    if (fs::is_directory(root + name, ignored)) return root + name;
  return {};
}

void check_classes(const std::string& root, const std::vector<std::string>& classes, const Files& files) {
  check<ValueError>(classes.size() >= 2, [&] {
    return "images: expected a folder for each of two classes or more, got only \"" + classes[0] + "\" in " + root;
  });
  std::vector<std::int64_t> n(classes.size());
  for (const auto& [path, label] : files) ++n[std::size_t(label)];
  for (std::size_t c = 0; c < n.size(); ++c)
    check<ValueError>(n[c] > 0, [&] {
      return "images: expected pictures of every class, got none in \"" + root + "/" + classes[c] +
             "\"; add some, or remove the folder";
    });
}

// Of each class the part `held`, at random; a class keeps at least one picture to learn from.
std::pair<Files, Files> split(const Files& all, std::size_t classes, double held, std::uint64_t seed) {
  Generator g(seed);
  Files training, validation;
  std::vector<Files> by_class(classes);
  for (const std::int64_t i : data::permutation(std::int64_t(all.size()), g))
    by_class[std::size_t(all[std::size_t(i)].second)].push_back(all[std::size_t(i)]);
  for (const Files& of : by_class) {
    if (of.empty()) continue;
    const auto n =
        std::min(std::max<std::size_t>(1, std::size_t(std::lround(held * double(of.size())))), of.size() - 1);
    validation.insert(validation.end(), of.begin(), of.begin() + std::ptrdiff_t(n));
    training.insert(training.end(), of.begin() + std::ptrdiff_t(n), of.end());
  }
  return {training, validation};
}

class Images final : public Task {
 public:
  explicit Images(Config& c) : Task(c) {
    if (c.facts.contains("classes")) c.facts.at("classes").get_to(classes_);
  }
  const char* things() const override { return "pictures"; }

  TaskData open(bool fresh) override {
    const std::string held = part_for_validation(config_.data),
                      root = held.empty() ? config_.data : config_.data + "/train";
    TaskData d;
    auto found = folder_of(root, fresh ? std::vector<std::string>{} : classes_);
    Files training = known_good(found.files, fresh, d.notes), validation;
    if (fresh) learn(root, found.classes, training);
    if (held.empty()) {
      std::tie(training, validation) = split(training, classes_.size(), config_.hyperparameter("val"), config_.seed);
    } else {
      validation = known_good(folder_of(held, classes_).files, fresh, d.notes);
    }
    d.notes.push_back(std::to_string(classes_.size()) + " classes, " + std::to_string(training.size()) +
                      " pictures to train and " + std::to_string(validation.size()) + " to validate with" +
                      (held.empty() ? " (split at random; folders train and val in " + config_.data + " would be taken)"
                                    : ", of " + held) +
                      ", as " + std::to_string(size()) + " x " + std::to_string(size()) + " pixels");
    remember(fresh, training.size(), validation.size());
    if (fresh) choose(training.size(), d.notes);
    d.training = examples(training, true), d.validation = examples(validation, false);
    return d;
  }

  Examples open_other(const std::string& path) override {
    const std::vector<std::string> now = folder_of(path).classes;
    const auto other = std::find_if(now.begin(), now.end(), [&](const std::string& c) {
      return std::find(classes_.begin(), classes_.end(), c) == classes_.end();
    });
    check<ValueError>(other == now.end(), [&] {
      return "eval: expected folders of the classes that the run knows, got \"" + *other + "\" in " + path;
    });
    Checked c = read_all(folder_of(path, now).files);
    if (!c.bad.empty()) std::printf("%s\n", skipped_note(c.bad).c_str());
    for (auto& [file, label] : c.good)
      label = std::find(classes_.begin(), classes_.end(), now[std::size_t(label)]) - classes_.begin();
    return examples(c.good, false);
  }

  Ref<nn::Sequential> network() const override {
    if (config_.facts.contains("network")) return network_of(config_.facts.at("network").get<Architecture>());
    return network_of(picture_model(config_.model, std::int64_t(classes_.size()), size()));  // a run of before
  }

  Tensor input() const override { return zeros({2, 3, size(), size()}); }

  int predict(nn::Sequential& model, const PredictOptions& o) const override {
    check<ValueError>(!o.files.empty(),
                      [] { return std::string("predict: expected pictures, got none; name their files"); });
    int code = kDone;
    for (const std::string& file : o.files) {
      try {
        say_classes(file, classes_, probabilities(model, pipeline(false).read(file)), o.json, o.files.size() == 1);
      } catch (const Error& e) {  // one that cannot be read keeps no other from its answer
        std::fprintf(stderr, "neura: %s\n", e.what());
        code = kFailed;
      }
    }
    return code;
  }

 private:
  std::int64_t size() const { return config_.facts.at("size").get<std::int64_t>(); }

  // Fresh: those that can be read; otherwise all but those that could not be.
  Files known_good(const Files& files, bool fresh, std::vector<std::string>& notes) {
    auto& skipped = config_.facts["skipped"];
    if (!fresh) {
      Files good;
      for (const auto& f : files)
        if (std::find(skipped.begin(), skipped.end(), f.first) == skipped.end()) good.push_back(f);
      return good;
    }
    const Checked c = read_all(files);
    for (const std::string& b : c.bad) skipped.push_back(b);
    if (!c.bad.empty()) notes.push_back(skipped_note(c.bad));
    if (!config_.facts.contains("size")) choose_size(c.sides);
    return c.good;
  }

  void choose_size(const std::vector<std::int64_t>& sides) {
    std::int64_t side = config_.whole("size");
    if (side == 0 && !sides.empty()) {
      side = usual_side(sides, largest_side(std::int64_t(sides.size())));
      if (!config_.open.contains("model")) side = side_for(config_.model, side);
    }
    check<ValueError>(side == 0 || side >= kLeastSide, [&] {
      return "--set size: expected " + std::to_string(kLeastSide) + " or more, got " + std::to_string(side);
    });
    config_.facts["size"] = side;
    config_.hyperparameters["size"] = double(side);
  }

  // What the command line left open, by what there is to learn from.
  void choose(std::size_t training, std::vector<std::string>& notes) {
    const PictureSet set{std::int64_t(training), std::int64_t(classes_.size()), size()};
    if (const std::string note = settle(config_, set); !note.empty()) notes.push_back(note);
    config_.facts["network"] = picture_model(config_.model, set.classes, set.side);
  }

  void learn(const std::string& root, const std::vector<std::string>& classes, const Files& files) {
    check_classes(root, classes, files);
    classes_ = classes;
    config_.facts["classes"] = classes;
  }

  void remember(bool fresh, std::size_t training, std::size_t validation) {
    check<ValueError>(training > 0 && validation > 0, [&] {
      return "images: expected pictures to train and to validate with, got " + std::to_string(training) + " and " +
             std::to_string(validation) + "; each class needs two or more";
    });
    if (fresh) config_.facts["counts"] = {training, validation};
    const std::vector<std::size_t> then = config_.facts.at("counts");
    check<ValueError>(then == std::vector{training, validation}, [&] {
      return "images: expected the " + std::to_string(then.at(0) + then.at(1)) +
             " pictures that the run began with in " + config_.data + ", got " + std::to_string(training + validation);
    });
  }

  data::ImagePipeline pipeline(bool training) const {
    const double crop = config_.hyperparameter("crop");
    return {.height = size(),
            .width = size(),
            .random_crop = training && crop < 1,
            .scale = {crop, 1},
            .flip = training ? config_.hyperparameter("flip") : 0,
            .mean = {0.5},
            .std = {0.25},
            .scaled_decoding = true};
  }

  Examples examples(const Files& files, bool training) const {
    const auto shared = std::make_shared<const Files>(files);
    const auto make = [shared, p = pipeline(training)](std::span<const std::int64_t> indices) {
      std::vector<std::string> paths;
      Tensor labels = data::empty_batch(int64, Shape{std::int64_t(indices.size())});
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto& [path, label] = (*shared)[std::size_t(indices[i])];
        paths.push_back(path), labels.data<std::int64_t>()[i] = label;
      }
      return std::pair(p.batch(paths), labels);
    };
    const auto show = [shared, side = std::min(size(), kShownSide)](std::int64_t i) {
      const data::ImagePipeline p{
          .height = side, .width = side, .random_crop = false, .dtype = uint8, .scaled_decoding = true};
      return data::encode_png(p.read((*shared)[std::size_t(i)].first));
    };
    return {make, std::int64_t(files.size()), show};
  }
};

}  // namespace

std::unique_ptr<Task> make_images(Config& c) { return std::make_unique<Images>(c); }

}  // namespace neura::cli
