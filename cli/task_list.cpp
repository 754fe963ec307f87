// The tasks, with what each takes by default.
#include <algorithm>

#include "cli/task.h"
#include "cli/zoo.h"
#include "neura/core/error.h"

namespace neura::cli {
namespace {

std::vector<Hyperparameter> steps(double weight_decay, double clip) {
  return {{"weight_decay", weight_decay, 0, 1, "Of AdamW"},
          {"clip", clip, 0, 1e6, "Longest gradient; 0: any"},
          {"patience", 0, 0, 1e6, "Epochs without a better result that end the run; 0: never"}};
}
std::vector<Hyperparameter> with_common(std::vector<Hyperparameter> hyperparameters, double val) {
  hyperparameters.push_back(
      {"val", val, 0.01, 0.9, "Part that is held back to validate with, where there is no folder of it"});
  const std::vector<Hyperparameter> common = steps(0.01, 1);
  hyperparameters.insert(hyperparameters.end(), common.begin(), common.end());
  return hyperparameters;
}

std::vector<const char*> with_choice(std::vector<const char*> models) {
  models.insert(models.begin(), kAutomatic.data());
  return models;
}

}  // namespace

const std::vector<TaskKind>& task_kinds() {
  static const std::vector<TaskKind> all = {
      {"images", "pictures", with_choice(picture_models()), 0, 0, 0,
       with_common(
           {{"size", 0, 0, 1024, "Pixels a side that pictures are brought to; 0: by their number, from 16 to 64"},
            {"crop", 0.7, 0.05, 1,
             "Least part of a picture that training sees of it; 1: always all, also where they are few"},
            {"flip", 0, 0, 1, "Probability that training sees a picture mirrored; 0.5 for photographs"}},
           0.2),
       make_images},
      {"table",
       "rows",
       {"mlp", "linear"},
       40,
       32,
       5e-3,
       with_common({{"hidden", 64, 1, 65536, "Width of the hidden layers"},
                    {"layers", 2, 1, 64, "How many there are"},
                    {"dropout", 0.05, 0, 0.95, "Part of them that a step leaves out"}},
                   0.2),
       make_table},
      {"text",
       "windows of text",
       {"gpt", "lstm"},
       20,
       32,
       3e-3,
       with_common({{"context", 128, 4, 65536, "Tokens that the network sees at once"},
                    {"width", 128, 4, 65536, "Numbers for a token; an lstm has twice as many inside"},
                    {"layers", 4, 1, 64, "Blocks, or layers of the lstm"},
                    {"heads", 4, 1, 256, "Of attention; they divide the width"},
                    {"dropout", 0.1, 0, 0.95, "Part of the numbers that a step leaves out"},
                    {"temperature", 0.8, 0.01, 10, "Of samples: lower is surer"}},
                   0.1),
       make_text},
      {"fashion-mnist", "pictures", {"cnn", "mlp"}, 4, 128, 3e-3, steps(0.02, 0), make_fashion, true}};
  return all;
}

const TaskKind& kind_of(const std::string& task) {
  const auto at =
      std::find_if(task_kinds().begin(), task_kinds().end(), [&](const TaskKind& k) { return task == k.name; });
  check<FormatError>(at != task_kinds().end(), [&] {
    return "expected a run of images, table, text or fashion-mnist, got one of \"" + task + '"';
  });
  return *at;
}

}  // namespace neura::cli
