// Texts: what comes next, by characters or by the tokens of a tokenizer.json.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>

#include "cli/answers.h"
#include "cli/task.h"
#include "neura/autograd/grad_mode.h"
#include "neura/core/file.h"
#include "neura/core/utf8.h"
#include "neura/data/random.h"
#include "neura/data/text.h"
#include "neura/models/language.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/random/random.h"
#include "neura/text/tokenizer.h"

namespace neura::cli {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kLeastBatches = 20;   // of an epoch: a short text is seen several times in it
constexpr std::int64_t kSampleTokens = 120;  // that training shows
// Of GPT-2's first weights, which is 768 wide; a narrower network's are larger, so that what they add up to is alike.
constexpr double kUsualDeviation = 0.02;

// A file, or every file .txt below a folder in the order of their names.
std::string text_of(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  if (!fs::is_directory(path)) return data::read_text(path);
  std::set<std::string> files;
  for (const auto& file : fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied))
    if (file.is_regular_file() && file.path().extension() == ".txt") files.insert(file.path().string());
  check<ValueError>(!files.empty(), [&] { return "text: expected files .txt in \"" + path + "\", got none"; });
  std::string all;
  for (const std::string& file : files) all += (all.empty() ? "" : "\n\n") + data::read_text(file);
  return all;
}

std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t i = 0, bad = 0; i < text.size();) {
    const std::size_t n = utf8_length(text, i, bad);
    if (n) all.push_back(text.substr(i, n));
    i += n ? n : bad;
  }
  return all;
}

class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::vector<std::string> characters) : characters_(std::move(characters)) {
    for (std::size_t i = 0; i < characters_.size(); ++i) places_[characters_[i]] = std::int64_t(i);
  }
  explicit Vocabulary(const std::string& tokenizer_json)
      : tokenizer_(std::make_shared<text::Tokenizer>(text::Tokenizer::from_json(tokenizer_json))) {
    tokenizer_->no_padding(), tokenizer_->no_truncation();
  }

  std::int64_t size() const {
    if (!tokenizer_) return std::int64_t(characters_.size());
    std::uint32_t last = 0;  // ids may have gaps
    for (const auto& [token, id] : tokenizer_->vocabulary()) last = std::max(last, id);
    return std::int64_t(last) + 1;
  }
  // Characters that are not there are left out, and counted.
  Ids encode(const std::string& text, std::size_t* unknown = nullptr) const {
    Ids ids;
    if (tokenizer_) {
      const text::Encoding e = tokenizer_->encode(text, false);
      ids.assign(e.ids.begin(), e.ids.end());
      return ids;
    }
    for (const std::string& c : characters(text)) {
      const auto at = places_.find(c);
      if (at != places_.end()) ids.push_back(at->second);
      else if (unknown) ++*unknown;
    }
    return ids;
  }
  std::string decode(const Ids& ids) const {
    if (tokenizer_) return tokenizer_->decode(std::vector<std::uint32_t>(ids.begin(), ids.end()));
    std::string text;
    for (const std::int64_t i : ids) text += characters_[std::size_t(i)];
    return text;
  }

 private:
  std::vector<std::string> characters_;
  std::map<std::string, std::int64_t> places_;
  std::shared_ptr<text::Tokenizer> tokenizer_;
};

// Windows of `context` ids, and the ids that follow each of them.
std::pair<Tensor, Tensor> windows(const Ids& ids, const std::vector<std::int64_t>& starts, std::int64_t context) {
  const Shape shape{std::int64_t(starts.size()), context};
  Tensor x = zeros(shape, {.dtype = int64}), y = zeros(shape, {.dtype = int64});
  for (std::size_t w = 0; w < starts.size(); ++w) {
    const auto from = ids.begin() + starts[w];
    std::copy_n(from, context, x.data<std::int64_t>() + std::int64_t(w) * context);
    std::copy_n(from + 1, context, y.data<std::int64_t>() + std::int64_t(w) * context);
  }
  return {x, y};
}

class Text final : public Task {
 public:
  explicit Text(Config& c) : Task(c) {
    check<ValueError>(c.model != "gpt" || c.whole("width") % c.whole("heads") == 0, [&] {
      return "--set: expected a width that the heads divide, got width " + std::to_string(c.whole("width")) + " and " +
             std::to_string(c.whole("heads")) + " heads";
    });
    if (c.facts.contains("characters"))
      vocabulary_ = Vocabulary(c.facts.at("characters").get<std::vector<std::string>>());
    else if (c.facts.contains("tokenizer_json"))
      vocabulary_ = Vocabulary(c.facts.at("tokenizer_json").get<std::string>());
  }
  const char* things() const override { return "windows of text"; }
  TargetKind target_kind() const override { return TargetKind::tokens; }

  TaskData open(bool fresh) override {
    const std::string text = text_of(config_.data);
    if (fresh) learn(text);
    const Ids ids = vocabulary_.encode(text);
    check<ValueError>(fresh || config_.facts.at("tokens") == ids.size(), [&] {
      return "text: expected the " + config_.facts.at("tokens").dump() + " tokens that the run began with in " +
             config_.data + ", got " + std::to_string(ids.size());
    });
    config_.facts["tokens"] = ids.size();
    const auto first_held = std::ptrdiff_t(double(ids.size()) * (1 - config_.hyperparameter("val")));
    const Ids training(ids.begin(), ids.begin() + first_held), held(ids.begin() + first_held, ids.end());
    for (const Ids* part : {&training, &held})
      check<ValueError>(std::int64_t(part->size()) > context(), [&] {
        return "text: expected more than " + std::to_string(context()) + " tokens to train and to validate with, got " +
               std::to_string(training.size()) + " and " + std::to_string(held.size()) + "; take a longer text" +
               (held.size() > 4 ? ", or --set context=" + std::to_string(std::max<std::size_t>(4, held.size() / 2))
                                : "");
      });
    if (fresh) config_.facts["start"] = start_of(ids);
    TaskData d;
    d.notes.push_back(std::to_string(training.size()) + " tokens to train and the last " + std::to_string(held.size()) +
                      " to validate with, of " + std::to_string(vocabulary_.size()) +
                      (config_.facts.contains("characters") ? " different characters" : " in the vocabulary"));
    d.training = random_windows(training), d.validation = all_windows(held);
    return d;
  }

  Examples open_other(const std::string& path) override {
    std::size_t unknown = 0;
    const Ids ids = vocabulary_.encode(text_of(path), &unknown);
    if (unknown > 0) std::printf("%zu characters that the run does not know are left out\n", unknown);
    check<ValueError>(std::int64_t(ids.size()) > context(), [&] {
      return "text: expected more than " + std::to_string(context()) + " tokens, got " + std::to_string(ids.size());
    });
    return all_windows(ids);
  }

  Ref<nn::Sequential> network() const override {
    const std::int64_t width = config_.whole("width"), layers = config_.whole("layers");
    const double dropout = config_.hyperparameter("dropout");
    if (config_.model == "lstm")
      return nn::make<nn::Sequential>(models::LSTMLanguageModel(
          {.vocab_size = vocabulary_.size(), .width = width, .num_layers = layers, .dropout = dropout}));
    return nn::make<nn::Sequential>(
        models::gpt2({.vocab_size = vocabulary_.size(),
                      .n_positions = context(),
                      .n_embd = width,
                      .n_layer = layers,
                      .n_head = config_.whole("heads"),
                      .resid_pdrop = dropout,
                      .embd_pdrop = dropout,
                      .attn_pdrop = dropout,
                      .initializer_range = kUsualDeviation * std::sqrt(768.0 / double(width))}));
  }

  Tensor input() const override { return zeros({2, context()}, {.dtype = int64}); }

  std::string sample(nn::Sequential& model, std::uint64_t seed) const override {
    return vocabulary_.decode(write(model, {start()}, kSampleTokens, config_.hyperparameter("temperature"), seed));
  }

  int predict(nn::Sequential& model, const PredictOptions& o) const override {
    std::string prompt;
    for (const std::string& word : o.files) prompt += (prompt.empty() ? "" : " ") + (word == "-" ? text_of("-") : word);
    std::size_t unknown = 0;
    Ids ids = vocabulary_.encode(prompt, &unknown);
    check<ValueError>(unknown == 0, [&] {
      return "predict: expected characters that the run was trained with, got " + std::to_string(unknown) +
             " others in \"" + prompt + "\"; leave them out";
    });
    if (ids.empty()) ids.push_back(start());
    const Ids more = write(model, ids, o.length, o.temperature.value_or(config_.hyperparameter("temperature")), o.seed);
    const std::string text = vocabulary_.decode(more);
    if (o.json) {
      const nlohmann::ordered_json line = {{"prompt", prompt}, {"text", text}};
      std::printf("%s\n", json_line(line).c_str());
    } else {
      std::printf("%s%s\n", prompt.c_str(), text.c_str());
    }
    return kDone;
  }

 private:
  std::int64_t context() const { return config_.whole("context"); }
  std::int64_t start() const { return config_.facts.at("start").get<std::int64_t>(); }

  void learn(const std::string& text) {
    if (const std::string file = config_.facts.value("tokenizer", ""); !file.empty()) {
      const std::string json = io::read_file(file);
      try {
        vocabulary_ = Vocabulary(json);
      } catch (const FormatError& e) {
        throw FormatError("--tokenizer " + file + ": " + e.what());
      }
      config_.facts["tokenizer_json"] = json;
      return;
    }
    const std::vector<std::string> all = characters(text);
    const std::set<std::string> different(all.begin(), all.end());
    config_.facts["characters"] = different;
    vocabulary_ = Vocabulary(std::vector<std::string>(different.begin(), different.end()));
  }

  // What a text begins after, where no prompt is given: a line's end.
  std::int64_t start_of(const Ids& ids) const {
    const Ids line = vocabulary_.encode("\n");
    return line.size() == 1 ? line[0] : ids[0];
  }

  Examples random_windows(const Ids& ids) const {
    const std::int64_t most = std::int64_t(ids.size()) - context();  // a window begins below it
    const auto shared = std::make_shared<const Ids>(ids);
    const auto make = [shared, most, context = context()](std::span<const std::int64_t> indices) {
      std::vector<std::int64_t> starts;
      data::Draws draws(data::generator());
      for (std::size_t i = 0; i < indices.size(); ++i) starts.push_back(draws.below(most));
      return windows(*shared, starts, context);
    };
    return {make, std::max(std::int64_t(ids.size()) / context(), kLeastBatches * config_.batch_size)};
  }

  Examples all_windows(const Ids& ids) const {
    const auto shared = std::make_shared<const Ids>(ids);
    const auto make = [shared, context = context()](std::span<const std::int64_t> indices) {
      std::vector<std::int64_t> starts;
      for (const std::int64_t i : indices) starts.push_back(i * context);
      return windows(*shared, starts, context);
    };
    return {make, (std::int64_t(ids.size()) - 1) / context()};
  }

  // What follows `ids`, token by token.
  Ids write(nn::Sequential& model, Ids ids, std::int64_t length, double temperature, std::uint64_t seed) const {
    const NoGrad off;
    const bool training = model.is_training();
    model.eval();
    Generator generator(seed);
    const std::size_t given = ids.size();
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t seen = std::min(context(), std::int64_t(ids.size()));
      Tensor x = zeros({1, seen}, {.dtype = int64});
      std::copy(ids.end() - seen, ids.end(), x.data<std::int64_t>());
      const Tensor scores = model(x.to(model.device())).select(1, -1).to(Device()) / temperature;
      ids.push_back(multinomial(softmax(scores, 1), 1, false, &generator).item<std::int64_t>());
    }
    model.train(training);
    return {ids.begin() + std::ptrdiff_t(given), ids.end()};
  }

  Vocabulary vocabulary_;
};

}  // namespace

std::unique_ptr<Task> make_text(Config& c) { return std::make_unique<Text>(c); }

}  // namespace neura::cli
