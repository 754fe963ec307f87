#include "neura/data/bmp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "neura/core/error.h"
#include "neura/data/image.h"

namespace neura::data {
namespace {

constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
constexpr std::size_t kFileHeader = 14;  // what stands before the header of the picture
enum Compression : std::uint32_t { none = 0, rle8 = 1, rle4 = 2, bit_fields = 3, alpha_fields = 6 };

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

struct Bytes {
  std::span<const std::byte> data;
  const std::string& name;

  std::uint32_t number(std::size_t at, std::size_t size) const {  // little-endian
    check<FormatError>(at + size <= data.size(), [&] {
      return name + ": expected " + std::to_string(at + size) + " bytes of header, got " + std::to_string(data.size()) +
             "; the file was cut off";
    });
    std::uint32_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | std::uint32_t(data[at + i]);
    return value;
  }
  std::uint8_t byte(std::size_t at) const { return std::uint8_t(data[at]); }
};

struct Header {
  std::int64_t width = 0, height = 0;
  bool from_the_top = false;
  int bits = 0;
  std::uint32_t compression = none;
  std::array<std::uint32_t, 4> masks{};  // of red, green, blue, alpha
  std::vector<Colour> palette;
  std::size_t pixels_at = 0;

  bool packed() const { return compression == rle8 || compression == rle4; }
  std::size_t row_bits() const { return std::size_t(width) * std::size_t(bits); }
  std::size_t stride() const { return (row_bits() + 31) / 32 * 4; }
};

void check_kind(const Header& h, bool of_os2, const std::string& name) {
  const std::uint32_t c = h.compression;
  const bool known = c <= rle4 || (!of_os2 && (c == bit_fields || c == alpha_fields));  // OS/2 has its own 3 and 4
  check<NotImplementedError>(known, [&] {
    return name + ": pictures of BMP's compression " + std::to_string(c) + " are not read; save it uncompressed";
  });
  const bool whole = h.bits == 16 || h.bits == 24 || h.bits == 32, indexed = h.bits == 1 || h.bits == 4 || h.bits == 8;
  const bool fits = c == none   ? whole || indexed
                    : c == rle8 ? h.bits == 8
                    : c == rle4 ? h.bits == 4
                                : h.bits == 16 || h.bits == 32;
  check<FormatError>(fits && !(h.packed() && h.from_the_top), [&] {
    return name + ": expected 1, 4, 8, 16, 24 or 32 bits that go with the compression, got " + std::to_string(h.bits) +
           " bits and compression " + std::to_string(c) + (h.from_the_top ? " from the top" : "");
  });
}

void read_masks(Header& h, const Bytes& b, std::size_t size) {
  if (h.compression != bit_fields && h.compression != alpha_fields) {
    if (h.bits == 16) h.masks = {0x7c00, 0x3e0, 0x1f, 0};
    else h.masks = {0xff0000, 0xff00, 0xff, 0};
    return;
  }
  const std::size_t count = size >= 56 || h.compression == alpha_fields ? 4 : 3;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t mask = h.masks[i] = b.number(kFileHeader + 40 + 4 * i, 4);
    const std::uint32_t ones = mask ? mask >> std::countr_zero(mask) : 0;
    check<FormatError>((ones & (ones + 1)) == 0 && (h.bits == 32 || mask >> 16 == 0),
                       [&] { return b.name + ": expected masks of neighbouring bits, got " + std::to_string(mask); });
  }
}

void read_palette(Header& h, const Bytes& b, std::size_t size, std::uint32_t used) {
  const std::size_t entry = size == 12 ? 3 : 4, at = kFileHeader + size;
  std::size_t count = std::size_t{1} << h.bits;
  if (used) count = std::min<std::size_t>(count, used);
  count = std::min(count, (h.pixels_at - std::min(at, h.pixels_at)) / entry);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = at + entry * i;
    h.palette.push_back({b.byte(from + 2), b.byte(from + 1), b.byte(from)});
  }
}

Header read_header(const Bytes& b) {
  check<FormatError>(b.data.size() >= 2 && b.byte(0) == 'B' && b.byte(1) == 'M',
                     [&] { return b.name + ": expected a BMP picture"; });
  Header h;
  h.pixels_at = b.number(10, 4);
  const std::size_t size = b.number(kFileHeader, 4), at = kFileHeader;
  constexpr std::array<std::size_t, 8> kSizes{12, 16, 40, 52, 56, 64, 108, 124};
  check<FormatError>(std::find(kSizes.begin(), kSizes.end(), size) != kSizes.end(), [&] {
    return b.name + ": expected a header of 12, 16, 40, 52, 56, 64, 108 or 124 bytes, got " + std::to_string(size);
  });
  const std::size_t number = size == 12 ? 2 : 4;
  const auto size_at = [&](std::size_t from) {
    const std::uint32_t value = b.number(from, number);
    return number == 2 ? std::int64_t(value) : std::int64_t(std::int32_t(value));
  };
  h.width = size_at(at + 4), h.height = size_at(at + 4 + number);
  h.bits = int(b.number(at + 6 + 2 * number, 2));
  if (size >= 40) h.compression = b.number(at + 16, 4);
  h.from_the_top = h.height < 0;
  h.height = h.from_the_top ? -h.height : h.height;
  check<FormatError>(h.width > 0 && h.height > 0 && h.width <= kMaxPixels / h.height, [&] {
    return b.name + ": expected sizes above 0 of at most 2^28 pixels, got " + std::to_string(h.width) + " x " +
           std::to_string(h.height);
  });
  check_kind(h, size == 64, b.name);
  check<FormatError>(h.pixels_at >= kFileHeader + size && h.pixels_at <= b.data.size(), [&] {
    return b.name + ": expected pixels within the file of " + std::to_string(b.data.size()) + " bytes, got byte " +
           std::to_string(h.pixels_at);
  });
  if (h.bits <= 8) read_palette(h, b, size, size >= 40 ? b.number(at + 32, 4) : 0);
  else read_masks(h, b, size);
  return h;
}

// The number of a colour for each pixel, row by row from the bottom. What run lengths leave out is colour 0.
struct Runs {
  const Header& h;
  const Bytes& b;
  std::vector<std::uint8_t>& to;
  std::size_t at;
  std::int64_t x = 0, y = 0;

  std::uint8_t next() {
    check<FormatError>(at < b.data.size(), [&] { return b.name + ": expected more runs; the file was cut off"; });
    return b.byte(at++);
  }
  void put(std::uint8_t colour) {
    check<FormatError>(x < h.width && y < h.height, [&] {
      return b.name + ": expected runs within " + std::to_string(h.width) + " x " + std::to_string(h.height) +
             ", got one beyond";
    });
    to[std::size_t(y * h.width + x++)] = colour;
  }
  void given(int count) {  // `count` pixels as they are, and zeros up to an even number of bytes
    const std::size_t first = at;
    for (int i = 0, pair = 0; i < count; ++i)
      if (h.bits == 8) put(next());
      else put(i % 2 ? pair & 15 : (pair = next()) >> 4);
    at += (at - first) & 1;
  }
  void read() {
    for (;;) {
      const int count = next(), value = next();
      for (int i = 0; i < count; ++i) put(std::uint8_t(h.bits == 8 ? value : i % 2 ? value & 15 : value >> 4));
      if (count) continue;
      if (value == 0) x = 0, ++y;
      else if (value == 1) return;
      else if (value == 2) x += next(), y += next();
      else given(value);
    }
  }
};

void check_size(const Header& h, const Bytes& b) {
  const std::size_t there = b.data.size() - h.pixels_at, rows = std::size_t(h.height);
  if (h.packed()) {  // two bytes are 255 pixels of one colour, or fewer that are left out
    check<FormatError>(h.width * h.height <= (std::int64_t(there) + 1024) * 1024, [&] {
      return b.name + ": expected a picture that its " + std::to_string(there) + " bytes can hold, got " +
             std::to_string(h.width) + " x " + std::to_string(h.height);
    });
    return;
  }
  const std::size_t needed = h.stride() * (rows - 1) + (h.row_bits() + 7) / 8;  // the last row may end without zeros
  check<FormatError>(needed <= there, [&] {
    return b.name + ": expected " + std::to_string(h.width) + " x " + std::to_string(h.height) + " pixels in " +
           std::to_string(needed) + " bytes, got " + std::to_string(there) + "; the file was cut off";
  });
}

Tensor indexed(const Header& h, const Bytes& b) {
  const std::int64_t plane = h.height * h.width;
  std::vector<std::uint8_t> numbers(std::size_t(plane), 0);
  if (h.packed()) Runs{h, b, numbers, h.pixels_at}.read();
  else
    for (std::int64_t y = 0; y < h.height; ++y)
      for (std::int64_t x = 0; x < h.width; ++x) {
        const std::size_t bit = std::size_t(x) * std::size_t(h.bits);
        const int byte = b.byte(h.pixels_at + std::size_t(y) * h.stride() + bit / 8);
        numbers[std::size_t(y * h.width + x)] = std::uint8_t(byte >> (8 - h.bits - int(bit % 8)) & ((1 << h.bits) - 1));
      }
  Tensor out = Tensor::empty(Spec::dense(uint8, Shape{3, h.height, h.width}));
  auto* to = out.data<std::uint8_t>();
  for (std::int64_t y = 0; y < h.height; ++y)
    for (std::int64_t x = 0; x < h.width; ++x) {
      const std::int64_t row = h.from_the_top ? y : h.height - 1 - y;
      const std::size_t i = numbers[std::size_t(row * h.width + x)];
      check<FormatError>(i < h.palette.size(), [&] {
        return b.name + ": expected one of " + std::to_string(h.palette.size()) + " colours, got number " +
               std::to_string(i);
      });
      for (std::size_t c = 0; c < 3; ++c) to[std::int64_t(c) * plane + y * h.width + x] = h.palette[i][c];
    }
  return out;
}

// 24 bits are three bytes; of 16 and 32, each channel has some bits.
Tensor whole(const Header& h, const Bytes& b) {
  const std::int64_t channels = h.masks[3] ? 4 : 3, plane = h.height * h.width;
  Tensor out = Tensor::empty(Spec::dense(uint8, Shape{channels, h.height, h.width}));
  auto* to = out.data<std::uint8_t>();
  const std::size_t size = std::size_t(h.bits / 8);
  for (std::int64_t y = 0; y < h.height; ++y) {
    const std::int64_t row = h.from_the_top ? y : h.height - 1 - y;
    for (std::int64_t x = 0; x < h.width; ++x) {
      const std::size_t from = h.pixels_at + std::size_t(row) * h.stride() + std::size_t(x) * size;
      std::uint32_t pixel = 0;
      for (std::size_t i = size; i-- > 0;) pixel = pixel << 8 | b.byte(from + i);
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::uint32_t mask = h.masks[std::size_t(c)];
        const int shift = mask ? std::countr_zero(mask) : 0;
        const std::uint64_t largest = std::max(mask >> shift, 1U), value = (pixel & mask) >> shift;
        to[c * plane + y * h.width + x] = std::uint8_t((value * 255 + largest / 2) / largest);
      }
    }
  }
  return out;
}

}  // namespace

Tensor decode_bmp(std::span<const std::byte> bytes, ImageMode mode, const std::string& name) {
  const Bytes b{bytes, name};
  const Header h = read_header(b);
  check_size(h, b);
  return in_mode(h.bits <= 8 ? indexed(h, b) : whole(h, b), mode);
}

}  // namespace neura::data
