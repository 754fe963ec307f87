#include "cli/picture_files.h"

#include <algorithm>

#include "cli/ports.h"
#include "cli/progress.h"
#include "neura/core/error.h"
#include "neura/core/parallel.h"
#include "neura/data/image.h"

namespace neura::cli {
namespace {

constexpr std::size_t kNamed = 3;        // of the pictures that cannot be read
constexpr std::int64_t kLeastSide = 16;  // of pictures, where --set size says nothing

}  // namespace

std::string counted(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

Checked read_all(const Files& files) {
  std::vector<std::int64_t> side(files.size());
  Status status;
  status.say("reading " + counted(files.size(), "picture"));
  parallel_for(std::int64_t(files.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      try {
        const Tensor x = data::read_image(files[i].first, data::ImageMode::rgb);
        side[i] = std::min(x.size(1), x.size(2));
      } catch (const FormatError&) {
      } catch (const IoError&) {
      }
    }
  });
  status.say("");
  Checked c;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (side[i] == 0) c.bad.push_back(files[i].first);
    else c.good.push_back(files[i]), c.sides.push_back(side[i]);
  }
  return c;
}

std::string skipped_note(const std::vector<std::string>& bad) {
  std::string text =
      counted(bad.size(), "picture") + " cannot be read and " + (bad.size() == 1 ? "is" : "are") + " left out: ";
  for (std::size_t i = 0; i < std::min(bad.size(), kNamed); ++i) text += (i ? ", " : "") + bad[i];
  return text + (bad.size() > kNamed ? ", …" : "");
}

std::int64_t usual_side(std::vector<std::int64_t> sides, std::int64_t most) {
  const auto middle = sides.begin() + std::ptrdiff_t(sides.size() / 2);
  std::nth_element(sides.begin(), middle, sides.end());
  return std::clamp(*middle, kLeastSide, most);
}

}  // namespace neura::cli
