// Files of pictures: which of them can be read.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace neura::cli {

using Files = std::vector<std::pair<std::string, std::int64_t>>;  // and a number for each, of its class or its mask

struct Checked {
  Files good;
  std::vector<std::string> bad;
  std::vector<std::int64_t> sides;  // the shorter one of each good picture
};

// Decodes every picture, so that training meets none that it cannot read.
Checked read_all(const Files&);
std::string skipped_note(const std::vector<std::string>& bad);
std::string counted(std::size_t n, const std::string& what);  // "1 picture", "2 pictures"
// The usual picture's shorter side, from 16 to `most`.
std::int64_t usual_side(std::vector<std::int64_t> sides, std::int64_t most);

}  // namespace neura::cli
