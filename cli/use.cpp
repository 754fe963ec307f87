// The commands for a network that is trained: eval and predict.
#include <cstdio>

#include "cli/commands.h"
#include "cli/history.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/testing.h"
#include "neura/data/png.h"

namespace neura::cli {
namespace {

constexpr int kBar = 30;

std::string bar(double part, int width) {
  std::string text;
  for (int i = 0; i < int(part * width + 0.5); ++i) text += "\u2588";
  return text;
}

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

Tensor picture_of(const PredictOptions& o, const Settings& s) {
  const bool number =
      !o.picture.empty() && o.picture.size() < 10 && o.picture.find_first_not_of("0123456789") == std::string::npos;
  Tensor x;
  if (number) {
    const data::FashionMNIST set({.root = o.data, .train = false});
    check_pictures(s, set);
    const std::int64_t index = std::stoll(o.picture);
    check<IndexError>(index < set.size(),
                      [&] { return "expected a picture below " + std::to_string(set.size()) + ", got " + o.picture; });
    const auto [image, label] = set.get(index);
    std::printf("picture %s of the test set: %s\n", o.picture.c_str(), s.classes[std::size_t(label)].c_str());
    x = image.clone();
  } else {
    x = data::read_png(o.picture, data::ImageMode::gray);
    check<ValueError>(x.size(1) == s.height && x.size(2) == s.width, [&] {
      return o.picture + ": expected a picture of " + std::to_string(s.height) + " x " + std::to_string(s.width) +
             " pixels, got " + std::to_string(x.size(1)) + " x " + std::to_string(x.size(2)) + "; scale it";
    });
  }
  if (o.invert)
    for (std::int64_t i = 0; i < x.numel(); ++i) x.data<std::uint8_t>()[i] ^= 255;
  return x;
}

}  // namespace

int evaluate(const EvalOptions& o) {
  const Trained t = load_trained(o.file, Device(o.device));
  const data::FashionMNIST set({.root = o.data, .train = false});
  const TestResult r = test(*t.model, t.settings, set);
  for (std::size_t c = 0; c < t.settings.classes.size(); ++c) {
    std::int64_t all = 0;
    for (std::int64_t n : r.confusion[c]) all += n;
    if (!all) continue;
    const double part = double(r.confusion[c][c]) / double(all);
    std::printf("%-12s %9s  %s\n", t.settings.classes[c].c_str(), percent(part).c_str(), bar(part, kBar).c_str());
  }
  std::printf("accuracy %s, loss %.4f, of %s pictures in %s\n", percent(r.accuracy).c_str(), r.loss,
              thousands(set.size()).c_str(), duration(r.seconds).c_str());
  if (!o.report.empty()) {
    write_report(o.report, {"Fashion-MNIST", t.settings, history_of(o.file), r, set, t.model->device(),
                            other_history(o.compare)});
    std::printf("report: %s\n", o.report.c_str());
  }
  return kDone;
}

int predict(const PredictOptions& o) {
  const Trained t = load_trained(o.model, Device(o.device));
  const Tensor picture = picture_of(o, t.settings);
  draw(picture);
  for (const auto& [c, p] : ranking(*t.model, picture))
    std::printf("%-12s %9s  %s\n", t.settings.classes[std::size_t(c)].c_str(), percent(p).c_str(),
                bar(p, kBar).c_str());
  return kDone;
}

}  // namespace neura::cli
