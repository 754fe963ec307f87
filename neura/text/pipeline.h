// All parts of a tokenizer, and one text's way through them.
#pragma once
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>

#include "neura/text/added.h"
#include "neura/text/model.h"
#include "neura/text/post.h"
#include "neura/text/tokenizer.h"
#include "neura/text/word_cache.h"

namespace neura::text {

class Pipeline {
 public:
  explicit Pipeline(const nlohmann::json& from);
  Encoding tokens_of(std::string_view text) const;  // without special tokens, offsets in characters
  std::string decode(std::span<const std::uint32_t> ids, bool skip_special_tokens) const;
  const std::string* token(std::uint32_t id) const;

  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<PostProcessor> post;
  std::unique_ptr<Decoder> decoder;
  std::vector<AddedToken> added;

 private:
  void read_added(const nlohmann::json& from);
  Buffer normalized(std::string_view text, std::size_t base) const;
  void stretch(std::string_view text, std::size_t base, WordCache& cache, Encoding& to) const;
  void words(Buffer& text, WordCache& cache, Encoding& to) const;
  std::unique_ptr<WordCache> borrow() const;

  AddedTokens raw_, normalized_;
  std::unordered_map<std::uint32_t, std::size_t> by_id_;  // places in `added`
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<WordCache>> caches_;  // those not in use
};

}  // namespace neura::text
