// From a piece of text to tokens: BPE, WordPiece, Unigram, WordLevel.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "neura/text/steps.h"

namespace neura::text {

struct Token {
  std::uint32_t id;
  Span span;  // bytes of the piece
};

class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(const Vocabulary&) = delete;
  void add(const std::string& token, std::uint32_t id);  // FormatError where the token is there
  std::optional<std::uint32_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::string* token(std::uint32_t id) const {
    const auto found = tokens_.find(id);
    return found == tokens_.end() ? nullptr : found->second;
  }
  const auto& ids() const { return ids_; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<std::uint32_t, const std::string*> tokens_;  // keys of ids_
};

class Model {
 public:
  virtual ~Model() = default;
  virtual void tokenize(std::string_view piece, std::vector<Token>& to) const = 0;
  Vocabulary vocabulary;
};
std::unique_ptr<Model> make_model(const nlohmann::json& from);

std::unique_ptr<Model> make_bpe(const nlohmann::json& from);
std::unique_ptr<Model> make_word_piece(const nlohmann::json& from);
std::unique_ptr<Model> make_word_level(const nlohmann::json& from);
std::unique_ptr<Model> make_unigram(const nlohmann::json& from);
void read_vocabulary(const nlohmann::json& from, Vocabulary& to);
std::vector<std::optional<std::uint32_t>> byte_tokens(const Vocabulary& vocabulary);  // <0x00> to <0xFF>

// Words as paths of bytes.
class Trie {
 public:
  void add(std::string_view word, std::uint32_t value);
  // The child for `byte`; 0 (the root, which is no child) where there is none.
  std::uint32_t step(std::uint32_t node, char byte) const {
    std::size_t slot = place(node, byte);
    for (; slots_[slot].to; slot = (slot + 1) & mask_)
      if (slots_[slot].key == key(node, byte)) return slots_[slot].to;
    return 0;
  }
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t value(std::uint32_t node) const { return values_[node]; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t to = 0;
  };
  static std::uint64_t key(std::uint32_t node, char byte) {
    return std::uint64_t(node) << 8 | static_cast<unsigned char>(byte);
  }
  std::size_t place(std::uint32_t node, char byte) const {
    return std::size_t((key(node, byte) * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t mask_ = 1023;
  std::vector<std::uint32_t> values_ = {kNone};
};

}  // namespace neura::text
