#include "neura/data/text.h"

#include "neura/core/error.h"
#include "neura/core/file.h"

namespace neura::data {

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
