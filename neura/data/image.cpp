#include "neura/data/image.h"

#include <algorithm>
#include <string_view>

#include "neura/core/file.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/join.h"

namespace neura::data {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The numbers of the header: blanks and comments between them, one blank after the last.
struct Header {
  std::string_view text;
  std::size_t at = 2;
  std::int64_t number(const std::string& name) {
    while (at < text.size() &&
           (std::string_view(" \t\n\v\f\r").find(text[at]) != std::string_view::npos || text[at] == '#')) {
      if (text[at] == '#') at = std::min(text.find('\n', at), text.size());
      else ++at;
    }
    std::int64_t value = 0;
    const std::size_t first = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && value < (1 << 28))
      value = value * 10 + (text[at++] - '0');
    check<FormatError>(at > first && at < text.size(), [&] {
      return name + ": expected a number at byte " + std::to_string(first) + " of the header";
    });
    return value;
  }
};

// From 1 or 3 channels to what the mode says.
Tensor in_mode(const Tensor& x, ImageMode mode) {
  const bool gray = mode == ImageMode::gray || mode == ImageMode::gray_alpha;
  Tensor y = x;
  if (mode == ImageMode::unchanged) return y;
  if (gray && x.size(0) == 3) {
    const auto* from = x.const_data<std::uint8_t>();
    const std::int64_t n = x.size(1) * x.size(2);
    y = Tensor::empty(Spec::dense(uint8, Shape{1, x.size(1), x.size(2)}));
    auto* to = y.data<std::uint8_t>();
    for (std::int64_t i = 0; i < n; ++i)  // the weights of JPEG's luma, in 65536ths
      to[i] = std::uint8_t((19595 * from[i] + 38470 * from[n + i] + 7471 * from[2 * n + i] + 32768) >> 16);
  } else if (!gray && x.size(0) == 1) {
    y = x.expand(Shape{3, x.size(1), x.size(2)}).contiguous();
  }
  if (mode == ImageMode::gray || mode == ImageMode::rgb) return y;
  return cat({y, full(Shape{1, x.size(1), x.size(2)}, 255, {.dtype = uint8, .device = Device()})}, 0);
}

}  // namespace

Tensor decode_ppm(std::span<const std::byte> bytes, ImageMode mode, const std::string& name) {
  const std::string_view text = text_of(bytes);
  check<FormatError>(text.size() > 2 && text[0] == 'P' && (text[1] == '5' || text[1] == '6'),
                     [&] { return name + ": expected a binary PPM or PGM picture"; });
  const std::int64_t channels = text[1] == '6' ? 3 : 1;
  Header header{text};
  const std::int64_t width = header.number(name), height = header.number(name), largest = header.number(name);
  check<FormatError>(width > 0 && height > 0 && largest > 0 && largest < 65536, [&] {
    return name + ": expected sizes above 0 and a largest value below 65536, got " + std::to_string(width) + " x " +
           std::to_string(height) + " and " + std::to_string(largest);
  });
  const std::size_t at = header.at + 1, sample = largest > 255 ? 2 : 1, there = text.size() - std::min(at, text.size());
  check<FormatError>(std::uint64_t(width) * std::uint64_t(height) <= there / sample / std::uint64_t(channels), [&] {
    return name + ": expected " + std::to_string(width) + " x " + std::to_string(height) + " pixels, got " +
           std::to_string(there) + " bytes; the file was cut off";
  });
  Tensor out = Tensor::empty(Spec::dense(uint8, Shape{channels, height, width}));
  auto* to = out.data<std::uint8_t>();
  const auto* from = reinterpret_cast<const unsigned char*>(text.data()) + at;
  const std::int64_t plane = height * width;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t i = 0; i < plane; ++i) {
      const unsigned char* p = from + std::size_t(i * channels + c) * sample;
      const std::int64_t value = std::min<std::int64_t>(sample == 2 ? p[0] << 8 | p[1] : p[0], largest);
      *to++ = std::uint8_t((value * 255 + largest / 2) / largest);
    }
  return in_mode(out, mode);
}

std::string encode_ppm(const Tensor& image) {
  check<DTypeError>(image.dtype() == uint8,
                    [&] { return std::string("encode_ppm: expected uint8, got ") + neura::name(image.dtype()); });
  const Tensor planes = image.dim() == 2 ? image.unsqueeze(0) : image;
  check<ShapeError>(planes.dim() == 3 && (planes.size(0) == 1 || planes.size(0) == 3) && planes.numel() > 0, [&] {
    return "encode_ppm: expected [height, width] or [1 or 3 channels, height, width], got " + image.shape().str();
  });
  const Tensor pixels = planes.detach().to(Device()).permute({1, 2, 0}).contiguous();
  std::string out = (planes.size(0) == 3 ? "P6\n" : "P5\n") + std::to_string(planes.size(2)) + " " +
                    std::to_string(planes.size(1)) + "\n255\n";
  return out.append(static_cast<const char*>(pixels.const_raw_data()), std::size_t(pixels.numel()));
}

Tensor decode_image(std::span<const std::byte> bytes, ImageMode mode, bool apply_exif_orientation,
                    const std::string& name) {
  const std::string_view text = text_of(bytes);
  if (text.starts_with("\x89PNG")) return decode_png(bytes, mode, name);
  if (text.starts_with("\xff\xd8")) return decode_jpeg(bytes, mode, apply_exif_orientation, name);
  if (text.starts_with("P5") || text.starts_with("P6")) return decode_ppm(bytes, mode, name);
  throw FormatError(name + ": expected a PNG, JPEG, PPM or PGM picture, got other bytes");
}

Tensor read_image(const std::string& path, ImageMode mode, bool apply_exif_orientation) {
  const std::string bytes = io::read_file(path);
  return decode_image(std::as_bytes(std::span(bytes)), mode, apply_exif_orientation, path);
}

}  // namespace neura::data
