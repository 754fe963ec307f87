// Normalisers: Unicode forms, lower case, stripping, replacement.
#include <algorithm>

#include "neura/text/fields.h"
#include "neura/text/steps.h"

namespace neura::text {
namespace {

class NormalForm final : public Normalizer {
 public:
  explicit NormalForm(Form form) : form_(form) {}
  void apply(std::vector<Unit>& text) const override { normalize(text, form_); }
  bool keeps_ascii() const override { return true; }

 private:
  Form form_;
};

class Lowercase final : public Normalizer {
 public:
  void apply(std::vector<Unit>& text) const override { lower(text); }
};

class StripAccents final : public Normalizer {
 public:
  void apply(std::vector<Unit>& text) const override {
    std::erase_if(text, [](const Unit& u) { return is_mark(u.c); });
  }
  bool keeps_ascii() const override { return true; }
};

class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const json& from)
      : clean_(flag_field(from, "clean_text", true)),
        chinese_(flag_field(from, "handle_chinese_chars", true)),
        lower_(flag_field(from, "lowercase", true)),
        strip_(flag_field(from, "strip_accents", lower_)) {}

  void apply(std::vector<Unit>& text) const override {
    if (clean_) clean(text);
    if (chinese_) set_apart(text);
    if (strip_) {
      normalize(text, Form::nfd);
      std::erase_if(text, [](const Unit& u) { return category(u.c) == Category::Mn; });
    }
    if (lower_) lower(text);
  }

 private:
  static void clean(std::vector<Unit>& text) {
    std::erase_if(text, [](const Unit& u) {
      if (u.c == '\t' || u.c == '\n' || u.c == '\r') return false;
      return u.c == 0 || u.c == 0xfffd || category(u.c) >= Category::Cc;
    });
    for (Unit& u : text)
      if (is_space(u.c)) u.c = ' ';
  }
  static void set_apart(std::vector<Unit>& text) {
    if (std::none_of(text.begin(), text.end(), [](const Unit& u) { return is_chinese(u.c); })) return;
    std::vector<Unit> result;
    for (const Unit& u : text) {
      const bool apart = is_chinese(u.c);
      if (apart) result.push_back({' ', u.begin, u.end});
      result.push_back(u);
      if (apart) result.push_back({' ', u.begin, u.end});
    }
    text = std::move(result);
  }
  bool clean_, chinese_, lower_, strip_;
};

std::u32string characters(const std::string& text) {
  std::u32string result;
  for (std::size_t i = 0; i < text.size();) result += next(text, i);
  return result;
}

class Replace final : public Normalizer {
 public:
  Replace(const std::string& pattern, const std::string& content)
      : pattern_(characters(pattern)), content_(characters(content)) {}

  void apply(std::vector<Unit>& text) const override {
    std::vector<Unit> result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
      if (!matches(text, i)) {
        result.push_back(text[i++]);
        continue;
      }
      const Unit last = text[i + pattern_.size() - 1];
      for (char32_t c : content_) result.push_back({c, last.begin, last.end});
      i += pattern_.size();
    }
    text = std::move(result);
  }

 private:
  bool matches(const std::vector<Unit>& text, std::size_t i) const {
    if (pattern_.empty() || text.size() - i < pattern_.size()) return false;
    for (std::size_t k = 0; k < pattern_.size(); ++k)
      if (text[i + k].c != pattern_[k]) return false;
    return true;
  }
  std::u32string pattern_, content_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const std::string& what) : what_(characters(what)) {}
  void apply(std::vector<Unit>& text) const override {
    if (text.empty()) return;
    std::vector<Unit> result;
    for (char32_t c : what_) result.push_back({c, text[0].begin, text[0].end});
    text.insert(text.begin(), result.begin(), result.end());
  }

 private:
  std::u32string what_;
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(std::vector<Unit>& text) const override {
    const auto full = [](const Unit& u) { return !is_space(u.c); };
    if (right_) text.erase(std::find_if(text.rbegin(), text.rend(), full).base(), text.end());
    if (left_) text.erase(text.begin(), std::find_if(text.begin(), text.end(), full));
  }

 private:
  bool left_, right_;
};

class Normalizers final : public Normalizer {
 public:
  Normalizers(const json& all, int depth) {
    for (const json& one : all) steps_.push_back(make_normalizer(one, depth + 1));
  }
  void apply(std::vector<Unit>& text) const override {
    for (const auto& step : steps_) step->apply(text);
  }
  bool keeps_ascii() const override {
    return std::all_of(steps_.begin(), steps_.end(), [](const auto& step) { return step->keeps_ascii(); });
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const json& from, int depth) {
  check_depth(depth);
  const std::string type = text_field(from, "type");
  if (type == "Sequence") return std::make_unique<Normalizers>(list_field(from, "normalizers"), depth);
  if (type == "NFC") return std::make_unique<NormalForm>(Form::nfc);
  if (type == "NFD") return std::make_unique<NormalForm>(Form::nfd);
  if (type == "NFKC") return std::make_unique<NormalForm>(Form::nfkc);
  if (type == "NFKD") return std::make_unique<NormalForm>(Form::nfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<StripAccents>();
  if (type == "BertNormalizer") return std::make_unique<BertNormalizer>(from);
  if (type == "Prepend") return std::make_unique<Prepend>(text_field(from, "prepend"));
  if (type == "Strip")
    return std::make_unique<Strip>(flag_field(from, "strip_left", true), flag_field(from, "strip_right", true));
  if (type == "Replace") {
    const json& pattern = field(from, "pattern");
    if (field(pattern, "String").is_null()) not_there("the normalizer Replace with a regular expression");
    return std::make_unique<Replace>(text_field(pattern, "String"), text_field(from, "content"));
  }
  not_there("the normalizer " + type);
}

}  // namespace neura::text
