// The steps of a tokenizer that tokenizer.json names: normalisers, pre-tokenizers, decoders.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "neura/text/unicode.h"

namespace neura::text {

struct Span {
  std::uint32_t begin = 0, end = 0;
};

// Text being prepared for the model, cut into pieces, with the place in the source that each byte came from.
struct Buffer {
  std::string bytes;
  std::vector<Span> from;  // for each byte; empty: the source's own bytes, from `base` on
  std::uint32_t base = 0;
  std::vector<Span> pieces;
  bool mapped = false;  // the model gets the letters that represent bytes (ByteLevel)

  std::string_view piece(Span s) const { return std::string_view(bytes).substr(s.begin, s.end - s.begin); }
  Span source(Span s) const {
    if (from.empty()) return {base + s.begin, base + s.end};
    return s.begin == s.end ? Span{} : Span{from[s.begin].begin, from[s.end - 1].end};
  }
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(std::vector<Unit>& text) const = 0;
  virtual bool keeps_ascii() const { return false; }
};
std::unique_ptr<Normalizer> make_normalizer(const nlohmann::json& from, int depth = 0);

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void split(Buffer& text) const = 0;
};
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const nlohmann::json& from, int depth = 0);

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};
std::unique_ptr<Decoder> make_decoder(const nlohmann::json& from, int depth = 0);

// Where the match of a well known pattern that begins at text[i] ends; every such pattern matches everywhere.
using Scanner = std::size_t (*)(std::string_view text, std::size_t i);
std::size_t scan_gpt2(std::string_view text, std::size_t i);
Scanner scanner_of(const std::string& pattern);  // null where the pattern is not known

// The letters that represent bytes: GPT-2's alphabet.
char32_t letter_of_byte(unsigned char b);
int byte_of_letter(char32_t c);  // -1 if it stands for no byte

}  // namespace neura::text
