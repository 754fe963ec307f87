#include "neura/data/image.h"

#include <algorithm>
#include <string_view>

#include "neura/core/file.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura::data {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The numbers of the header: blanks and comments between them, one blank after the last.
struct Header {
  std::string_view text;
  std::size_t at = 2;
  void skip_blanks() {
    while (at < text.size() &&
           (std::string_view(" \t\n\v\f\r").find(text[at]) != std::string_view::npos || text[at] == '#')) {
      if (text[at] == '#') at = std::min(text.find('\n', at), text.size());
      else ++at;
    }
  }
  std::int64_t number(const std::string& name, bool last = false) {
    skip_blanks();
    std::int64_t value = 0;
    const std::size_t first = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && value < (1 << 28))
      value = value * 10 + (text[at++] - '0');
    check<FormatError>(at > first && (last || at < text.size()),
                       [&] { return name + ": expected a number at byte " + std::to_string(first); });
    return value;
  }
};

// The samples of a picture of `kind` 1 to 6, one after the other; of bits, 1 is black.
struct Samples {
  Header header;
  std::int64_t kind, width, channels, largest;
  const std::string& name;
  std::int64_t column = 0;

  bool plain() const { return kind <= 3; }
  bool bits() const { return kind % 3 == 1; }
  std::uint64_t bytes_of(std::uint64_t height) const {  // at the least
    const std::uint64_t row = std::uint64_t(width * channels);
    if (plain()) return bits() ? row * height : 2 * row * height - 1;
    return (bits() ? (row + 7) / 8 : largest > 255 ? 2 * row : row) * height;
  }
  std::int64_t bit() {
    if (plain()) {
      header.skip_blanks();
      const char c = header.at < header.text.size() ? header.text[header.at] : ' ';
      check<FormatError>(c == '0' || c == '1',
                         [&] { return name + ": expected 0 or 1 at byte " + std::to_string(header.at); });
      return ++header.at, c == '0';
    }
    const int byte = static_cast<unsigned char>(header.text[header.at]), place = int(column++ % 8);
    if (column == width) column = 0;
    if (place == 7 || column == 0) ++header.at;
    return !(byte >> (7 - place) & 1);
  }
  std::int64_t next() {
    if (bits()) return bit();
    if (plain()) return header.number(name, true);
    const auto byte = [&] { return std::int64_t(std::uint8_t(header.text[header.at++])); };
    const std::int64_t high = largest > 255 ? byte() << 8 : 0;
    return high | byte();
  }
};

}  // namespace

Tensor in_mode(const Tensor& x, ImageMode mode) {
  if (mode == ImageMode::unchanged) return x;
  const bool gray = mode == ImageMode::gray || mode == ImageMode::gray_alpha;
  const bool alpha = mode == ImageMode::gray_alpha || mode == ImageMode::rgb_alpha;
  const std::int64_t height = x.size(1), width = x.size(2), n = height * width;
  Tensor y = x, opacity;
  if (x.size(0) == 2 || x.size(0) == 4) {
    const std::int64_t last = x.size(0) - 1;
    y = narrow(x, 0, 0, last), opacity = narrow(x, 0, last, 1);
    if (!alpha) {  // before black
      const auto part = [](const Tensor& t) { return t.to(int32); };
      y = floor_divide(add(mul(part(y), part(opacity)), 127), 255).to(uint8);
    }
  }
  y = y.contiguous();
  if (gray && y.size(0) == 3) {
    const auto* from = y.const_data<std::uint8_t>();
    Tensor one = Tensor::empty(Spec::dense(uint8, Shape{1, height, width}));
    auto* to = one.data<std::uint8_t>();
    for (std::int64_t i = 0; i < n; ++i) to[i] = luma(from[i], from[n + i], from[2 * n + i]);
    y = one;
  } else if (!gray && y.size(0) == 1) {
    y = y.expand(Shape{3, height, width}).contiguous();
  }
  if (!alpha) return y;
  if (!opacity) opacity = full(Shape{1, height, width}, 255, {.dtype = uint8, .device = Device()});
  return cat({y, opacity}, 0);
}

Tensor decode_ppm(std::span<const std::byte> bytes, ImageMode mode, const std::string& name) {
  const std::string_view text = text_of(bytes);
  check<FormatError>(text.size() > 2 && text[0] == 'P' && text[1] >= '1' && text[1] <= '6',
                     [&] { return name + ": expected a PPM, PGM or PBM picture"; });
  const std::int64_t kind = text[1] - '0', channels = kind % 3 == 0 ? 3 : 1;
  Header header{text};
  const std::int64_t width = header.number(name), height = header.number(name);
  const std::int64_t largest = kind % 3 == 1 ? 1 : header.number(name);
  check<FormatError>(width > 0 && height > 0 && largest > 0 && largest < 65536, [&] {
    return name + ": expected sizes above 0 and a largest value below 65536, got " + std::to_string(width) + " x " +
           std::to_string(height) + " and " + std::to_string(largest);
  });
  ++header.at;
  Samples samples{header, kind, width, channels, largest, name};
  const std::size_t there = text.size() - header.at;
  check<FormatError>(samples.bytes_of(std::uint64_t(height)) <= there, [&] {
    return name + ": expected " + std::to_string(width) + " x " + std::to_string(height) + " pixels, got " +
           std::to_string(there) + " bytes; the file was cut off";
  });
  Tensor out = Tensor::empty(Spec::dense(uint8, Shape{channels, height, width}));
  auto* to = out.data<std::uint8_t>();
  const std::int64_t plane = height * width;
  for (std::int64_t i = 0; i < plane; ++i)
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t value = std::min(samples.next(), largest);
      to[c * plane + i] = std::uint8_t((value * 255 + largest / 2) / largest);
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
  if (text.starts_with("BM")) return decode_bmp(bytes, mode, name);
  if (text.size() > 1 && text[0] == 'P' && text[1] >= '1' && text[1] <= '6') return decode_ppm(bytes, mode, name);
  if (text.starts_with("RIFF") && text.substr(0, 12).ends_with("WEBP")) return decode_webp(bytes, mode, name);
  throw FormatError(name + ": expected a PNG, JPEG, WebP, BMP, PPM, PGM or PBM picture, got other bytes");
}

Tensor read_image(const std::string& path, ImageMode mode, bool apply_exif_orientation) {
  const std::string bytes = io::read_file(path);
  return decode_image(std::as_bytes(std::span(bytes)), mode, apply_exif_orientation, path);
}

}  // namespace neura::data
