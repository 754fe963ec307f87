// A model appended to a program: the runner's bytes, zeros up to a multiple of 64, the file .neura, and a trailer.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "neura/core/file.h"

namespace neura::cli {

struct Appended {
  char magic[8];
  std::uint64_t offset, size;  // of the model in the file
  std::uint64_t trusted;       // 1: it may call operations that are not checked in files
};
static_assert(sizeof(Appended) == 32);
inline constexpr char kAppended[] = "NEURAAPP";

// False where the file ends otherwise.
inline bool read_appended(const io::Source& file, Appended& to) {
  if (file.size() < sizeof to) return false;
  file.read(file.size() - sizeof to, &to, sizeof to);
  return std::memcmp(to.magic, kAppended, sizeof to.magic) == 0;
}
// What comes after a runner of that size.
inline std::string behind(std::uint64_t runner, std::string_view model, bool trusted) {
  Appended a{{}, (runner + 63) / 64 * 64, model.size(), trusted};
  std::memcpy(a.magic, kAppended, sizeof a.magic);
  std::string text(a.offset - runner, '\0');
  text.append(model).append(reinterpret_cast<const char*>(&a), sizeof a);
  return text;
}

}  // namespace neura::cli
