#include "neura/text/tokenizer.h"

#include <algorithm>
#include <set>

#include "neura/core/file.h"
#include "neura/core/parallel.h"
#include "neura/text/fields.h"
#include "neura/text/pipeline.h"

namespace neura::text {

struct Tokenizer::Parts {
  explicit Parts(const json& from) : pipeline(from) {}
  Encoding encode(std::string_view text, const std::string_view* pair, bool special) const;
  void truncate(Encoding& first, Encoding* second, std::size_t added) const;
  void pad(std::span<Encoding> all) const;

  Pipeline pipeline;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
};

namespace {

void cut(Encoding& e, std::size_t n, bool left) {
  if (n >= e.size()) return;
  const auto keep = [&](auto& list) {
    if (left) list.erase(list.begin(), list.end() - std::ptrdiff_t(n));
    else list.resize(n);
  };
  keep(e.ids), keep(e.type_ids), keep(e.offsets), keep(e.special_tokens_mask), keep(e.attention_mask);
}

void fill(Encoding& e, std::size_t n, const Padding& p) {
  if (n <= e.size()) return;
  const std::size_t more = n - e.size();
  const auto put = [&](auto& list, auto value) {
    list.insert(p.direction == "left" ? list.begin() : list.end(), more, value);
  };
  put(e.ids, p.pad_id);
  put(e.type_ids, p.pad_type_id);
  put(e.offsets, std::pair<std::uint32_t, std::uint32_t>(0, 0));
  put(e.special_tokens_mask, std::uint8_t(1));
  put(e.attention_mask, std::uint8_t(0));
}

Truncation read_truncation(const json& from) {
  if (number_field(from, "stride", 0) != 0) not_there("truncation with a stride");
  const std::string strategy = text_field(from, "strategy", "LongestFirst");
  return {number_field(from, "max_length"),
          strategy == "OnlyFirst"    ? "only_first"
          : strategy == "OnlySecond" ? "only_second"
                                     : "longest_first",
          text_field(from, "direction", "Right") == "Left" ? "left" : "right"};
}

Padding read_padding(const json& from) {
  Padding p;
  p.direction = text_field(from, "direction", "Right") == "Left" ? "left" : "right";
  p.pad_id = number_field(from, "pad_id", 0);
  p.pad_type_id = number_field(from, "pad_type_id", 0);
  p.pad_token = text_field(from, "pad_token", "[PAD]");
  const json& strategy = field(from, "strategy");
  if (strategy.is_object()) p.length = number_field(strategy, "Fixed");
  const json& multiple = field(from, "pad_to_multiple_of");
  if (!multiple.is_null()) p.pad_to_multiple_of = number_of(multiple, "pad_to_multiple_of");
  return p;
}

template <class Item, class One> std::vector<Encoding> in_threads(std::span<const Item> items, const One& one) {
  std::vector<Encoding> result(items.size());
  parallel_for(std::int64_t(items.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) result[std::size_t(i)] = one(items[std::size_t(i)]);
  });
  return result;
}

}  // namespace

Encoding Tokenizer::Parts::encode(std::string_view text, const std::string_view* pair, bool special) const {
  Encoding first = pipeline.tokens_of(text), second;
  if (pair) second = pipeline.tokens_of(*pair);
  Encoding* other = pair ? &second : nullptr;
  special = special && pipeline.post;
  truncate(first, other, special ? pipeline.post->added(pair) : 0);
  Encoding result;
  if (special && pipeline.post->build(first, other, result)) return result;
  if (!pair) return first;
  append(result, first, 0);
  append(result, second, 1);
  return result;
}

void Tokenizer::Parts::truncate(Encoding& first, Encoding* second, std::size_t added) const {
  if (!truncation) return;
  const bool left = truncation->direction == "left";
  const std::size_t most = truncation->max_length > added ? truncation->max_length - added : 0;
  const std::size_t n = first.size(), m = second ? second->size() : 0;
  if (n + m <= most) return;
  const std::size_t over = n + m - most;
  if (truncation->strategy != "longest_first") {
    Encoding* one = truncation->strategy == "only_first" ? &first : second;
    if (!one || one->size() <= over)
      throw ValueError("Tokenizer: expected a text of more than " + std::to_string(over) + " tokens to truncate by " +
                       truncation->strategy + ", got " + std::to_string(one ? one->size() : 0) + "; raise max_length");
    return cut(*one, one->size() - over, left);
  }
  if (!second) return cut(first, most, left);
  // The longer one is shortened until both are alike, then both.
  const std::size_t less = std::min({n, m, most / 2}), more = most - less;
  const bool swap = n > m;
  cut(first, swap ? more : less, left);
  cut(*second, swap ? less : more, left);
}

void Tokenizer::Parts::pad(std::span<Encoding> all) const {
  if (!padding) return;
  std::size_t n = padding->length.value_or(0);
  if (!padding->length)
    for (const Encoding& e : all) n = std::max(n, e.size());
  if (const std::size_t k = padding->pad_to_multiple_of.value_or(0); k > 0) n = (n + k - 1) / k * k;
  for (Encoding& e : all) fill(e, n, *padding);
}

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::from_json(std::string_view text) {
  const json from = json::parse(text, nullptr, false);
  if (from.is_discarded()) refuse_format("expected valid JSON, got other text");
  Tokenizer result(std::make_unique<Parts>(from));
  if (const json& v = field(from, "truncation"); !v.is_null()) result.enable_truncation(read_truncation(v));
  if (const json& v = field(from, "padding"); !v.is_null()) result.enable_padding(read_padding(v));
  return result;
}

Tokenizer Tokenizer::from_file(const std::string& path) { return from_json(io::read_file(path)); }

Encoding Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  Encoding result = parts_->encode(text, nullptr, add_special_tokens);
  parts_->pad({&result, 1});
  return result;
}

Encoding Tokenizer::encode(std::string_view text, std::string_view pair, bool add_special_tokens) const {
  Encoding result = parts_->encode(text, &pair, add_special_tokens);
  parts_->pad({&result, 1});
  return result;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string> texts, bool add_special_tokens) const {
  auto result = in_threads(texts, [&](const std::string& t) { return parts_->encode(t, nullptr, add_special_tokens); });
  parts_->pad(result);
  return result;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::pair<std::string, std::string>> pairs,
                                              bool add_special_tokens) const {
  auto result = in_threads(pairs, [&](const std::pair<std::string, std::string>& p) {
    const std::string_view second = p.second;
    return parts_->encode(p.first, &second, add_special_tokens);
  });
  parts_->pad(result);
  return result;
}

std::string Tokenizer::decode(std::span<const std::uint32_t> ids, bool skip_special_tokens) const {
  return parts_->pipeline.decode(ids, skip_special_tokens);
}

std::optional<std::uint32_t> Tokenizer::token_to_id(std::string_view token) const {
  for (const AddedToken& t : parts_->pipeline.added)
    if (t.content == token) return t.id;
  return parts_->pipeline.model->vocabulary.find(token);
}

std::optional<std::string> Tokenizer::id_to_token(std::uint32_t id) const {
  const std::string* token = parts_->pipeline.token(id);
  return token ? std::optional(*token) : std::nullopt;
}

std::map<std::string, std::uint32_t> Tokenizer::vocabulary(bool with_added_tokens) const {
  const auto& ids = parts_->pipeline.model->vocabulary.ids();
  std::map<std::string, std::uint32_t> result(ids.begin(), ids.end());
  if (with_added_tokens)
    for (const AddedToken& t : parts_->pipeline.added) result[t.content] = t.id;
  return result;
}

std::size_t Tokenizer::vocabulary_size(bool with_added_tokens) const {
  const Vocabulary& words = parts_->pipeline.model->vocabulary;
  std::set<std::string_view> more;
  if (with_added_tokens)
    for (const AddedToken& t : parts_->pipeline.added)
      if (!words.find(t.content)) more.insert(t.content);
  return words.ids().size() + more.size();
}

namespace {
void check_word(const char* option, const std::string& got, std::initializer_list<const char*> words) {
  std::string all;
  for (const char* w : words) {
    if (got == w) return;
    all += (all.empty() ? "" : " or ") + std::string(w);
  }
  throw ValueError("Tokenizer: expected " + std::string(option) + " to be " + all + ", got " + got);
}
}  // namespace

void Tokenizer::enable_truncation(const Truncation& options) {
  check_word("direction", options.direction, {"left", "right"});
  check_word("strategy", options.strategy, {"longest_first", "only_first", "only_second"});
  parts_->truncation = options;
}

void Tokenizer::enable_padding(const Padding& options) {
  check_word("direction", options.direction, {"left", "right"});
  parts_->padding = options;
}

void Tokenizer::no_truncation() { parts_->truncation.reset(); }
void Tokenizer::no_padding() { parts_->padding.reset(); }
const std::optional<Truncation>& Tokenizer::truncation() const { return parts_->truncation; }
const std::optional<Padding>& Tokenizer::padding() const { return parts_->padding; }

}  // namespace neura::text
