// WebP pictures as tensors, uint8 [channels, height, width], by libwebp.
#pragma once
#include "neura/data/png.h"

namespace neura::data {

// True if the library was built with libwebp; decode_webp raises NotImplementedError where it was not.
bool has_webp();

// Three channels, and a fourth where the file has alpha; or as `mode` says: what was transparent becomes black where
// the mode has no alpha. FormatError for what is damaged, cut off, no WebP, of far more pixels than its bytes
// can hold, or an animation.
Tensor decode_webp(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                   const std::string& name = "webp");

}  // namespace neura::data
