// JPEG pictures, by libjpeg-turbo: whole ones as tensors, or a window of one, at full size or smaller, as plain bytes.
#pragma once
#include <memory>

#include "neura/data/png.h"
#include "neura/data/transforms.h"

namespace neura::data {

// Interleaved uint8 samples, row by row, in memory that is used again from picture to picture.
struct Pixels {
  std::vector<std::uint8_t> bytes;
  std::size_t first = 0, stride = 0;  // the first sample, and from row to row
  std::int64_t height = 0, width = 0, channels = 0;
  const std::uint8_t* row(std::int64_t y) const { return bytes.data() + first + std::size_t(y) * stride; }
};

// True if the library was built with libjpeg-turbo. All below raise NotImplementedError where it was not.
bool has_jpeg();

// Reads the header at once, and the pixels when asked. FormatError for what is damaged, cut off, no JPEG, or of more
// pixels than 2^28 or than its bytes can hold.
class JpegReader {
 public:
  explicit JpegReader(std::span<const std::byte> bytes, std::string name = "jpeg");
  JpegReader(const JpegReader&) = delete;
  ~JpegReader();
  std::int64_t height() const, width() const;
  // As the file has it, 1 to 8: how the picture was held (EXIF); 1 where the file does not say.
  int orientation() const;
  // Both sizes divided by `denominator` (1, 2, 4 or 8), rounded up, and of that a window; nothing outside of it is
  // transformed back. The samples are those of a picture decoded whole. Call it once.
  void decode(const Window&, int denominator, ImageMode, Pixels& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Grey and colour as the file has them, or as `mode` says; CMYK becomes colour, alpha is 255.
// `apply_exif_orientation`: turned as the camera was.
Tensor decode_jpeg(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                   bool apply_exif_orientation = false, const std::string& name = "jpeg");
// The image is a uint8 tensor, [height, width] or [1 or 3 channels, height, width]. DTypeError, ShapeError; ValueError
// for a quality outside 1 … 100.
std::string encode_jpeg(const Tensor& image, int quality = 75);

}  // namespace neura::data
