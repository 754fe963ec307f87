// PNG pictures as tensors, uint8 [channels, height, width].
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "neura/core/tensor.h"

namespace neura::data {

// How many channels a picture gets: as many as the file has (a palette counts as colour), or always 1, 2, 3 or 4.
enum class ImageMode { unchanged, gray, gray_alpha, rgb, rgb_alpha };

// Samples of other depths become 8 bits; what was transparent becomes black where the mode has no alpha. IoError;
// FormatError for files that are damaged, no PNG, or of more than 2^28 pixels.
Tensor read_png(const std::string& path, ImageMode mode = ImageMode::unchanged);
Tensor decode_png(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                  const std::string& name = "png");
// The image is a uint8 tensor, [height, width] or [1 to 4 channels, height, width]. DTypeError, ShapeError, IoError.
void write_png(const std::string& path, const Tensor& image);
std::string encode_png(const Tensor& image);

}  // namespace neura::data
