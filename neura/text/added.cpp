#include "neura/text/added.h"

#include <algorithm>

namespace neura::text {
namespace {

bool word_before(std::string_view all, std::size_t i) {
  if (i == 0) return false;
  do --i;
  while (!starts_character(all[i]));
  return is_word(at(all, i));
}

bool space_at(std::string_view all, std::size_t i) { return is_space(at(all, i)); }

}  // namespace

void AddedTokens::add(const AddedToken& token, const std::string& as) {
  if (as.empty()) return;
  auto& list = by_byte_[static_cast<unsigned char>(as[0])];
  const auto shorter =
      std::find_if(list.begin(), list.end(), [&](std::uint32_t k) { return tokens_[k].as.size() < as.size(); });
  list.insert(shorter, std::uint32_t(tokens_.size()));
  tokens_.push_back({token, as});
}

// The longest token at all[i]; `to` says where to continue where there is none.
bool AddedTokens::find(std::string_view all, std::size_t i, std::size_t start, Match& to) const {
  to.end = i + 1;
  for (const std::uint32_t k : by_byte_[static_cast<unsigned char>(all[i])]) {
    const Entry& e = tokens_[k];
    if (!all.substr(i).starts_with(e.as)) continue;
    std::size_t begin = i, end = i + e.as.size();
    to.end = end;
    if (e.token.single_word && (word_before(all, begin) || (end < all.size() && is_word(at(all, end))))) return false;
    while (e.token.lstrip && begin > start) {
      std::size_t b = begin - 1;
      while (b > start && !starts_character(all[b])) --b;
      if (!space_at(all, b)) break;
      begin = b;
    }
    while (e.token.rstrip && end < all.size() && space_at(all, end)) next(all, end);
    to = {begin, end, e.token.id};
    return true;
  }
  return false;
}

}  // namespace neura::text
