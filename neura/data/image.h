// Pictures of any of the formats: PNG, JPEG, WebP, BMP, PPM, PGM and PBM.
#pragma once
#include "neura/data/bmp.h"
#include "neura/data/jpeg.h"
#include "neura/data/png.h"
#include "neura/data/webp.h"

namespace neura::data {

// uint8 [channels, height, width]; the format is told from the first bytes. FormatError for others and for damaged
// data, NotImplementedError for JPEG and WebP in a library without them. Of JPEG, `apply_exif_orientation` turns the
// picture as the camera was.
Tensor decode_image(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                    bool apply_exif_orientation = false, const std::string& name = "image");
Tensor read_image(const std::string& path, ImageMode mode = ImageMode::unchanged, bool apply_exif_orientation = false);

// How bright a colour is: the weights of JPEG's, in 65536ths.
inline std::uint8_t luma(int red, int green, int blue) {
  return std::uint8_t((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

// PPM, PGM and PBM, binary and plain ("P1" to "P6"), of up to 16 bits, which become 8.
Tensor decode_ppm(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                  const std::string& name = "ppm");
// A picture of 1 to 4 channels with as many as the mode says. What was transparent becomes black where it has no alpha;
// gray is JPEG's luma.
Tensor in_mode(const Tensor& image, ImageMode mode);
// PPM of uint8 [3, height, width], PGM of [height, width] or [1, height, width]. DTypeError, ShapeError.
std::string encode_ppm(const Tensor& image);

}  // namespace neura::data
