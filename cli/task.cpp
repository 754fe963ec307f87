#include "cli/task.h"

#include <algorithm>
#include <cmath>

#include "cli/answers.h"
#include "cli/ports.h"
#include "neura/autograd/grad_mode.h"
#include "neura/data/loader.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"

namespace neura::cli {
namespace {

constexpr std::size_t kMistakes = 24;  // that are shown

// Scores [.., classes] as rows, and the classes they should predict.
std::pair<Tensor, Tensor> rows_of(const Tensor& output, const Tensor& target) {
  return {output.reshape({-1, output.size(-1)}), target.reshape({-1})};
}

struct Sums {  // where the network computes, so that nothing waits for a device before the end
  std::vector<Tensor> losses, targets, target_squares, predictions, confidence, labels;
  std::int64_t items = 0;

  void add(const Task& task, const Tensor& output, const Tensor& target) {
    losses.push_back(loss_of(task, output, target).to(float64) * double(target.numel()));
    items += target.numel();
    if (task.target_kind() == TargetKind::classes) {
      const auto [most, which] = max(softmax(output, -1), -1);
      predictions.push_back(which), confidence.push_back(most), labels.push_back(target);
    } else if (task.target_kind() == TargetKind::value) {
      const Tensor t = target.to(float64);
      targets.push_back(t.sum()), target_squares.push_back((t * t).sum());
    }
  }
};

double total(const std::vector<Tensor>& parts) {
  double sum = 0;
  for (const Tensor& p : parts) sum += p.item<double>();
  return sum;
}

void count_classes(const Task& task, const Sums& s, Evaluation& m) {
  const std::size_t n = task.classes().size();
  m.confusion.assign(n, std::vector<std::int64_t>(n));
  const Tensor labels = cat(s.labels).to(Device()), predictions = cat(s.predictions).to(Device()),
               confidence = cat(s.confidence).to(Device());
  for (std::int64_t i = 0; i < s.items; ++i) {
    const std::int64_t a = labels.const_data<std::int64_t>()[i], g = predictions.const_data<std::int64_t>()[i];
    ++m.confusion[std::size_t(a)][std::size_t(g)];
    if (a != g) m.mistakes.push_back({i, a, g, confidence.const_data<float>()[i]});
  }
  m.values.emplace_back("accuracy", 1 - double(m.mistakes.size()) / double(s.items));
  std::stable_sort(m.mistakes.begin(), m.mistakes.end(),
                   [](const Misprediction& x, const Misprediction& y) { return x.probability > y.probability; });
  if (m.mistakes.size() > kMistakes) m.mistakes.resize(kMistakes);
}

}  // namespace

Tensor hits(const Tensor& output, const Tensor& classes) {
  const NoGrad off;
  return eq(argmax(output, -1), classes).sum();
}

Tensor loss_of(const Task& task, const Tensor& output, const Tensor& target) {
  if (task.target_kind() == TargetKind::value) return mse_loss(output, target);
  const auto [scores, labels] = rows_of(output, target);
  return cross_entropy(scores, labels);
}

Evaluation evaluate(const Task& task, nn::Sequential& model, const Examples& set, std::int64_t batch_size) {
  check<ValueError>(set.count > 0,
                    [&] { return std::string("expected ") + task.things() + " to test with, got none"; });
  const Clock::time_point start = Clock::now();
  const NoGrad off;
  const bool training = model.is_training();
  model.eval();
  data::DataLoader loader(set, {.batch_size = batch_size, .seed = 0, .device = model.device()});
  Sums s;
  for (auto& [x, y] : loader) s.add(task, model(x), y);
  model.train(training);
  Evaluation m;
  m.count = set.count;
  m.loss = total(s.losses) / double(s.items);
  if (task.target_kind() == TargetKind::classes) {
    count_classes(task, s, m);
  } else if (task.target_kind() == TargetKind::tokens) {
    m.values.emplace_back("perplexity", std::exp(m.loss));
  } else {
    const double n = double(s.items), mean = total(s.targets) / n;
    const double spread = total(s.target_squares) / n - mean * mean;
    m.values.emplace_back("rmse", std::sqrt(m.loss) * task.unit());
    m.values.emplace_back("r2", spread > 0 ? 1 - m.loss / spread : 0);
  }
  m.seconds = since(start);
  return m;
}

std::string number(double x) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.4g", x);
  return text;
}

std::string Evaluation::line() const {
  char text[48];
  std::snprintf(text, sizeof(text), "loss %.4f", loss);
  std::string out = text;
  for (const auto& [name, value] : values)
    out += "  " + name + " " + (name == "accuracy" ? percent(value) : number(value));
  return out;
}

}  // namespace neura::cli
