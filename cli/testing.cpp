#include "cli/testing.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "neura/autograd/grad_mode.h"
#include "neura/data/loader.h"
#include "neura/ops/join.h"
#include "neura/ops/loss.h"
#include "neura/ops/softmax.h"

namespace neura::cli {

void check_pictures(const Settings& s, const data::MNIST& set) {
  const Tensor& x = set.images();
  check<ValueError>(x.size(2) == s.height && x.size(3) == s.width, [&] {
    return "expected pictures of " + std::to_string(s.height) + " x " + std::to_string(s.width) + " pixels, got " +
           std::to_string(x.size(2)) + " x " + std::to_string(x.size(3));
  });
  check<ValueError>(set.classes().size() <= s.classes.size(), [&] {
    return "expected at most " + std::to_string(s.classes.size()) + " classes, got " +
           std::to_string(set.classes().size());
  });
}

TestResult test(nn::Sequential& model, const Settings& settings, const data::MNIST& set) {
  check_pictures(settings, set);
  check<ValueError>(set.size() > 0, [] { return "expected pictures to test with, got none"; });
  const auto start = std::chrono::steady_clock::now();
  const NoGrad off;
  const bool training = model.is_training();
  model.eval();
  const auto classes = settings.classes.size();
  TestResult r;
  r.confusion.assign(classes, std::vector<std::int64_t>(classes));
  std::int64_t right = 0;
  data::DataLoader loader(set, {.batch_size = 500, .device = model.device()});
  std::vector<Tensor> losses, probabilities;  // of all batches, before a device is waited for
  for (auto [images, labels] : loader) {
    const Tensor scores = model(network_input(images));
    losses.push_back(cross_entropy(scores, labels, {.reduction = Reduction::sum}));
    probabilities.push_back(softmax(scores, 1));
  }
  model.train(training);
  for (const Tensor& loss : losses) r.loss += loss.item<double>();
  const Tensor all = cat(probabilities).to(Device());
  const auto* row = all.const_data<float>();
  const auto* label = set.labels().const_data<std::int64_t>();
  for (std::int64_t i = 0; i < set.size(); ++i, row += classes) {
    const int is = int(label[i]), guessed = int(std::max_element(row, row + classes) - row);
    right += is == guessed;
    ++r.confusion[std::size_t(is)][std::size_t(guessed)];
    r.guesses.push_back({i, is, guessed, row[guessed]});
  }
  r.loss /= double(set.size());
  r.accuracy = double(right) / double(set.size());
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return r;
}

std::vector<std::pair<int, double>> ranking(nn::Sequential& model, const Tensor& picture) {
  const NoGrad off;
  const Tensor x = picture.unsqueeze(0).to(model.device());
  const Tensor p = softmax(model(network_input(x)), 1).to(Device());
  std::vector<std::pair<int, double>> r;
  for (std::int64_t c = 0; c < p.size(1); ++c) r.emplace_back(int(c), double(p.const_data<float>()[c]));
  std::stable_sort(r.begin(), r.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return r;
}

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", 100 * part);
  return text;
}

}  // namespace neura::cli
