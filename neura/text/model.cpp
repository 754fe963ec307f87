#include "neura/text/model.h"

#include "neura/text/fields.h"

namespace neura::text {

void Vocabulary::add(const std::string& token, std::uint32_t id) {
  const auto [place, fresh] = ids_.emplace(token, id);
  if (!fresh) refuse_format("expected every token once, got " + token + " twice");
  tokens_.emplace(id, &place->first);
}

void read_vocabulary(const json& from, Vocabulary& to) {
  const json& vocab = field(from, "vocab");
  if (!vocab.is_object()) refuse_format("expected vocab to be an object, got " + kind_of(vocab));
  for (const auto& [token, id] : vocab.items()) to.add(token, number_of(id, "an id of vocab"));
}

std::vector<std::optional<std::uint32_t>> byte_tokens(const Vocabulary& vocabulary) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::vector<std::optional<std::uint32_t>> all;
  for (int b = 0; b < 256; ++b) {
    const char text[] = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
    all.push_back(vocabulary.find(std::string_view(text, sizeof text)));
  }
  return all;
}

void Trie::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& s : old) {
    if (!s.to) continue;
    std::size_t slot = place(std::uint32_t(s.key >> 8), char(s.key & 255));
    while (slots_[slot].to) slot = (slot + 1) & mask_;
    slots_[slot] = s;
  }
}

void Trie::add(std::string_view word, std::uint32_t value) {
  std::uint32_t node = 0;
  for (const char c : word) {
    std::uint32_t to = step(node, c);
    if (!to) {
      if (values_.size() * 2 > slots_.size()) grow();
      to = std::uint32_t(values_.size());
      values_.push_back(kNone);
      std::size_t slot = place(node, c);
      while (slots_[slot].to) slot = (slot + 1) & mask_;
      slots_[slot] = {key(node, c), to};
    }
    node = to;
  }
  values_[node] = value;
}

namespace {

class WordLevel final : public Model {
 public:
  explicit WordLevel(const json& from) {
    read_vocabulary(from, vocabulary);
    unknown_ = text_field(from, "unk_token", "<unk>");
  }
  void tokenize(std::string_view piece, std::vector<Token>& to) const override {
    auto id = vocabulary.find(piece);
    if (!id) id = vocabulary.find(unknown_);
    if (!id) throw ValueError("Tokenizer: expected the unk_token " + unknown_ + " in the vocabulary; add it");
    to.push_back({*id, {0, std::uint32_t(piece.size())}});
  }

 private:
  std::string unknown_;
};

// The longest word of the vocabulary, then the longest of those that continue one (##ing).
class WordPiece final : public Model {
 public:
  explicit WordPiece(const json& from) {
    read_vocabulary(from, vocabulary);
    unknown_ = text_field(from, "unk_token", "[UNK]");
    most_ = number_field(from, "max_input_chars_per_word", 100);
    const std::string prefix = text_field(from, "continuing_subword_prefix", "##");
    for (const auto& [token, id] : vocabulary.ids()) {
      words_.add(token, id);
      if (token.starts_with(prefix)) rest_.add(std::string_view(token).substr(prefix.size()), id);
    }
  }
  void tokenize(std::string_view piece, std::vector<Token>& to) const override {
    const std::size_t first = to.size();
    std::size_t characters = 0;
    for (const char c : piece) characters += starts_character(c);
    bool known = characters <= most_;
    for (std::size_t i = 0; known && i < piece.size();) {
      const Trie& trie = i == 0 ? words_ : rest_;
      std::uint32_t node = 0, id = Trie::kNone;
      std::size_t end = i;
      for (std::size_t k = i; k < piece.size() && (node = trie.step(node, piece[k])); ++k)
        if (trie.value(node) != Trie::kNone) id = trie.value(node), end = k + 1;
      known = end > i;
      if (known) to.push_back({id, {std::uint32_t(i), std::uint32_t(end)}});
      i = end;
    }
    if (known) return;
    to.resize(first);
    const auto id = vocabulary.find(unknown_);
    if (!id) throw ValueError("Tokenizer: expected the unk_token " + unknown_ + " in the vocabulary; add it");
    to.push_back({*id, {0, std::uint32_t(piece.size())}});
  }

 private:
  std::string unknown_;
  std::size_t most_;
  Trie words_, rest_;
};

}  // namespace

std::unique_ptr<Model> make_word_level(const json& from) { return std::make_unique<WordLevel>(from); }
std::unique_ptr<Model> make_word_piece(const json& from) { return std::make_unique<WordPiece>(from); }

std::unique_ptr<Model> make_model(const json& from) {
  std::string type = text_field(from, "type", "");
  if (type.empty()) type = field(from, "merges").is_array() ? "BPE" : "";  // as older files have it
  if (type == "BPE") return make_bpe(from);
  if (type == "WordPiece") return make_word_piece(from);
  if (type == "WordLevel") return make_word_level(from);
  if (type == "Unigram") return make_unigram(from);
  if (type.empty()) refuse_format("expected the model to have a type");
  not_there("the model " + type);
}

}  // namespace neura::text
