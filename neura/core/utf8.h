// UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once
#include <cstddef>
#include <string_view>

namespace neura {

// How many bytes at text[i] are one character; 0 where they are none, and then `bad` of them are to be left out.
std::size_t utf8_length(std::string_view text, std::size_t i, std::size_t& bad);
// The place of the first byte that is not part of UTF-8 text; its size if there is none.
std::size_t utf8_prefix(std::string_view text);

}  // namespace neura
