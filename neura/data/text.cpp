#include "neura/data/text.h"

#include "neura/core/error.h"
#include "neura/core/file.h"

namespace neura::data {
namespace {

struct Range {
  unsigned low, high;
};

}  // namespace

std::size_t utf8_prefix(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const unsigned lead = static_cast<unsigned char>(text[at]);
    std::size_t more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || at + more >= text.size()) return at;
    // The second byte is narrower where the code point would be too small, a surrogate, or beyond U+10FFFF.
    Range second{0x80, 0xBF};
    if (lead == 0xE0) second.low = 0xA0;
    if (lead == 0xED) second.high = 0x9F;
    if (lead == 0xF0) second.low = 0x90;
    if (lead == 0xF4) second.high = 0x8F;
    for (std::size_t i = 1; i <= more; ++i) {
      const unsigned byte = static_cast<unsigned char>(text[at + i]);
      const Range r = i == 1 ? second : Range{0x80, 0xBF};
      if (byte < r.low || byte > r.high) return at;
    }
    at += more + 1;
  }
  return text.size();
}

std::string read_text(const std::string& path) {
  std::string text = io::read_file(path);
  const std::size_t good = utf8_prefix(text);
  check<FormatError>(good == text.size(),
                     [&] { return path + ": expected UTF-8 text, got another byte at " + std::to_string(good); });
  return text;
}

TextFolder::TextFolder(const std::string& root, std::vector<std::string> classes) {
  const std::string endings[] = {".txt"};
  all_ = files_by_class(root, endings, std::move(classes));
}

std::pair<std::string, std::int64_t> TextFolder::get(std::int64_t i) const {
  check_index(i, size());
  const auto& [path, label] = all_.files[std::size_t(i)];
  return {read_text(path), label};
}

}  // namespace neura::data
