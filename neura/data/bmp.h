// BMP pictures, of Windows and OS/2, as tensors.
#pragma once
#include "neura/data/png.h"

namespace neura::data {

// uint8 [channels, height, width] of 1, 4, 8, 16, 24 and 32 bits, with palettes, bit fields and run lengths. A picture
// has 3 channels, or 4 if its header has a mask for alpha. FormatError for what is damaged, cut off, no BMP, or of more
// than 2^28 pixels; NotImplementedError for the compressions that other formats are packed with (JPEG, PNG, fax).
Tensor decode_bmp(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                  const std::string& name = "bmp");

}  // namespace neura::data
