// The syntax of RE2 (github.com/google/re2/wiki/Syntax), as far as a full match can tell its parts apart: groups that
// capture and repetitions that are lazy match the same texts as others.
#include <algorithm>
#include <map>
#include <optional>

#include "neura/core/error.h"
#include "neura/onnx/regex.h"

namespace neura::onnx {
namespace {

constexpr std::int32_t kLargest = 0x10ffff, kMostRepeats = 1000;
constexpr int kDeepest = 200;

CharacterSet sorted(CharacterSet set) {
  std::sort(set.begin(), set.end());
  CharacterSet out;
  for (const auto& r : set)
    if (!out.empty() && r[0] <= out.back()[1] + 1) out.back()[1] = std::max(out.back()[1], r[1]);
    else out.push_back(r);
  return out;
}
CharacterSet all_but(const CharacterSet& set) {  // of a sorted one
  CharacterSet out;
  std::int32_t next = 0;
  for (const auto& [first, last] : set) {
    if (first > next) out.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= kLargest) out.push_back({next, kLargest});
  return out;
}

const CharacterSet* named_set(const std::string& name) {  // of [[:name:]]
  static const std::map<std::string, CharacterSet> all = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"ascii", {{0, 127}}},
      {"blank", {{'\t', '\t'}, {' ', ' '}}},
      {"cntrl", {{0, 31}, {127, 127}}},
      {"digit", {{'0', '9'}}},
      {"graph", {{'!', '~'}}},
      {"lower", {{'a', 'z'}}},
      {"print", {{' ', '~'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  const auto at = all.find(name);
  return at == all.end() ? nullptr : &at->second;
}

struct Flags {
  bool any_case = false, many_lines = false, dot_is_all = false;  // i, m, s
};

class Parser {
 public:
  Parser(std::string_view pattern, std::vector<CharacterSet>& sets)
      : pattern_(pattern), text_(characters_of(pattern)), sets_(sets) {
    if (std::find(text_.begin(), text_.end(), -1) != text_.end()) refuse("bytes that are no UTF-8");
  }
  RegexPart all() {
    RegexPart out = choice(0);
    if (at_ < text_.size()) refuse("a ) that closes nothing");
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw ValueError("RegexFullMatch: expected a pattern in the syntax of RE2, got \"" +
                     std::string(pattern_.substr(0, 200)) + "\" with " + what + "; correct the pattern");
  }
  [[noreturn]] void lacks(const std::string& what) const {
    throw NotImplementedError("RegexFullMatch: patterns with " + what +
                              " are not implemented; spell the characters out");
  }
  bool ended() const { return at_ == text_.size(); }
  bool is(char32_t c) const { return !ended() && text_[at_] == std::int32_t(c); }
  bool takes(std::string_view s) {
    for (std::size_t i = 0; i < s.size(); ++i)
      if (at_ + i >= text_.size() || text_[at_ + i] != s[i]) return false;
    return at_ += s.size(), true;
  }
  std::int32_t next(const char* what) {
    if (ended()) refuse(what);
    return text_[at_++];
  }

  RegexPart of(CharacterSet set) {
    sets_.push_back(std::move(set));
    RegexPart out(RegexPart::characters);
    out.set = std::uint32_t(sets_.size() - 1);
    return out;
  }
  static RegexPart at(RegexStep::Kind where) {
    RegexPart out(RegexPart::position);
    out.where = where;
    return out;
  }

  // Letters in the other case, where it does not count. Two characters beyond ASCII are cases of letters within.
  CharacterSet folded(CharacterSet set) const {
    if (!flags_.any_case) return sorted(std::move(set));
    constexpr std::int32_t kKelvin = 0x212a, kLongS = 0x17f;
    const CharacterSet given = set;
    for (const auto& [first, last] : given) {
      if (last > 127) lacks("letters beyond ASCII where case does not count");
      for (std::int32_t c = std::max<std::int32_t>(first, 'A'); c <= std::min<std::int32_t>(last, 'z'); ++c) {
        if (!((c <= 'Z') || c >= 'a')) continue;
        set.push_back({c ^ 32, c ^ 32});
        if ((c | 32) == 'k') set.push_back({kKelvin, kKelvin});
        if ((c | 32) == 's') set.push_back({kLongS, kLongS});
      }
    }
    return sorted(std::move(set));
  }

  // \d and its like; nothing where c is none of them.
  std::optional<CharacterSet> class_of(std::int32_t c) const {
    if (c == 'd' || c == 'D') return c == 'd' ? *named_set("digit") : all_but(*named_set("digit"));
    if (c == 'w' || c == 'W') return c == 'w' ? *named_set("word") : all_but(*named_set("word"));
    const CharacterSet space = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
    if (c == 's' || c == 'S') return c == 's' ? space : all_but(space);
    if (c == 'p' || c == 'P') lacks("classes of Unicode (\\p)");
    return std::nullopt;
  }
  static int digit_of(std::int32_t c, int base) {
    const std::int32_t lower = c | 32;
    const int value = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : base;
    return value < base ? value : -1;
  }
  std::int32_t hexadecimal() {
    const bool open = takes("{");
    std::int32_t value = 0;
    for (int count = 0; open || count < 2; ++count) {
      if (open && count && takes("}")) break;
      const int digit = digit_of(next("an unfinished \\x"), 16);
      if (digit < 0 || (value = value * 16 + digit) > kLargest) refuse("a wrong \\x");
    }
    return value;
  }
  // The character that stands after a backslash.
  std::int32_t escaped() {
    const std::int32_t c = next("a \\ at its end");
    static constexpr std::string_view kNames = "aftnrv", kValues = "\a\f\t\n\r\v";
    constexpr auto kNone = std::string_view::npos;
    if (const auto i = c < 128 ? kNames.find(char(c)) : kNone; i != kNone) return kValues[i];
    if (c == 'x') return hexadecimal();
    if (digit_of(c, 8) >= 0 && (c == '0' || (!ended() && digit_of(text_[at_], 8) >= 0))) {
      std::int32_t value = c - '0';
      for (int i = 0; i < 2 && !ended() && digit_of(text_[at_], 8) >= 0; ++i) value = value * 8 + text_[at_++] - '0';
      return value;
    }
    if (c < 128 && digit_of(c, 10) < 0 && !((c | 32) >= 'a' && (c | 32) <= 'z')) return c;
    if (c == 'C') lacks("single bytes (\\C)");
    refuse(c >= '1' && c <= '9' ? "a reference to a group" : "an unknown letter after \\");
  }

  bool named_class(CharacterSet& to) {
    if (at_ + 1 >= text_.size() || text_[at_] != '[' || text_[at_ + 1] != ':') return false;
    std::size_t end = at_ + 2;
    std::string name;
    while (end < text_.size() && ((text_[end] >= 'a' && text_[end] <= 'z') || text_[end] == '^'))
      name.push_back(char(text_[end++]));
    if (end + 1 >= text_.size() || text_[end] != ':' || text_[end + 1] != ']') return false;
    const bool negated = name.starts_with('^');
    const CharacterSet* set = named_set(negated ? name.substr(1) : name);
    if (!set) refuse("an unknown class of characters");
    at_ = end + 2;
    const CharacterSet found = negated ? all_but(folded(*set)) : folded(*set);
    to.insert(to.end(), found.begin(), found.end());
    return true;
  }
  std::int32_t member() {
    const std::int32_t c = next("a [ that nothing closes");
    return c == '\\' ? escaped() : c;
  }
  RegexPart brackets() {
    const bool negated = takes("^");
    CharacterSet set;
    for (bool first = true; first || !is(']'); first = false) {
      if (ended()) refuse("a [ that nothing closes");
      if (named_class(set)) continue;
      if (is('\\') && at_ + 1 < text_.size())
        if (const auto found = class_of(text_[at_ + 1])) {
          set.insert(set.end(), found->begin(), found->end());
          at_ += 2;
          continue;
        }
      const std::int32_t low = member();
      std::int32_t high = low;
      if (is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') ++at_, high = member();
      if (high < low) refuse("a range whose end is before its beginning");
      const CharacterSet part = folded({{low, high}});
      set.insert(set.end(), part.begin(), part.end());
    }
    ++at_;
    set = sorted(std::move(set));
    return of(negated ? all_but(set) : set);
  }

  RegexPart backslash() {
    if (takes("A")) return at(RegexStep::text_begin);
    if (takes("z")) return at(RegexStep::text_end);
    if (takes("b")) return at(RegexStep::border);
    if (takes("B")) return at(RegexStep::inside);
    if (!ended())
      if (auto set = class_of(text_[at_])) return ++at_, of(std::move(*set));
    const std::int32_t c = escaped();
    return of(folded({{c, c}}));
  }
  // After \Q: characters that mean themselves, up to \E; what follows repeats the last one.
  std::optional<RegexPart> quoted(RegexPart& before) {
    std::optional<RegexPart> last;
    while (!ended() && !takes("\\E")) {
      if (last) before.children.push_back(std::move(*last));
      const std::int32_t c = text_[at_++];
      last = of(folded({{c, c}}));
    }
    return last;
  }

  // (?i) and (?i-s:…): true if a group begins.
  bool flags() {
    bool value = true;
    for (;;) {
      const std::int32_t c = next("a ( that nothing closes");
      if (c == 'i') flags_.any_case = value;
      else if (c == 'm') flags_.many_lines = value;
      else if (c == 's') flags_.dot_is_all = value;
      else if (c == '-' && value) value = false;
      else if (c == ':' || c == ')') return c == ':';
      else if (c != 'U') refuse("what is neither a group nor a flag after (?");  // U: which are lazy
    }
  }
  std::optional<RegexPart> group(int depth) {
    const Flags outer = flags_;
    if (takes("?P<") || (is('?') && at_ + 2 < text_.size() && text_[at_ + 1] == '<' && text_[at_ + 2] != '=' &&
                         text_[at_ + 2] != '!' && takes("?<"))) {
      for (std::int32_t c; (c = next("a ( that nothing closes")) != '>';)
        if (!contains(*named_set("word"), c)) refuse("a wrong name of a group");
    } else if (takes("?") && !flags()) {
      return std::nullopt;
    }
    RegexPart out = choice(depth + 1);
    if (!takes(")")) refuse("a ( that nothing closes");
    flags_ = outer;
    return out;
  }

  // Nothing for flags alone.
  std::optional<RegexPart> atom(int depth, RegexPart& before) {
    const std::int32_t c = text_[at_++];
    if (c == '(') return group(depth);
    if (c == '[') return brackets();
    if (c == '\\') return takes("Q") ? quoted(before) : backslash();
    if (c == '.') return of(flags_.dot_is_all ? all_but({}) : all_but({{'\n', '\n'}}));
    if (c == '^') return at(flags_.many_lines ? RegexStep::line_begin : RegexStep::text_begin);
    if (c == '$') return at(flags_.many_lines ? RegexStep::line_end : RegexStep::text_end);
    return of(folded({{c, c}}));
  }

  std::optional<int> number() {
    const std::size_t first = at_;
    int value = 0;
    for (; !ended() && digit_of(text_[at_], 10) >= 0; ++at_) value = std::min(value * 10 + text_[at_] - '0', 100000);
    return at_ > first ? std::optional(value) : std::nullopt;
  }
  // *, +, ?, {2}, {2,}, {2,3}: how often. What else begins with { means itself.
  std::optional<std::pair<int, int>> times() {
    if (takes("*")) return std::pair(0, -1);
    if (takes("+")) return std::pair(1, -1);
    if (takes("?")) return std::pair(0, 1);
    const std::size_t first = at_;
    if (takes("{"))
      if (const std::optional<int> least = number()) {
        const bool more = takes(",");
        const int most = more ? number().value_or(-1) : *least;
        if (takes("}")) {
          if (*least > kMostRepeats || most > kMostRepeats || (most >= 0 && most < *least))
            refuse("a repetition of other than 0 to 1000 times");
          return std::pair(*least, most);
        }
      }
    at_ = first;
    return std::nullopt;
  }

  RegexPart sequence(int depth) {
    RegexPart out;
    while (!ended() && !is('|') && !is(')')) {
      if (times()) refuse("a repetition of nothing");
      std::optional<RegexPart> part = atom(depth, out);
      if (!part) continue;
      if (const auto count = times()) {
        takes("?");  // lazy
        if (times()) refuse("a repetition of a repetition");
        RegexPart repeated(RegexPart::repeat);
        repeated.least = count->first, repeated.most = count->second;
        repeated.children.push_back(std::move(*part));
        part = std::move(repeated);
      }
      out.children.push_back(std::move(*part));
    }
    return out;
  }
  RegexPart choice(int depth) {
    if (depth > kDeepest) refuse("more than 200 groups in each other");
    RegexPart out(RegexPart::choice);
    do out.children.push_back(sequence(depth));
    while (takes("|"));
    return out;
  }

  std::string_view pattern_;
  std::vector<std::int32_t> text_;
  std::vector<CharacterSet>& sets_;
  std::size_t at_ = 0;
  Flags flags_;
};

}  // namespace

RegexPart parsed_regex(std::string_view pattern, std::vector<CharacterSet>& sets) {
  return Parser(pattern, sets).all();
}

}  // namespace neura::onnx
