#include "neura/backend/cpu/fused_input.h"

#include <algorithm>
#include <cstring>

namespace neura {
namespace {

struct Wide {  // complex128
  std::uint64_t half[2];
};

// n words: those of a row from `at` on, each `repeat` times, of the first of which `passed` are over.
template <class Word>
void repeat_words(const FusedInput& in, std::int64_t at, std::int64_t passed, char* to, std::int64_t n) {
  for (std::int64_t run; n; n -= run, passed = 0, at = at + 1 == in.count ? 0 : at + 1) {
    run = std::min(in.repeat - passed, n);
    Word word;
    std::memcpy(&word, in.data + at * std::int64_t(sizeof word), sizeof word);
    std::fill_n(reinterpret_cast<Word*>(to), run, word);
    to += run * std::int64_t(sizeof word);
  }
}

}  // namespace

int FusedReader::lines(const FusedInput& in, std::int64_t numel, std::int64_t block) {
  if (in.count == 1) return 0;  // a number: steps have lines of it
  return in.repeat == 1 && in.count < numel && in.count <= block ? 2 : 1;
}

FusedReader::FusedReader(const FusedInput& in, std::int64_t numel, std::int64_t block, char* buffer)
    : in_(in), size_(size_of(in.dtype)), repeated_(lines(in, numel, block) == 2), buffer_(buffer) {
  if (!repeated_) return;
  std::memcpy(buffer, in.data, std::size_t(in.count * size_));
  const std::int64_t all = (block + in.count) * size_;
  for (std::int64_t there = in.count * size_; there < all; there *= 2)
    std::memcpy(buffer + there, buffer, std::size_t(std::min(there, all - there)));
}

const char* FusedReader::line(std::int64_t begin, std::int64_t n, std::int64_t full) {
  if (in_.count == 1) return in_.data;
  if (in_.repeat > 1) {
    spread(begin / in_.repeat % in_.count, begin % in_.repeat, n);
  } else {
    const std::int64_t at = begin < in_.count ? begin : begin % in_.count;
    if (repeated_) return buffer_ + at * size_;
    if (n == full && at + full <= in_.count) return in_.data + at * size_;
    wrap(at, n);
  }
  std::memset(buffer_ + n * size_, 0, std::size_t((full - n) * size_));
  return buffer_;
}

const char* FusedReader::ahead(std::int64_t begin, std::int64_t n) const {
  return in_.repeat == 1 && begin + n <= in_.count ? in_.data + begin * size_ : nullptr;
}

void FusedReader::wrap(std::int64_t at, std::int64_t n) {
  for (std::int64_t done = 0, run; done < n; done += run, at = 0) {
    run = std::min(in_.count - at, n - done);
    std::memcpy(buffer_ + done * size_, in_.data + at * size_, std::size_t(run * size_));
  }
}

void FusedReader::spread(std::int64_t at, std::int64_t passed, std::int64_t n) {
  switch (size_) {
    case 1:
      return repeat_words<std::uint8_t>(in_, at, passed, buffer_, n);
    case 2:
      return repeat_words<std::uint16_t>(in_, at, passed, buffer_, n);
    case 4:
      return repeat_words<std::uint32_t>(in_, at, passed, buffer_, n);
    case 8:
      return repeat_words<std::uint64_t>(in_, at, passed, buffer_, n);
    default:
      return repeat_words<Wide>(in_, at, passed, buffer_, n);
  }
}

}  // namespace neura
