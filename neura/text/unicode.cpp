#include "neura/text/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

#include "neura/core/utf8.h"

namespace neura::text {
namespace {

#include "neura/text/unicode_data.inc"

constexpr char32_t kEnd = 0x110000;

struct Tables {
  std::vector<std::uint8_t> categories = std::vector<std::uint8_t>(kEnd);
  std::unordered_map<char32_t, const std::uint32_t*> decompositions;
  std::unordered_map<std::uint64_t, char32_t> compositions;
  std::unordered_map<char32_t, char32_t> lower;

  Tables() {
    for (std::size_t i = 0; i < std::size(kCategories); ++i) {
      const char32_t last = i + 1 < std::size(kCategories) ? kCategories[i + 1] / 32 : kEnd;
      for (char32_t c = kCategories[i] / 32; c < last; ++c) categories[c] = std::uint8_t(kCategories[i] % 32);
    }
    for (std::size_t i = 0; i < std::size(kDecompositions); i += 2 + kDecompositions[i + 1]) {
      const std::uint32_t* entry = kDecompositions + i;
      decompositions[entry[0] / 4] = entry;
      if (entry[0] % 4 == 0 && entry[1] == 2)
        compositions[std::uint64_t(entry[2]) << 32 | entry[3]] = char32_t(entry[0] / 4);
    }
    for (std::size_t i = 0; i < std::size(kLower); i += 4)
      for (char32_t c = kLower[i]; c <= kLower[i + 1]; c += kLower[i + 2]) lower[c] = c + kLower[i + 3] - (1u << 21);
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

int combining(char32_t c) {
  return c < 0x300 ? 0
                   : int(*(std::upper_bound(std::begin(kCombining), std::end(kCombining), c * 256 + 255) - 1) % 256);
}

// Hangul syllables are computed: 19 leads, 21 vowels, 28 tails.
constexpr char32_t kSyllable = 0xac00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11a7;

void decompose(char32_t c, bool compatible, const Unit& from, std::vector<Unit>& to) {
  if (c < 0xa0) return to.push_back({c, from.begin, from.end});
  if (c >= kSyllable && c < kSyllable + 19 * 588) {
    const char32_t s = c - kSyllable;
    to.push_back({kLead + s / 588, from.begin, from.end});
    to.push_back({kVowel + s % 588 / 28, from.begin, from.end});
    if (s % 28) to.push_back({kTail + s % 28, from.begin, from.end});
    return;
  }
  const auto found = tables().decompositions.find(c);
  if (found == tables().decompositions.end() || (found->second[0] % 2 && !compatible))
    return to.push_back({c, from.begin, from.end});
  for (std::uint32_t k = 0; k < found->second[1]; ++k) decompose(found->second[2 + k], compatible, from, to);
}

// Marks after a letter, in the order of their classes. The places in the source stay in order: a mark that had one of
// its own takes the next, one that came out of the character before it takes that of the one before.
void reorder(std::vector<Unit>& text) {
  std::vector<std::pair<char32_t, bool>> marks;
  std::vector<Unit> places;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t begin = i;
    marks.clear(), places.clear();
    for (; i < text.size() && combining(text[i].c); ++i) {
      const bool own = i == 0 || text[i].begin != text[i - 1].begin;
      marks.emplace_back(text[i].c, own);
      if (own) places.push_back(text[i]);
    }
    if (marks.size() < 2) continue;
    std::stable_sort(marks.begin(), marks.end(),
                     [](const auto& a, const auto& b) { return combining(a.first) < combining(b.first); });
    for (std::size_t k = 0, place = 0; k < marks.size(); ++k) {
      Unit& u = text[begin + k];
      if (marks[k].second) u = places[place++];
      else if (begin + k > 0) u = text[begin + k - 1];
      u.c = marks[k].first;
    }
  }
}

char32_t composed(char32_t a, char32_t b) {
  if (a >= kLead && a < kLead + 19 && b >= kVowel && b < kVowel + 21)
    return kSyllable + ((a - kLead) * 21 + (b - kVowel)) * 28;
  if (a >= kSyllable && a < kSyllable + 19 * 588 && (a - kSyllable) % 28 == 0 && b > kTail && b < kTail + 28)
    return a + (b - kTail);
  const auto found = tables().compositions.find(std::uint64_t(a) << 32 | b);
  return found == tables().compositions.end() ? 0 : found->second;
}

void compose(std::vector<Unit>& text) {
  std::size_t kept = 0, starter = SIZE_MAX;
  int last = 0;  // the class of what was kept after the starter
  for (const Unit u : text) {
    const int now = combining(u.c);
    if (starter != SIZE_MAX && (kept == starter + 1 || (last < now && last != 0))) {
      if (const char32_t both = composed(text[starter].c, u.c)) {
        text[starter].c = both;
        for (std::size_t k = starter + 1; k < kept; ++k) {  // marks between take the place of the next
          const Unit& after = k + 1 < kept ? text[k + 1] : u;
          text[k].begin = after.begin, text[k].end = after.end;
        }
        continue;
      }
    }
    if (now == 0) starter = kept;
    last = now;
    text[kept++] = u;
  }
  text.resize(kept);
}

}  // namespace

Category category(char32_t c) { return c < kEnd ? Category(tables().categories[c]) : Category::Cn; }
bool is_letter(char32_t c) { return category(c) <= Category::Lo; }
bool is_mark(char32_t c) { return category(c) >= Category::Mn && category(c) <= Category::Me; }
bool is_numeric(char32_t c) { return category(c) >= Category::Nd && category(c) <= Category::No; }
bool is_punctuation(char32_t c) {
  if (c < 0x80) return c > 32 && c < 127 && !is_letter(c) && !is_numeric(c);
  return category(c) >= Category::Pc && category(c) <= Category::Po;
}
bool is_space(char32_t c) {
  if (c < 0x80) return c == 32 || (c >= 9 && c <= 13);
  return c == 0x85 || (category(c) >= Category::Zs && category(c) <= Category::Zp);
}
bool is_word(char32_t c) {
  const Category k = category(c);
  return k <= Category::Nd || k == Category::Nl || k == Category::Pc || c == 0x200c || c == 0x200d ||
         (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169) ||
         (c >= 0x1f170 && c <= 0x1f189);  // letters in circles and squares are alphabetic
}
bool is_chinese(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

void append(std::string& to, char32_t c) {
  if (c < 0x80) {
    to += char(c);
  } else if (c < 0x800) {
    to += {char(0xc0 | c >> 6), char(0x80 | (c & 0x3f))};
  } else if (c < 0x10000) {
    to += {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 0x3f)), char(0x80 | (c & 0x3f))};
  } else {
    to += {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 0x3f)), char(0x80 | (c >> 6 & 0x3f)), char(0x80 | (c & 0x3f))};
  }
}

bool is_utf8(std::string_view text) { return utf8_prefix(text) == text.size(); }

std::string repaired(std::string_view text) {
  std::string result;
  for (std::size_t i = 0, bad = 0; i < text.size();) {
    const std::size_t n = utf8_length(text, i, bad);
    if (n) result.append(text, i, n);
    else result += "\xef\xbf\xbd";
    i += n ? n : bad;
  }
  return result;
}

void normalize(std::vector<Unit>& text, Form form) {
  std::vector<Unit> parts;
  parts.reserve(text.size());
  for (const Unit& u : text) decompose(u.c, form == Form::nfkc || form == Form::nfkd, u, parts);
  reorder(parts);
  if (form == Form::nfc || form == Form::nfkc) compose(parts);
  text = std::move(parts);
}

void lower(std::vector<Unit>& text) {
  std::vector<Unit> result;
  result.reserve(text.size());
  for (const Unit& u : text) {
    char32_t c = u.c;
    if (c < 0x80) {
      if (c >= 'A' && c <= 'Z') c += 32;
    } else if (c == 0x130) {  // the one letter whose lower case is two characters
      c = 'i';
    } else if (const auto found = tables().lower.find(c); found != tables().lower.end()) {
      c = found->second;
    }
    result.push_back({c, u.begin, u.end});
    if (u.c == 0x130) result.push_back({0x307, u.begin, u.end});
  }
  text = std::move(result);
}

}  // namespace neura::text
