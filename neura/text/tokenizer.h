// Tokenizers as files tokenizer.json describe them: text to ids and back.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neura::text {

// An encoded text. All lists are of one length; offsets count characters of the text, special tokens have (0, 0).
struct Encoding {
  std::vector<std::uint32_t> ids, type_ids;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> offsets;
  std::vector<std::uint8_t> special_tokens_mask, attention_mask;
  std::size_t size() const { return ids.size(); }
};

struct Truncation {
  std::size_t max_length = 512;
  std::string strategy = "longest_first";  // or only_first, only_second: of a pair
  std::string direction = "right";
};

struct Padding {
  std::string direction = "right";
  std::uint32_t pad_id = 0, pad_type_id = 0;
  std::string pad_token = "[PAD]";
  std::optional<std::size_t> length;  // else the longest of the batch
  std::optional<std::size_t> pad_to_multiple_of;
};

class Tokenizer {
 public:
  // The text of a tokenizer.json. FormatError if it is invalid; NotImplementedError for an unsupported part.
  static Tokenizer from_json(std::string_view json);
  static Tokenizer from_file(const std::string& path);  // IoError, too
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Text that is no UTF-8 is read with U+FFFD in place of what is wrong. May be called from several threads.
  Encoding encode(std::string_view text, bool add_special_tokens = true) const;
  Encoding encode(std::string_view text, std::string_view pair, bool add_special_tokens = true) const;
  // In threads; padded to one length where padding is on.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts, bool add_special_tokens = true) const;
  std::vector<Encoding> encode_batch(std::span<const std::pair<std::string, std::string>> pairs,
                                     bool add_special_tokens = true) const;
  std::string decode(std::span<const std::uint32_t> ids, bool skip_special_tokens = true) const;

  std::optional<std::uint32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(std::uint32_t id) const;
  std::map<std::string, std::uint32_t> vocabulary(bool with_added_tokens = true) const;
  std::size_t vocabulary_size(bool with_added_tokens = true) const;

  // ValueError for an unknown option. Not while others encode.
  void enable_truncation(const Truncation& options);
  void enable_padding(const Padding& options);
  void no_truncation();
  void no_padding();
  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace neura::text
