// Products of 8-bit integers: what an instruction set provides. A product is cut into tiles of a few rows of the left
// operand and two panels of 16 columns of the right one; four steps of k are adjacent in 32 bits of both.
#pragma once
#include <cstdint>

namespace neura {

inline constexpr int kIntegerRows = 14, kIntegerPanel = 16, kIntegerPanels = 2;  // of the largest tile
inline constexpr int kIntegerColumns = kIntegerPanel * kIntegerPanels;

struct IntegerTile {
  std::int64_t depth;         // groups of four k
  const std::uint8_t* left;   // [depth][rows][4]
  const std::uint8_t* right;  // [depth][16][4], of the first panel
  std::int64_t panel;         // bytes from one panel to the next
  std::int32_t* sums;         // [rows][32]
};
using RunIntegerTile = void (*)(const IntegerTile&);

struct IntegerKernels {  // of one instruction set
  int rows;              // of the largest tile
  // By rows - 1: exactly one operand is unsigned. Sums wrap around at 32 bits, and never before.
  RunIntegerTile unsigned_left[kIntegerRows], unsigned_right[kIntegerRows];
  // rows [rows, k] of any strides as [k / 4][rows][4], filled with zeros; each byte with `flip` exclusively or'ed.
  void (*pack_left)(const std::uint8_t* from, std::int64_t row, std::int64_t column, int rows, std::int64_t k,
                    std::uint8_t flip, std::uint8_t* to);
  // [k, columns] of any strides, at most 16 columns, as [k / 4][16][4].
  void (*pack_right)(const std::uint8_t* from, std::int64_t row, std::int64_t column, int columns, std::int64_t k,
                     std::uint8_t flip, std::uint8_t* to);
};
const IntegerKernels& integer_kernels();

}  // namespace neura
