// Damaged copies of a file, the same ones in every run.
#pragma once
#include <string>

#include "tests/support/sample.h"

namespace neura::test {

// One to four changes: bits, bytes, digits, pieces cut out, doubled or moved, the end cut off.
inline std::string mutate(std::string s, Dice& dice) {
  constexpr unsigned char kNasty[] = {0x00, 0x01, 0x7F, 0x80, 0xFF, '"', '\\', '{',
                                      '}',  '[',  ']',  ',',  ':',  '-', '9',  'e'};
  const auto place = [&] { return std::size_t(dice.below(std::int64_t(s.size()))); };
  for (std::int64_t changes = 1 + dice.below(4); changes-- && !s.empty();) {
    const std::size_t at = place();
    const std::size_t n = std::min(s.size() - at, std::size_t(1 + dice.below(16)));
    switch (dice.below(9)) {
      case 0:
        s[at] = char(s[at] ^ (1 << dice.below(8)));
        break;
      case 1:
        s[at] = char(dice.bits());
        break;
      case 2:
        s[at] = char(kNasty[dice.below(sizeof(kNasty))]);
        break;
      case 3:
        s.erase(at, n);
        break;
      case 4:
        s.insert(at, s.substr(place(), n));
        break;
      case 5:
        s.resize(at);
        break;
      case 6:
        s.insert(at, 1, char(kNasty[dice.below(sizeof(kNasty))]));
        break;
      case 7:
        s[std::min(s.size() - 1, std::size_t(dice.below(8)))] = char(dice.bits());
        break;  // sizes stand in front
      default:  // another number
        for (std::size_t i = at; i < s.size(); ++i)
          if (s[i] >= '0' && s[i] <= '9') {
            s.replace(i, 1, dice.below(2) ? std::to_string(dice.bits()) : std::to_string(dice.below(300)));
            break;
          }
    }
  }
  return s;
}

}  // namespace neura::test
