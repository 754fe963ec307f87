// Decoders: from tokens to text.
#include "neura/text/fields.h"
#include "neura/text/steps.h"

namespace neura::text {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  if (what.empty()) return;
  std::string result;
  std::size_t i = 0;
  for (std::size_t at; (at = text.find(what, i)) != text.npos; i = at + what.size())
    result.append(text, i, at - i) += with;
  text = result.append(text, i);
}

class ByteLevel final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      std::string part;
      bool mapped = true;
      for (std::size_t i = 0; mapped && i < token.size();) {
        const int b = byte_of_letter(next(token, i));
        mapped = b >= 0;
        part += char(b);
      }
      bytes += mapped ? part : token;
    }
    tokens = {repaired(bytes)};
  }
};

class WordPiece final : public Decoder {
 public:
  explicit WordPiece(const json& from)
      : prefix_(text_field(from, "prefix", "##")), cleanup_(flag_field(from, "cleanup", true)) {}
  void apply(std::vector<std::string>& tokens) const override {
    static constexpr const char* kClean[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                                {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                                {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& t = tokens[i];
      if (i && t.starts_with(prefix_)) t.erase(0, prefix_.size());
      else if (i) t.insert(0, 1, ' ');
      if (cleanup_)
        for (const auto& [what, with] : kClean) replace_all(t, what, with);
    }
  }

 private:
  std::string prefix_;
  bool cleanup_;
};

class Metaspace final : public Decoder {
 public:
  explicit Metaspace(const json& from) : mark_(text_field(from, "replacement", "\xe2\x96\x81")) {
    const bool old = flag_field(from, "add_prefix_space", true);
    drop_ = text_field(from, "prepend_scheme", old ? "always" : "never") != "never";
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i == 0 && drop_)
        while (!mark_.empty() && tokens[i].starts_with(mark_)) tokens[i].erase(0, mark_.size());
      replace_all(tokens[i], mark_, " ");
    }
  }

 private:
  std::string mark_;
  bool drop_;
};

// <0x41> is the byte 0x41; U+FFFD for each byte of a run that is no UTF-8.
class ByteFallback final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> result;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes)) result.push_back(bytes);
      else result.insert(result.end(), bytes.size(), "\xef\xbf\xbd");
      bytes.clear();
    };
    for (std::string& t : tokens) {
      const int b = byte_of(t);
      if (b >= 0) {
        bytes += char(b);
        continue;
      }
      flush();
      result.push_back(std::move(t));
    }
    flush();
    tokens = std::move(result);
  }

 private:
  static int byte_of(const std::string& t) {
    if (t.size() != 6 || !t.starts_with("<0x") || t[5] != '>') return -1;
    int b = 0;
    for (int i = 3; i < 5; ++i) {
      const char c = t[std::size_t(i)];
      const int d = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                           : -1;
      if (d < 0) return -1;
      b = b * 16 + d;
    }
    return b;
  }
};

class Bpe final : public Decoder {
 public:
  explicit Bpe(const json& from) : suffix_(text_field(from, "suffix", "</w>")) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 < tokens.size() ? " " : "");
  }

 private:
  std::string suffix_;
};

class Fuse final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& t : tokens) all += t;
    tokens = {all};
  }
};

class Strip final : public Decoder {
 public:
  explicit Strip(const json& from)
      : what_(text_field(from, "content")), start_(number_field(from, "start")), stop_(number_field(from, "stop")) {}
  void apply(std::vector<std::string>& tokens) const override {
    if (what_.empty()) return;
    for (std::string& t : tokens) {
      for (std::uint32_t k = 0; k < start_ && t.starts_with(what_); ++k) t.erase(0, what_.size());
      for (std::uint32_t k = 0; k < stop_ && t.ends_with(what_); ++k) t.resize(t.size() - what_.size());
    }
  }

 private:
  std::string what_;
  std::uint32_t start_, stop_;
};

class Replace final : public Decoder {
 public:
  explicit Replace(const json& from) {
    const json& pattern = field(from, "pattern");
    if (field(pattern, "String").is_null()) not_there("the decoder Replace with a regular expression");
    what_ = text_field(pattern, "String"), with_ = text_field(from, "content");
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& t : tokens) replace_all(t, what_, with_);
  }

 private:
  std::string what_, with_;
};

class Decoders final : public Decoder {
 public:
  Decoders(const json& all, int depth) {
    for (const json& one : all) steps_.push_back(make_decoder(one, depth + 1));
  }
  void apply(std::vector<std::string>& tokens) const override {
    for (const auto& step : steps_) step->apply(tokens);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> steps_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const json& from, int depth) {
  check_depth(depth);
  const std::string type = text_field(from, "type");
  if (type == "Sequence") return std::make_unique<Decoders>(list_field(from, "decoders"), depth);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>();
  if (type == "WordPiece") return std::make_unique<WordPiece>(from);
  if (type == "Metaspace") return std::make_unique<Metaspace>(from);
  if (type == "ByteFallback") return std::make_unique<ByteFallback>();
  if (type == "BPEDecoder") return std::make_unique<Bpe>(from);
  if (type == "Fuse") return std::make_unique<Fuse>();
  if (type == "Strip") return std::make_unique<Strip>(from);
  if (type == "Replace") return std::make_unique<Replace>(from);
  not_there("the decoder " + type);
}

}  // namespace neura::text
