// The tokens of the words that a text has used: most words of a text have been seen before.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neura/text/model.h"

namespace neura::text {

class WordCache {
 public:
  // The tokens of `word`, as the model gives them. Valid until the next call.
  template <class Make> std::span<const Token> get(std::string_view word, const Make& make) {
    const bool keep = word.size() <= kLongest;
    const std::uint64_t hash = keep ? hash_of(word) : 0;
    if (keep)
      for (std::size_t i = std::size_t(hash) & (kSlots - 1); slots_[i].count; i = (i + 1) & (kSlots - 1)) {
        const Slot& s = slots_[i];
        if (s.hash == hash && s.length == word.size() &&
            std::memcmp(letters_.data() + s.word, word.data(), word.size()) == 0)
          return {tokens_.data() + s.first, s.count};
      }
    made_.clear();
    make(word, made_);
    if (keep && !made_.empty()) put(word, hash);
    return made_;
  }

 private:
  static constexpr std::size_t kLongest = 64, kSlots = 1 << 15;
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t word = 0, length = 0, first = 0, count = 0;
  };

  static std::uint64_t hash_of(std::string_view word) {
    std::uint64_t h = word.size() * 0x9e3779b97f4a7c15u;
    for (std::size_t i = 0; i < word.size(); i += 8) {
      std::uint64_t part = 0;
      std::memcpy(&part, word.data() + i, word.size() - i < 8 ? word.size() - i : 8);
      h = (h ^ part) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return h;
  }

  void put(std::string_view word, std::uint64_t hash) {
    if (used_ > kSlots / 2) {
      slots_.assign(kSlots, {});
      letters_.clear(), tokens_.clear(), used_ = 0;
    }
    std::size_t i = std::size_t(hash) & (kSlots - 1);
    while (slots_[i].count) i = (i + 1) & (kSlots - 1);
    slots_[i] = {hash, std::uint32_t(letters_.size()), std::uint32_t(word.size()), std::uint32_t(tokens_.size()),
                 std::uint32_t(made_.size())};
    letters_ += word;
    tokens_.insert(tokens_.end(), made_.begin(), made_.end());
    ++used_;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  std::size_t used_ = 0;
  std::string letters_;
  std::vector<Token> tokens_, made_;
};

}  // namespace neura::text
