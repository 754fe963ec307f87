// An operand of fused calls, a line at a time: its own memory where that is contiguous, else a buffer.
#pragma once
#include "neura/backend/fused.h"

namespace neura {

inline constexpr std::int64_t kFusedGrain = 64;  // elements: whole vectors of every dtype
inline std::int64_t fused_padded(std::int64_t n) { return (n + kFusedGrain - 1) & -kFusedGrain; }

class FusedReader {
 public:
  // How many lines of `block` elements its buffer has, of the operand of a whole of so many elements.
  static int lines(const FusedInput&, std::int64_t numel, std::int64_t block);
  FusedReader(const FusedInput&, std::int64_t numel, std::int64_t block, char* buffer);
  // Elements [begin, begin + n) of the whole, and zeros up to `full` unless memory goes on; at most a block.
  const char* line(std::int64_t begin, std::int64_t n, std::int64_t full);
  // The address of the next n elements if they are contiguous, else null.
  const char* ahead(std::int64_t begin, std::int64_t n) const;

 private:
  void wrap(std::int64_t at, std::int64_t n);                         // of a row, from there on
  void spread(std::int64_t at, std::int64_t passed, std::int64_t n);  // of values that stand for several elements

  FusedInput in_;
  std::int64_t size_;  // of an element
  bool repeated_;      // the buffer has a short row so often that it has a line from any place of the row on
  char* buffer_;
};

}  // namespace neura
