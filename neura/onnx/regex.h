// Regular expressions in the syntax of RE2, which ONNX's RegexFullMatch asks for. A text is read once, with all ways to
// match it side by side: no pattern takes more time than its own length times the text's.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neura::onnx {

// Characters by their numbers: ranges, both ends included, in order and apart.
using CharacterSet = std::vector<std::array<std::int32_t, 2>>;

// What a pattern becomes. `to` and `other` are instructions; of `characters`, `other` is the set.
struct RegexStep {
  enum Kind : std::uint8_t { characters, split, text_begin, text_end, line_begin, line_end, border, inside, done };
  Kind kind = done;
  std::uint32_t to = 0, other = 0;
};

class Regex {
 public:
  // ValueError for what RE2 does not take either, and for a pattern of more than 32,768 steps. NotImplementedError for
  // classes of Unicode (\p), single bytes (\C), and letters beyond ASCII where case does not count.
  explicit Regex(std::string_view pattern);
  // True if all of the text matches. Bytes that are no UTF-8 match nothing.
  bool matches(std::string_view text) const;

 private:
  std::vector<RegexStep> steps_;
  std::vector<CharacterSet> sets_;
};

// For the parser of patterns: what a pattern is made of. A part's children come one after the other (sequence), or one
// of them does (choice), or the only one comes `least` to `most` times (repeat; most < 0: any number).
struct RegexPart {
  enum Kind : std::uint8_t { sequence, choice, repeat, characters, position };
  Kind kind = sequence;
  int least = 1, most = 1;
  RegexStep::Kind where = RegexStep::done;  // of a position
  std::uint32_t set = 0;                    // of characters: its place in the list of sets
  std::vector<RegexPart> children;

  explicit RegexPart(Kind k = sequence) : kind(k) {}
};
RegexPart parsed_regex(std::string_view pattern, std::vector<CharacterSet>& sets);
bool contains(const CharacterSet& set, std::int32_t character);
// The numbers of the characters of a text; -1 for each byte that is no UTF-8.
std::vector<std::int32_t> characters_of(std::string_view text);

}  // namespace neura::onnx
