#include "neura/core/utf8.h"

namespace neura {

std::size_t utf8_length(std::string_view text, std::size_t i, std::size_t& bad) {
  const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned a = byte(i), b = byte(i + 1);
  bad = 1;
  if (a < 0x80) return 1;
  if (a < 0xc2 || a > 0xf4) return 0;
  const unsigned low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80, high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
  if (b < low || b > high) return 0;
  const std::size_t n = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
  for (bad = 2; bad < n; ++bad)
    if ((byte(i + bad) & 0xc0) != 0x80) return 0;
  return n;
}

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0, bad = 0;
  while (at < text.size()) {
    const std::size_t n = utf8_length(text, at, bad);
    if (!n) break;
    at += n;
  }
  return at;
}

}  // namespace neura
