// The patterns by which byte-level tokenizers cut text, written as scanners.
#include <array>

#include "neura/text/steps.h"

namespace neura::text {
namespace {

enum Kind : unsigned char { letter, number, space, line, other };

Kind kind_slow(char32_t c) {
  if (c == '\r' || c == '\n') return line;
  return is_letter(c) ? letter : is_numeric(c) ? number : is_space(c) ? space : other;
}

Kind kind(char32_t c) {
  static const auto ascii = [] {
    std::array<Kind, 128> all{};
    for (char32_t k = 0; k < 128; ++k) all[k] = kind_slow(k);
    return all;
  }();
  return c < 128 ? ascii[c] : kind_slow(c);
}

struct Cursor {
  std::string_view text;
  bool ends(std::size_t i) const { return i >= text.size(); }
  Kind at(std::size_t i) const { return i < text.size() ? kind(text::at(text, i)) : other; }
  std::size_t after(std::size_t i) const {
    next(text, i);
    return i;
  }
  std::size_t run(std::size_t i, Kind k, int most = -1) const {
    while (i < text.size() && most != 0) {
      std::size_t j = i;
      if (kind(next(text, j)) != k) break;
      i = j;
      --most;
    }
    return i;
  }
};

// 's, 't, 're, 've, 'm, 'll, 'd; i is at the apostrophe. The end, or i where there is none.
std::size_t contraction(std::string_view text, std::size_t i, bool any_case) {
  const auto letter_at = [&](std::size_t k) -> char {
    if (k >= text.size()) return 0;
    const char c = text[k];
    return any_case && c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  };
  const char a = letter_at(i + 1), b = letter_at(i + 2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return i + 3;
  if (any_case && text.substr(i + 1, 2) == "\xc5\xbf") return i + 3;  // the long s is an s, too
  return i;
}

// \s+(?!\S)|\s+: a run of white space, of which a word that follows keeps the last.
std::size_t spaces(const Cursor& t, std::size_t i, std::size_t end) {
  if (t.ends(end)) return end;
  std::size_t last = end - 1;
  while (!starts_character(t.text[last])) --last;
  return last > i ? last : end;
}

bool white(Kind k) { return k == space || k == line; }

std::size_t white_run(const Cursor& t, std::size_t i, std::size_t* behind_line) {
  for (Kind k; white(k = t.at(i));) {
    i = t.after(i);
    if (k == line && behind_line) *behind_line = i;
  }
  return i;
}

// cl100k's and Llama 3's with three digits, Qwen 2's with one.
template <int digits> std::size_t scan_cl100k(std::string_view text, std::size_t i) {
  const Cursor t{text};
  if (text[i] == '\'')
    if (const std::size_t end = contraction(text, i, true); end > i) return end;
  const Kind k = t.at(i);
  const std::size_t second = t.after(i);
  if (k == letter) return t.run(second, letter);
  if (k == number) return t.run(i, number, digits);
  if (k != line && t.at(second) == letter) return t.run(second, letter);
  const std::size_t start = text[i] == ' ' ? second : i;
  if (!t.ends(start) && t.at(start) == other) return t.run(t.run(start, other), line);
  std::size_t behind_line = 0;
  const std::size_t end = white_run(t, i, &behind_line);
  return behind_line ? behind_line : spaces(t, i, end);
}

struct Known {
  std::string_view pattern;
  Scanner scanner;
};
constexpr Known kKnown[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", scan_gpt2},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", scan_gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_cl100k<3>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_cl100k<1>},
};

}  // namespace

std::size_t scan_gpt2(std::string_view text, std::size_t i) {
  const Cursor t{text};
  if (text[i] == '\'')
    if (const std::size_t end = contraction(text, i, false); end > i) return end;
  const std::size_t start = text[i] == ' ' ? i + 1 : i;
  if (!t.ends(start))
    if (const Kind k = t.at(start); !white(k)) return t.run(t.after(start), k);
  return spaces(t, i, white_run(t, i, nullptr));
}

Scanner scanner_of(const std::string& pattern) {
  for (const Known& k : kKnown)
    if (k.pattern == pattern) return k.scanner;
  return nullptr;
}

char32_t letter_of_byte(unsigned char b) {
  static const auto letters = [] {
    std::array<char32_t, 256> all{};
    char32_t further = 256;
    for (char32_t k = 0; k < 256; ++k) all[k] = (k > 32 && k < 127) || (k > 160 && k != 173) ? k : further++;
    return all;
  }();
  return letters[b];
}

int byte_of_letter(char32_t c) {
  static const auto bytes = [] {
    std::array<int, 324> all{};
    all.fill(-1);
    for (int b = 0; b < 256; ++b) all[letter_of_byte(static_cast<unsigned char>(b))] = b;
    return all;
  }();
  return c < bytes.size() ? bytes[c] : -1;
}

}  // namespace neura::text
