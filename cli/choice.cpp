#include "cli/choice.h"

#include <algorithm>
#include <vector>

#include "cli/progress.h"
#include "cli/task.h"

namespace neura::cli {
namespace {

// Measured on sets of 300 and 3,000 pictures (shapes, textures, colours, clothes, digits): with few pictures a small
// network that sees small ones, whole, and takes many steps is ahead; with 64 pixels a side it learns them by heart.
constexpr std::int64_t kFew = 2000, kMany = 10000;      // pictures to train with
constexpr std::int64_t kFewSide = 32, kLargeSide = 96;  // of them
constexpr std::int64_t kSteps = 800, kLeastEpochs = 10, kMostEpochs = 60;

std::string model_for(const PictureSet& set) {
  if (set.side >= kLargeSide) return "mobilenet_v2";
  return set.count < kMany ? "cifar_resnet8" : "cifar_resnet20";
}
std::int64_t batch_for(const PictureSet& set) { return set.count < kFew / 2 ? 16 : set.count < kMany ? 32 : 64; }
double rate_for(const std::string& model) {
  if (model.starts_with("cifar_resnet")) return 5e-3;
  if (model.starts_with("vit")) return 5e-4;
  return model.starts_with("vgg") ? 1e-3 : 3e-3;
}

}  // namespace

std::int64_t largest_side(std::int64_t count) { return count < kFew ? kFewSide : 2 * kFewSide; }

std::string settle(Config& c, const PictureSet& set) {
  std::vector<std::string> chosen;
  const bool by_set = c.open.contains("model");
  if (by_set) {
    c.model = model_for(set);
    chosen.push_back("--model " + c.model);
  }
  if (c.open.contains("batch_size")) {
    c.batch_size = batch_for(set);
    chosen.push_back("--batch-size " + std::to_string(c.batch_size));
  }
  if (c.open.contains("epochs")) {
    const std::int64_t steps = (set.count + c.batch_size - 1) / c.batch_size;
    c.epochs = std::clamp(kSteps / steps, kLeastEpochs, kMostEpochs);
    chosen.push_back("--epochs " + std::to_string(c.epochs));
  }
  if (c.open.contains("lr")) {
    c.lr = rate_for(c.model);
    chosen.push_back("--lr " + number(c.lr));
  }
  if (c.open.contains("crop")) {
    c.hyperparameters["crop"] = set.count < kFew ? 1 : 0.7;
    chosen.push_back("--set crop=" + number(c.hyperparameters["crop"]));
  }
  if (c.open.contains("size")) chosen.push_back("--set size=" + std::to_string(set.side));
  if (chosen.empty()) return {};
  std::string text = "chosen for " + thousands(set.count) + " pictures to train with:";
  for (const std::string& option : chosen) text += " " + option;
  if (by_set && set.side < kLargeSide)
    text += set.count < kFew    ? "; few pictures are learned best by a small network, small, in many passes"
            : set.count < kMany ? "; a larger network needs more pictures"
                                : "; for so many --device cuda --model resnet18 would be better yet";
  if (c.open.contains("flip")) text += "; photographs: --set flip=0.5";
  return text;
}

}  // namespace neura::cli
