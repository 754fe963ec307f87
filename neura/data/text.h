// Texts with classes, such as the IMDB reviews.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "neura/core/utf8.h"
#include "neura/data/dataset.h"
#include "neura/data/folder.h"

namespace neura::data {

// The whole file. IoError; FormatError, with the place, where it is no UTF-8.
std::string read_text(const std::string& path);
using neura::utf8_prefix;

// root/CLASS/NAME.txt: classes and texts in the order of their names. Texts are read on demand. With
// classes given, only theirs: TextFolder("aclImdb/train", {"neg", "pos"}).
class TextFolder {
 public:
  explicit TextFolder(const std::string& root, std::vector<std::string> classes = {});
  std::pair<std::string, std::int64_t> get(std::int64_t i) const;
  std::int64_t size() const { return std::int64_t(all_.files.size()); }
  const std::vector<std::string>& classes() const { return all_.classes; }
  const std::vector<std::pair<std::string, std::int64_t>>& files() const { return all_.files; }

 private:
  Labelled all_;
};

}  // namespace neura::data
