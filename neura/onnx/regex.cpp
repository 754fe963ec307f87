#include "neura/onnx/regex.h"

#include <algorithm>
#include <utility>

#include "neura/core/error.h"
#include "neura/core/utf8.h"

namespace neura::onnx {
namespace {

constexpr std::size_t kMostSteps = 32768;

struct Program {
  std::vector<RegexStep> steps;

  // Every step goes on to the one after it, unless told otherwise.
  std::uint32_t add(RegexStep::Kind kind, std::uint32_t other = 0) {
    check<ValueError>(steps.size() < kMostSteps, [] {
      return "RegexFullMatch: expected a pattern of at most " + std::to_string(kMostSteps) +
             " steps, got more; repeat less";
    });
    steps.push_back({kind, std::uint32_t(steps.size() + 1), other});
    return std::uint32_t(steps.size() - 1);
  }
  std::uint32_t here() const { return std::uint32_t(steps.size()); }

  void emit(const RegexPart& p) {
    switch (p.kind) {
      case RegexPart::sequence:
        for (const RegexPart& c : p.children) emit(c);
        return;
      case RegexPart::choice:
        return choose(p);
      case RegexPart::repeat:
        return repeat(p);
      case RegexPart::characters:
        add(RegexStep::characters, p.set);
        return;
      case RegexPart::position:
        add(p.where);
        return;
    }
  }
  void choose(const RegexPart& p) {
    std::vector<std::uint32_t> ends;
    for (std::size_t i = 0; i + 1 < p.children.size(); ++i) {
      const std::uint32_t fork = add(RegexStep::split);
      emit(p.children[i]);
      ends.push_back(add(RegexStep::split));
      steps[fork].other = here();
    }
    emit(p.children.back());
    for (std::uint32_t e : ends) steps[e].to = steps[e].other = here();
  }
  void repeat(const RegexPart& p) {
    const RegexPart& c = p.children[0];
    for (int i = 0; i < p.least; ++i) {
      const std::uint32_t first = here();
      emit(c);
      if (here() == first) return;  // nothing, however often
      if (i + 1 == p.least && p.most < 0) {
        const std::uint32_t again = add(RegexStep::split);
        steps[again].other = first;
        return;
      }
    }
    if (p.most < 0) {
      const std::uint32_t fork = add(RegexStep::split);
      emit(c);
      const std::uint32_t back = add(RegexStep::split);
      steps[back].to = steps[back].other = fork;
      steps[fork].other = here();
      return;
    }
    std::vector<std::uint32_t> forks;
    for (int i = p.least; i < p.most; ++i) {
      forks.push_back(add(RegexStep::split));
      emit(c);
    }
    for (std::uint32_t f : forks) steps[f].other = here();
  }
};

bool is_word(std::int32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}
// The steps that wait for a character at one place of the text.
struct Waiting {
  const std::vector<RegexStep>& steps;
  std::vector<std::uint32_t> list, stack, seen;  // seen: the turn in which a step was reached last
  std::uint32_t turn = 0;
  bool done = false;

  explicit Waiting(const std::vector<RegexStep>& s) : steps(s), seen(s.size(), 0) {}
  void clear() { list.clear(), ++turn, done = false; }
  // The step and what follows from it without a character, between `before` and `after` (-2: the ends of the text).
  void reach(std::uint32_t step, std::int32_t before, std::int32_t after) {
    stack.push_back(step);
    while (!stack.empty()) {
      const std::uint32_t i = stack.back();
      stack.pop_back();
      if (std::exchange(seen[i], turn) == turn) continue;
      const RegexStep& s = steps[i];
      if (s.kind == RegexStep::characters) list.push_back(i);
      else if (s.kind == RegexStep::done) done = true;
      else if (s.kind == RegexStep::split) stack.push_back(s.other), stack.push_back(s.to);
      else if (holds(s.kind, before, after)) stack.push_back(s.to);
    }
  }
  static bool holds(RegexStep::Kind kind, std::int32_t before, std::int32_t after) {
    switch (kind) {
      case RegexStep::text_begin:
        return before == -2;
      case RegexStep::text_end:
        return after == -2;
      case RegexStep::line_begin:
        return before == -2 || before == '\n';
      case RegexStep::line_end:
        return after == -2 || after == '\n';
      case RegexStep::border:
        return is_word(before) != is_word(after);
      default:
        return is_word(before) == is_word(after);
    }
  }
};

}  // namespace

bool contains(const CharacterSet& set, std::int32_t c) {
  const auto after =
      std::upper_bound(set.begin(), set.end(), c, [](std::int32_t x, const auto& r) { return x < r[0]; });
  return after != set.begin() && c <= (*std::prev(after))[1];
}

std::vector<std::int32_t> characters_of(std::string_view text) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t bad = 0;
    const std::size_t length = utf8_length(text, i, bad);
    const auto byte = [&](std::size_t k) { return std::int32_t(std::uint8_t(text[i + k])); };
    std::int32_t c = length < 2 ? byte(0) : byte(0) & (0xff >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) c = c << 6 | (byte(k) & 0x3f);
    out.push_back(length ? c : -1);
    i += length ? length : 1;
  }
  return out;
}

Regex::Regex(std::string_view pattern) {
  Program p;
  p.emit(parsed_regex(pattern, sets_));
  p.add(RegexStep::done);
  steps_ = std::move(p.steps);
}

bool Regex::matches(std::string_view text) const {
  const std::vector<std::int32_t> all = characters_of(text);
  const auto at = [&](std::size_t i) { return i < all.size() ? all[i] : -2; };
  Waiting waiting(steps_);
  waiting.clear();
  waiting.reach(0, -2, at(0));
  std::vector<std::uint32_t> here;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::swap(here, waiting.list);
    if (here.empty()) return false;
    waiting.clear();
    for (std::uint32_t s : here)
      if (contains(sets_[steps_[s].other], all[i])) waiting.reach(steps_[s].to, all[i], at(i + 1));
  }
  return waiting.done;
}

}  // namespace neura::onnx
