#include "neura/data/folder.h"

#include <algorithm>
#include <filesystem>

#include "neura/core/error.h"

namespace neura::data {
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> all;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    all.push_back(it->path());
  if (error) throw IoError("cannot read \"" + folder.string() + "\": " + error.message());
  std::sort(all.begin(), all.end());
  return all;
}

bool ends_in(const fs::path& file, std::span<const std::string> endings) {  // in small letters or in capitals
  std::string ending = file.extension().string();
  for (char& c : ending)
    if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

}  // namespace

Labelled files_by_class(const std::string& root, std::span<const std::string> endings,
                        std::vector<std::string> classes) {
  Labelled all{std::move(classes), {}};
  std::error_code ignored;
  if (all.classes.empty())
    for (const fs::path& folder : entries(root))
      if (fs::is_directory(folder, ignored)) all.classes.push_back(folder.filename().string());
  for (std::size_t label = 0; label < all.classes.size(); ++label)
    for (const fs::path& file : entries(fs::path(root) / all.classes[label]))
      if (ends_in(file, endings)) all.files.emplace_back(file.string(), std::int64_t(label));
  check<IoError>(!all.files.empty(),
                 [&] { return "expected files CLASS/NAME" + endings[0] + " in \"" + root + "\", got none"; });
  return all;
}

}  // namespace neura::data
