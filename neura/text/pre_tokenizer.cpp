// Pre-tokenizers: text cut into pieces.
#include <algorithm>

#include "neura/text/fields.h"
#include "neura/text/steps.h"

namespace neura::text {
namespace {

// What happens to the separators that a step finds.
enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

Behavior behavior_of(const json& from, const char* otherwise = nullptr) {
  const std::string name = otherwise ? text_field(from, "behavior", otherwise) : text_field(from, "behavior");
  const char* const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  for (int i = 0; i < 5; ++i)
    if (name == names[i]) return Behavior(i);
  refuse_format("expected behavior to be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got " +
                name);
}

struct Part {
  Span span;
  bool match;
};

// Adds the parts of one piece to `pieces`.
void join(const std::vector<Part>& parts, Behavior behavior, std::vector<Span>& pieces) {
  const std::size_t first = pieces.size();
  bool before = false;  // whether the part before was a match
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [span, match] = parts[i];
    const bool started = pieces.size() > first;
    bool extend = false;
    if (behavior == Behavior::removed && match) continue;
    if (behavior == Behavior::merged_with_previous) extend = match && !before && started;
    // A separator is merged with the next stretch that is no separator.
    if (behavior == Behavior::merged_with_next) extend = !match && before && started;
    if (behavior == Behavior::contiguous) extend = match == before && started;
    if (extend) pieces.back().end = span.end;
    else pieces.push_back(span);
    before = match;
  }
}

// find(piece, emit) calls emit(begin, end, match) for parts that cover the piece from left to right.
template <class Find> void divide(Buffer& text, Behavior behavior, const Find& find) {
  std::vector<Span> pieces;
  std::vector<Part> parts;
  for (const Span piece : text.pieces) {
    parts.clear();
    find(text.piece(piece), [&](std::size_t begin, std::size_t end, bool match) {
      if (begin < end) parts.push_back({{piece.begin + std::uint32_t(begin), piece.begin + std::uint32_t(end)}, match});
    });
    join(parts, behavior, pieces);
  }
  text.pieces = std::move(pieces);
}

// Each character that is a separator is a match of its own.
template <class Is> void divide_at(Buffer& text, Behavior behavior, const Is& is) {
  divide(text, behavior, [&](std::string_view piece, const auto& emit) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < piece.size();) {
      const std::size_t begin = i;
      if (!is(next(piece, i))) continue;
      emit(start, begin, false);
      emit(begin, i, true);
      start = i;
    }
    emit(start, piece.size(), false);
  });
}

void scan(Buffer& text, Scanner scanner) {
  std::vector<Span> pieces;
  pieces.reserve(text.bytes.size() / 4);
  for (const Span piece : text.pieces) {
    const std::string_view all = text.piece(piece);
    for (std::size_t i = 0; i < all.size();) {
      const std::size_t end = scanner(all, i);
      pieces.push_back({piece.begin + std::uint32_t(i), piece.begin + std::uint32_t(end)});
      i = end;
    }
  }
  text.pieces = std::move(pieces);
}

// Writes the text again: each piece with `prefix` before it where wanted(piece), and its spaces as `space`.
template <class Wanted>
void rewrite(Buffer& text, const std::string& prefix, const std::string& space, const Wanted& wanted) {
  Buffer to;
  to.mapped = text.mapped;
  for (const Span piece : text.pieces) {
    const auto begin = std::uint32_t(to.bytes.size());
    const auto put = [&](const std::string& what, Span source) {
      to.bytes += what;
      to.from.insert(to.from.end(), what.size(), source);
    };
    if (piece.begin < piece.end && wanted(piece)) {
      std::uint32_t first = piece.begin + 1;
      while (first < piece.end && !starts_character(text.bytes[first])) ++first;
      put(prefix, text.source({piece.begin, first}));
    }
    for (std::uint32_t i = piece.begin; i < piece.end; ++i) {
      const Span source = text.source({i, i + 1});
      if (text.bytes[i] == ' ') put(space, source);
      else to.bytes += text.bytes[i], to.from.push_back(source);
    }
    to.pieces.push_back({begin, std::uint32_t(to.bytes.size())});
  }
  text = std::move(to);
}

class ByteLevel final : public PreTokenizer {
 public:
  explicit ByteLevel(const json& from)
      : prefix_(flag_field(from, "add_prefix_space", true)), cut_(flag_field(from, "use_regex", true)) {}
  void split(Buffer& text) const override {
    if (text.mapped) refuse_format("expected one ByteLevel among the pre-tokenizers, got two");
    const auto wanted = [&](Span s) { return text.bytes[s.begin] != ' '; };
    if (prefix_ && std::any_of(text.pieces.begin(), text.pieces.end(), wanted)) rewrite(text, " ", " ", wanted);
    if (cut_) scan(text, scan_gpt2);
    text.mapped = true;
  }

 private:
  bool prefix_, cut_;
};

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(const json& from)
      : mark_(text_field(from, "replacement", "\xe2\x96\x81")), split_(flag_field(from, "split", true)) {
    const bool old = flag_field(from, "add_prefix_space", true);
    scheme_ = text_field(from, "prepend_scheme", old ? "always" : "never");
    if (scheme_ != "always" && scheme_ != "never" && scheme_ != "first")
      refuse_format("expected prepend_scheme to be always, first or never, got " + scheme_);
    if (mark_.empty()) refuse_format("expected replacement to be a character");
    std::size_t i = 0;
    letter_ = next(mark_, i);
    if (i != mark_.size()) refuse_format("expected replacement to be one character, got " + mark_);
  }
  void split(Buffer& text) const override {
    rewrite(text, mark_, mark_, [&](Span s) {
      if (scheme_ == "never" || (scheme_ == "first" && text.source(s).begin != 0)) return false;
      return text.bytes[s.begin] != ' ' && !text.piece(s).starts_with(mark_);
    });
    if (split_) divide_at(text, Behavior::merged_with_next, [&](char32_t c) { return c == letter_; });
  }

 private:
  std::string mark_, scheme_;
  char32_t letter_;
  bool split_;
};

class AtCharacters final : public PreTokenizer {
 public:
  AtCharacters(bool (*is)(char32_t), Behavior behavior) : is_(is), behavior_(behavior) {}
  void split(Buffer& text) const override { divide_at(text, behavior_, is_); }

 private:
  bool (*is_)(char32_t);
  Behavior behavior_;
};

// \w+|[^\w\s]+
class Whitespace final : public PreTokenizer {
 public:
  void split(Buffer& text) const override {
    divide(text, Behavior::removed, [](std::string_view piece, const auto& emit) {
      const auto kind = [](char32_t c) { return is_space(c) ? 0 : is_word(c) ? 1 : 2; };
      for (std::size_t i = 0; i < piece.size();) {
        const std::size_t begin = i;
        const int first = kind(next(piece, i));
        for (std::size_t j = i; i < piece.size() && kind(next(piece, j)) == first;) i = j;
        emit(begin, i, first == 0);
      }
    });
  }
};

class Bert final : public PreTokenizer {
 public:
  void split(Buffer& text) const override {
    divide_at(text, Behavior::removed, is_space);
    divide_at(text, Behavior::isolated, is_punctuation);
  }
};

class Split final : public PreTokenizer {
 public:
  explicit Split(const json& from) : behavior_(behavior_of(from)), invert_(flag_field(from, "invert", false)) {
    const json& pattern = field(from, "pattern");
    if (!field(pattern, "String").is_null()) {
      text_ = text_field(pattern, "String");
      if (text_.empty()) refuse_format("expected a pattern that is not empty");
      return;
    }
    const std::string regex = text_field(pattern, "Regex");
    scanner_ = scanner_of(regex);
    if (!scanner_) not_there("the pre-tokenizer Split with the pattern " + regex);
  }
  void split(Buffer& text) const override {
    if (scanner_ && (behavior_ == Behavior::isolated || (behavior_ == Behavior::removed && invert_)))
      return scan(text, scanner_);
    divide(text, behavior_, [this](std::string_view piece, const auto& emit) {
      if (scanner_) {
        for (std::size_t i = 0, end; i < piece.size(); i = end) emit(i, end = scanner_(piece, i), !invert_);
        return;
      }
      std::size_t i = 0;
      for (std::size_t at; (at = piece.find(text_, i)) != piece.npos; i = at + text_.size()) {
        emit(i, at, invert_);
        emit(at, at + text_.size(), !invert_);
      }
      emit(i, piece.size(), invert_);
    });
  }

 private:
  Behavior behavior_;
  bool invert_;
  std::string text_;
  Scanner scanner_ = nullptr;
};

class PreTokenizers final : public PreTokenizer {
 public:
  PreTokenizers(const json& all, int depth) {
    for (const json& one : all) steps_.push_back(make_pre_tokenizer(one, depth + 1));
  }
  void split(Buffer& text) const override {
    for (const auto& step : steps_) step->split(text);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const json& from, int depth) {
  check_depth(depth);
  const std::string type = text_field(from, "type");
  if (type == "Sequence") return std::make_unique<PreTokenizers>(list_field(from, "pretokenizers"), depth);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(from);
  if (type == "Metaspace") return std::make_unique<Metaspace>(from);
  if (type == "Whitespace") return std::make_unique<Whitespace>();
  if (type == "WhitespaceSplit") return std::make_unique<AtCharacters>(is_space, Behavior::removed);
  if (type == "BertPreTokenizer") return std::make_unique<Bert>();
  if (type == "Punctuation") return std::make_unique<AtCharacters>(is_punctuation, behavior_of(from, "Isolated"));
  if (type == "Digits")
    return std::make_unique<AtCharacters>(
        is_numeric, flag_field(from, "individual_digits", false) ? Behavior::isolated : Behavior::contiguous);
  if (type == "Split") return std::make_unique<Split>(from);
  not_there("the pre-tokenizer " + type);
}

}  // namespace neura::text
