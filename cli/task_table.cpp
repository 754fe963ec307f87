// Tables: one column from the others.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "cli/answers.h"
#include "cli/columns.h"
#include "cli/task.h"
#include "neura/autograd/grad_mode.h"
#include "neura/core/random.h"
#include "neura/data/combine.h"
#include "neura/data/text.h"
#include "neura/models/small.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/softmax.h"

namespace neura::cli {
namespace {

constexpr std::size_t kFewRows = 10;  // from so many on there is something to learn

data::Cells cells_of(const std::string& path, char* delimiter = nullptr) {
  if (path != "-") {
    check<ValueError>(!std::filesystem::is_directory(path),
                      [&] { return "table: expected a CSV file, got the folder \"" + path + '"'; });
    return read_table(data::read_text(path), path, delimiter);
  }
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  return read_table(text, "standard input", delimiter);
}

// Rows whose column has no value are left out; how many those were.
std::size_t drop_without(data::Cells& cells, const std::string& column) {
  const std::size_t place = place_of(cells, column);
  return std::erase_if(cells.rows, [&](const auto& row) { return is_missing(row[place]); });
}

Examples examples(const Tensor& x, const Tensor& y) {
  return {
      [x, y](std::span<const std::int64_t> i) { return std::pair(data::gather_rows(x, i), data::gather_rows(y, i)); },
      x.size(0)};
}

class Table final : public Task {
 public:
  explicit Table(Config& c) : Task(c) {
    if (c.facts.contains("columns")) use(Columns::load(c.facts.at("columns")));
  }
  const char* things() const override { return "rows"; }
  TargetKind target_kind() const override { return columns_.classes.empty() ? TargetKind::value : TargetKind::classes; }

  TaskData open(bool fresh) override {
    TaskData d;
    char delimiter = ',';
    data::Cells cells = cells_of(config_.data, &delimiter);
    const std::string target = fresh ? config_.facts.value("target", "") : columns_.target;
    check<ValueError>(!target.empty(),
                      [&] { return "table: expected --target COLUMN, got none; there are " + listed(cells.names); });
    if (const std::size_t dropped = drop_without(cells, target))
      d.notes.push_back(std::to_string(dropped) + " rows without a value in \"" + target + "\" are left out");
    check<ValueError>(cells.rows.size() >= kFewRows, [&] {
      return "table: expected " + std::to_string(kFewRows) + " rows or more, got " + std::to_string(cells.rows.size());
    });
    auto [training, validation] = split(cells);
    if (fresh) {
      // All rows say which classes there are; numbers are scaled by what training sees alone.
      Columns c = learn_columns(cells, target, config_.facts.value("as", ""), d.notes);
      rescale(c, training);
      c.delimiter = delimiter;
      use(c);
      config_.facts["columns"] = c.save();
      config_.facts["rows"] = cells.rows.size();
    }
    check<ValueError>(config_.facts.at("rows") == cells.rows.size(), [&] {
      return "table: expected the " + config_.facts.at("rows").dump() + " rows that the run began with in " +
             config_.data + ", got " + std::to_string(cells.rows.size());
    });
    d.notes.push_back(std::to_string(training.rows.size()) + " rows to train and " +
                      std::to_string(validation.rows.size()) + " to validate with, split at random");
    d.training = examples(columns_.features(training), columns_.targets(training));
    d.validation = examples(columns_.features(validation), columns_.targets(validation));
    return d;
  }

  Examples open_other(const std::string& path) override {
    data::Cells cells = cells_of(path);
    if (const std::size_t dropped = drop_without(cells, columns_.target))
      std::printf("%zu rows without a value in \"%s\" are left out\n", dropped, columns_.target.c_str());
    return examples(columns_.features(cells), columns_.targets(cells));
  }

  Ref<nn::Sequential> network() const override {
    const auto outputs = std::max<std::int64_t>(1, std::int64_t(classes_.size()));
    return models::mlp({.inputs = columns_.width(),
                        .outputs = outputs,
                        .hidden = config_.whole("hidden"),
                        .layers = config_.model == "linear" ? 0 : config_.whole("layers"),
                        .dropout = config_.hyperparameter("dropout")});
  }

  Tensor input() const override { return zeros({2, columns_.width()}); }

  int predict(nn::Sequential& model, const PredictOptions& o) const override {
    const NoGrad off;
    const std::vector<std::string> files = o.files.empty() ? std::vector<std::string>{"-"} : o.files;
    for (const std::string& file : files) {
      const Tensor output = model(columns_.features(cells_of(file)).to(model.device()));
      const Tensor y = (classes_.empty() ? output : softmax(output, 1)).to(Device()).contiguous();
      for (std::int64_t r = 0; r < y.size(0); ++r) say(r + 1, y.const_data<float>() + r * y.size(1), o.json);
    }
    return kDone;
  }

 private:
  void use(const Columns& c) {
    columns_ = c;
    classes_ = c.classes;
    unit_ = c.deviation;
  }

  std::pair<data::Cells, data::Cells> split(const data::Cells& all) const {
    Generator g(config_.seed);
    const std::size_t n = all.rows.size();
    const auto held =
        std::clamp<std::size_t>(std::size_t(std::lround(config_.hyperparameter("val") * double(n))), 1, n - 1);
    data::Cells training{all.names, {}}, validation{all.names, {}};
    for (const std::int64_t i : data::permutation(std::int64_t(n), g))
      (validation.rows.size() < held ? validation : training).rows.push_back(all.rows[std::size_t(i)]);
    return {training, validation};
  }

  static void rescale(Columns& c, const data::Cells& training) {
    for (Column& column : c.inputs)
      if (column.numeric) std::tie(column.mean, column.deviation) = column_statistics(training, column.name);
    if (c.classes.empty()) std::tie(c.mean, c.deviation) = column_statistics(training, c.target);
  }

  void say(std::int64_t row, const float* y, bool json) const {
    nlohmann::ordered_json line = {{"row", row}};
    if (classes_.empty()) {
      const double value = columns_.mean + columns_.deviation * double(y[0]);
      line[columns_.target] = value;
      if (!json) std::printf("row %lld: %s\n", static_cast<long long>(row), number(value).c_str());
    } else {
      const std::vector<double> p(y, y + classes_.size());
      const std::size_t best = ranked(p)[0];
      line[columns_.target] = classes_[best], line["probability"] = p[best];
      for (std::size_t c = 0; c < p.size(); ++c) line["probabilities"][classes_[c]] = p[c];
      if (!json)
        std::printf("row %lld: %s %s\n", static_cast<long long>(row), classes_[best].c_str(), percent(p[best]).c_str());
    }
    if (json) std::printf("%s\n", json_line(line).c_str());
  }

  Columns columns_;
};

}  // namespace

std::unique_ptr<Task> make_table(Config& c) { return std::make_unique<Table>(c); }

}  // namespace neura::cli
