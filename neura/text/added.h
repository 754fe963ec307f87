// Tokens that are found in the text before anything else.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "neura/text/steps.h"

namespace neura::text {

struct AddedToken {
  std::string content;
  std::uint32_t id;
  bool special, single_word, lstrip, rstrip, normalized;
};

class AddedTokens {
 public:
  void add(const AddedToken& token, const std::string& as);  // `as`: how the text spells it
  // Calls text(begin, end) and token(begin, end, id) for all of `all`, from left to right.
  template <class Text, class Found> void cut(std::string_view all, const Text& text, const Found& found) const {
    std::size_t start = 0;
    for (std::size_t i = 0; i < all.size();) {
      Match m;
      if (tokens_.empty()) break;
      while (i < all.size() && by_byte_[static_cast<unsigned char>(all[i])].empty()) ++i;
      if (i == all.size()) break;
      if (!find(all, i, start, m)) {
        i = m.end;
        continue;
      }
      if (start < m.begin) text(start, m.begin);
      found(m.begin, m.end, m.id);
      start = i = m.end;
    }
    if (start < all.size()) text(start, all.size());
  }

 private:
  struct Match {
    std::size_t begin = 0, end = 0;
    std::uint32_t id = 0;
  };
  bool find(std::string_view all, std::size_t i, std::size_t start, Match& to) const;
  struct Entry {
    AddedToken token;
    std::string as;
  };
  std::vector<Entry> tokens_;
  std::array<std::vector<std::uint32_t>, 256> by_byte_;  // longest first
};

}  // namespace neura::text
