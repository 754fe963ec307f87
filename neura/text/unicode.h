// Unicode for the tokenizers: UTF-8, categories, normal forms, lower case.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neura::text {

enum class Category : std::uint8_t {
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Cs,
  Co,
  Cn
};

Category category(char32_t c);
bool is_letter(char32_t c);
bool is_mark(char32_t c);
bool is_numeric(char32_t c);
bool is_punctuation(char32_t c);  // of category P, or of ASCII's
bool is_space(char32_t c);        // the property White_Space
bool is_word(char32_t c);         // \w of regular expressions
bool is_chinese(char32_t c);      // an ideograph of the blocks that BERT sets apart

// The code point that begins at text[i], which is moved after it. The text is valid UTF-8.
inline char32_t next(std::string_view text, std::size_t& i) {
  const auto a = static_cast<unsigned char>(text[i++]);
  if (a < 0x80) return a;
  const int more = a < 0xe0 ? 1 : a < 0xf0 ? 2 : 3;
  char32_t c = a & (0x3f >> more);
  for (int k = 0; k < more; ++k) c = c << 6 | (static_cast<unsigned char>(text[i++]) & 0x3f);
  return c;
}
inline char32_t at(std::string_view text, std::size_t i) { return next(text, i); }
inline bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }
void append(std::string& to, char32_t c);
inline bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all = static_cast<unsigned char>(all | static_cast<unsigned char>(c));
  return all < 0x80;
}
// Whether all of it is UTF-8: no overlong forms, no surrogates.
bool is_utf8(std::string_view text);
// The same with U+FFFD for what is not.
std::string repaired(std::string_view text);

// A character and the bytes of the source that it came from.
struct Unit {
  char32_t c;
  std::uint32_t begin, end;
};
enum class Form { nfc, nfd, nfkc, nfkd };
void normalize(std::vector<Unit>& text, Form form);
void lower(std::vector<Unit>& text);

}  // namespace neura::text
