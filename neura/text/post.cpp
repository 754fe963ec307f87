#include "neura/text/post.h"

#include <algorithm>
#include <map>

#include "neura/text/fields.h"

namespace neura::text {

void append(Encoding& to, const Encoding& from, std::uint32_t type) {
  to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
  to.type_ids.insert(to.type_ids.end(), from.size(), type);
  to.offsets.insert(to.offsets.end(), from.offsets.begin(), from.offsets.end());
  to.special_tokens_mask.insert(to.special_tokens_mask.end(), from.special_tokens_mask.begin(),
                                from.special_tokens_mask.end());
  to.attention_mask.insert(to.attention_mask.end(), from.size(), 1);
}

namespace {

void append_special(Encoding& to, std::uint32_t id, std::uint32_t type) {
  to.ids.push_back(id);
  to.type_ids.push_back(type);
  to.offsets.emplace_back(0, 0);
  to.special_tokens_mask.push_back(1);
  to.attention_mask.push_back(1);
}

// Spaces that a token carries are no part of what its offsets say.
void trim_spaces(Encoding& e, const std::vector<const std::string*>& tokens, bool prefix) {
  const auto counts = [](char32_t c) { return c == letter_of_byte(' ') || is_space(c); };
  for (std::size_t i = 0; i < e.size(); ++i) {
    std::uint32_t leading = 0, trailing = 0;
    bool front = true;
    for (std::size_t k = 0; tokens[i] && k < tokens[i]->size();) {
      const bool space = counts(next(*tokens[i], k));
      front = front && space;
      leading += front;
      trailing = space ? trailing + 1 : 0;
    }
    auto& [begin, end] = e.offsets[i];
    if (leading > 0) {
      if (prefix && (i == 0 || begin == 0) && leading == 1) leading = 0;  // it was not in the text
      begin = std::min(begin + leading, end);
    }
    if (trailing > 0 && end >= trailing) end = std::max(end - trailing, begin);
  }
}

class ByteLevelPost final : public PostProcessor {
 public:
  explicit ByteLevelPost(const json& from)
      : prefix_(flag_field(from, "add_prefix_space", true)), trim_(flag_field(from, "trim_offsets", true)) {}
  bool trims() const override { return trim_; }
  void trim(Encoding& e, const std::vector<const std::string*>& tokens) const override {
    if (trim_) trim_spaces(e, tokens, prefix_);
  }

 private:
  bool prefix_, trim_;
};

// A list of special tokens and of the texts ("A" and "B"), one for a single text and one for a pair.
class Template : public PostProcessor {
 public:
  Template() = default;
  explicit Template(const json& from) {
    const json& special = field(from, "special_tokens");
    single_ = read(list_field(from, "single"), special);
    pair_ = read(list_field(from, "pair"), special);
  }
  std::size_t added(bool pair) const override {
    std::size_t n = 0;
    for (const Piece& p : pair ? pair_ : single_) n += p.ids.size();
    return n;
  }
  bool build(Encoding& first, Encoding* second, Encoding& to) const override {
    for (const Piece& p : second ? pair_ : single_) {
      if (p.text == 'A') append(to, first, p.type);
      if (p.text == 'B' && second) append(to, *second, p.type);
      for (const std::uint32_t id : p.ids) append_special(to, id, p.type);
    }
    return true;
  }

 protected:
  struct Piece {
    char text = 0;  // A, B, or 0: the tokens `ids`
    std::vector<std::uint32_t> ids;
    std::uint32_t type = 0;
  };
  std::vector<Piece> single_, pair_;

 private:
  static std::vector<Piece> read(const json& list, const json& special) {
    std::vector<Piece> result;
    for (const json& entry : list) {
      const json& text = field(entry, "Sequence");
      if (!text.is_null()) {
        const std::string id = text_field(text, "id");
        if (id != "A" && id != "B") refuse_format("expected a Sequence of a template to be A or B, got " + id);
        result.push_back({id[0], {}, number_field(text, "type_id", 0)});
        continue;
      }
      const json& token = field(entry, "SpecialToken");
      const std::string id = text_field(token, "id");
      Piece piece{0, {}, number_field(token, "type_id", 0)};
      for (const json& one : list_field(field(special, id.c_str()), "ids"))
        piece.ids.push_back(number_of(one, "an id of special_tokens"));
      result.push_back(std::move(piece));
    }
    return result;
  }
};

std::uint32_t named(const json& from, const char* key) {
  const json& v = field(from, key);
  if (!v.is_array() || v.size() != 2) refuse_format("expected " + std::string(key) + " to be a token and its id");
  return number_of(v[1], key);
}

// [CLS] A [SEP] B [SEP]
class BertPost final : public Template {
 public:
  explicit BertPost(const json& from) {
    const std::uint32_t cls = named(from, "cls"), sep = named(from, "sep");
    single_ = {{0, {cls}, 0}, {'A', {}, 0}, {0, {sep}, 0}};
    pair_ = {{0, {cls}, 0}, {'A', {}, 0}, {0, {sep}, 0}, {'B', {}, 1}, {0, {sep}, 1}};
  }
};

// <s> A </s></s> B </s>
class RobertaPost final : public Template {
 public:
  explicit RobertaPost(const json& from)
      : prefix_(flag_field(from, "add_prefix_space", true)), trim_(flag_field(from, "trim_offsets", true)) {
    const std::uint32_t cls = named(from, "cls"), sep = named(from, "sep");
    single_ = {{0, {cls}, 0}, {'A', {}, 0}, {0, {sep}, 0}};
    pair_ = {{0, {cls}, 0}, {'A', {}, 0}, {0, {sep, sep}, 0}, {'B', {}, 0}, {0, {sep}, 0}};
  }
  bool trims() const override { return trim_; }
  void trim(Encoding& e, const std::vector<const std::string*>& tokens) const override {
    if (trim_) trim_spaces(e, tokens, prefix_);
  }

 private:
  bool prefix_, trim_;
};

class PostProcessors final : public PostProcessor {
 public:
  PostProcessors(const json& all, int depth) {
    int builders = 0;
    for (const json& one : all) {
      steps_.push_back(make_post_processor(one, depth + 1));
      builders += steps_.back()->added(true) > 0;
    }
    if (builders > 1) not_there("a Sequence of two post-processors that add tokens");
  }
  std::size_t added(bool pair) const override {
    std::size_t n = 0;
    for (const auto& step : steps_) n += step->added(pair);
    return n;
  }
  bool trims() const override {
    return std::any_of(steps_.begin(), steps_.end(), [](const auto& s) { return s->trims(); });
  }
  void trim(Encoding& e, const std::vector<const std::string*>& tokens) const override {
    for (const auto& step : steps_) step->trim(e, tokens);
  }
  bool build(Encoding& first, Encoding* second, Encoding& to) const override {
    for (const auto& step : steps_)
      if (step->build(first, second, to)) return true;
    return false;
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> steps_;
};

}  // namespace

std::unique_ptr<PostProcessor> make_post_processor(const json& from, int depth) {
  check_depth(depth);
  const std::string type = text_field(from, "type");
  if (type == "Sequence") return std::make_unique<PostProcessors>(list_field(from, "processors"), depth);
  if (type == "ByteLevel") return std::make_unique<ByteLevelPost>(from);
  if (type == "TemplateProcessing") return std::make_unique<Template>(from);
  if (type == "BertProcessing") return std::make_unique<BertPost>(from);
  if (type == "RobertaProcessing") return std::make_unique<RobertaPost>(from);
  not_there("the post-processor " + type);
}

}  // namespace neura::text
