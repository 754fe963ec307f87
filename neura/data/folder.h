// Data sets that are folders: root/CLASS/NAME.ext.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace neura::data {

struct Labelled {
  std::vector<std::string> classes;
  std::vector<std::pair<std::string, std::int64_t>> files;  // path and number of the class
};
// Files whose names end in one of `endings`, or in its capitals, in the order of their names; classes are the folders
// in `root` in the order of theirs, or those that are given. IoError where a folder cannot be read or there is no such
// file.
Labelled files_by_class(const std::string& root, std::span<const std::string> endings,
                        std::vector<std::string> classes = {});

}  // namespace neura::data
