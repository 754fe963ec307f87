#include "neura/data/bmp.h"

#include <gtest/gtest.h>

#include "neura/data/image.h"
#include "tests/io/mutate.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/refusals.h"

namespace neura::data {
namespace {

using test::error_of;
using test::expect_refusals;
using Numbers = std::vector<std::uint8_t>;

std::string little(std::uint32_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(char(value >> 8 * i));
  return out;
}
// The file of a header of `size` bytes (12 or 40 and more), what follows it (masks or colours) and the pixels.
struct Bmp {
  int width, height, bits;
  std::string rest, pixels;
  std::uint32_t compression = 0, size = 40, used = 0;

  std::string file() const {
    std::string header = little(size, 4);
    const int number = size == 12 ? 2 : 4;
    header += little(std::uint32_t(width), number) + little(std::uint32_t(height), number) + little(1, 2) +
              little(std::uint32_t(bits), 2);
    if (size > 12)
      header += little(compression, 4) + little(std::uint32_t(pixels.size()), 4) + little(0, 8) + little(used, 4) +
                little(0, 4);
    header += rest;
    const auto at = std::uint32_t(14 + header.size());
    return "BM" + little(at + std::uint32_t(pixels.size()), 4) + little(0, 4) + little(at, 4) + header + pixels;
  }
};
Tensor decoded(const std::string& file, ImageMode mode = ImageMode::unchanged) {
  return decode_image(std::as_bytes(std::span(file)), mode);
}
Tensor decoded(const Bmp& b, ImageMode mode = ImageMode::unchanged) { return decoded(b.file(), mode); }
Numbers plane(const Tensor& x, std::int64_t c) { return x.select(0, c).contiguous().to_vector<std::uint8_t>(); }

const std::string kColours("\1\2\3\0\4\5\6\0\7\10\11\0", 12);  // blue, green, red of three colours

TEST(Bmp, RowsComeFromTheBottomOrFromTheTop) {
  const std::string rows("\1\2\3\4\5\6\0\0\7\10\11\12\13\14\0\0", 16);  // 2 x 2, blue first, filled up to 4 bytes
  const Tensor x = decoded(Bmp{2, 2, 24, "", rows});
  EXPECT_EQ(x.shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(plane(x, 0), (Numbers{9, 12, 3, 6}));
  EXPECT_EQ(plane(x, 2), (Numbers{7, 10, 1, 4}));
  EXPECT_EQ(plane(decoded(Bmp{2, -2, 24, "", rows}), 0), (Numbers{3, 6, 9, 12}));
  EXPECT_EQ(plane(decoded(Bmp{2, 2, 24, "", rows.substr(0, 14)}), 0), (Numbers{9, 12, 3, 6}));  // no zeros at the end
}

TEST(Bmp, PixelsAreNumbersOfColours) {
  EXPECT_EQ(plane(decoded(Bmp{3, 1, 8, kColours, std::string("\2\0\1\0", 4), 0, 40, 3}), 0), (Numbers{9, 3, 6}));
  EXPECT_EQ(plane(decoded(Bmp{3, 1, 4, kColours, std::string("\x20\x10\0\0", 4), 0, 40, 3}), 0), (Numbers{9, 3, 6}));
  EXPECT_EQ(plane(decoded(Bmp{9, 1, 1, kColours.substr(0, 8), std::string("\xa0\x80\0\0", 4), 0, 40, 2}), 1),
            (Numbers{5, 2, 5, 2, 2, 2, 2, 2, 5}));
  const std::string packed("\1\2\3\4\5\6", 6);  // of OS/2: three bytes a colour
  EXPECT_EQ(plane(decoded(Bmp{2, 1, 1, packed, std::string("\x40\0\0\0", 4), 0, 12}), 0), (Numbers{3, 6}));
}

TEST(Bmp, RunLengthsAreSpread) {
  // Two of colour 1; as they are 2, 0, 1; the end of the row; one to the right: one of 2; the end.
  const std::string runs("\2\1\0\3\2\0\1\0\0\0\0\2\1\0\1\2\0\1", 18);
  const Tensor x = decoded(Bmp{5, 2, 8, kColours, runs, 1, 40, 3});
  EXPECT_EQ(plane(x, 0), (Numbers{3, 9, 3, 3, 3, 6, 6, 9, 3, 6}));
  // Three that alternate between 1 and 2; as they are 0, 1, 2; the end.
  const std::string halves("\3\x12\0\3\1\x20\0\1", 8);
  EXPECT_EQ(plane(decoded(Bmp{6, 1, 4, kColours, halves, 2, 40, 3}), 0), (Numbers{6, 9, 6, 3, 6, 9}));
}

TEST(Bmp, ChannelsAreBitsOfAMask) {
  const std::string five = little(0x7fff, 2) + little(0x7c00 | 3, 2);
  EXPECT_EQ(plane(decoded(Bmp{2, 1, 16, "", five}), 2), (Numbers{255, 25}));  // 3 of 31, rounded
  const std::string masks = little(0xf800, 4) + little(0x7e0, 4) + little(0x1f, 4);
  const Tensor six = decoded(Bmp{2, 1, 16, masks, little(0x7e0, 2) + little(0x20, 2), 3});
  EXPECT_EQ(plane(six, 1), (Numbers{255, 4}));
  EXPECT_EQ(plane(decoded(Bmp{1, 1, 32, "", little(0xff010203, 4)}), 0), (Numbers{1}));  // the fourth byte is nothing
  const std::string four = little(0xff, 4) + little(0xff00, 4) + little(0xff0000, 4) + little(0xff000000, 4);
  const Bmp clear{1, 1, 32, four, little(0x80030201, 4), 3, 56};
  EXPECT_EQ(decoded(clear).to_vector<std::uint8_t>(), (Numbers{1, 2, 3, 128}));
  EXPECT_EQ(decoded(clear, ImageMode::rgb).to_vector<std::uint8_t>(), (Numbers{1, 1, 2}));  // before black
  EXPECT_EQ(decoded(clear, ImageMode::gray_alpha).shape(), (Shape{2, 1, 1}));
}

TEST(Bmp, DamagedFilesAreRefused) {
  const std::string good = Bmp{2, 2, 24, "", std::string(16, 1)}.file();
  const auto refused = [](const std::string& bytes, const std::string& what) {
    EXPECT_NE(error_of<FormatError>([&] { decoded(bytes); }).find(what), std::string::npos) << what;
  };
  refused("BM", "image: expected 14 bytes of header, got 2; the file was cut off");
  refused(good.substr(0, 30), "the file was cut off");
  refused(good.substr(0, 60), "image: expected 2 x 2 pixels in 14 bytes, got 6; the file was cut off");
  refused(Bmp{0, 2, 24, "", ""}.file(), "expected sizes above 0 of at most 2^28 pixels, got 0 x 2");
  refused(Bmp{1 << 30, INT32_MIN, 24, "", ""}.file(), "at most 2^28 pixels, got 1073741824 x 2147483648");
  refused(Bmp{2, 2, 7, "", ""}.file(), "bits that go with the compression, got 7 bits and compression 0");
  refused(Bmp{2, -2, 8, kColours, "\2\1", 1}.file(), "got 8 bits and compression 1 from the top");
  refused(Bmp{2, 1, 8, kColours, std::string(4, 5), 0, 40, 3}.file(), "expected one of 3 colours, got number 5");
  refused(Bmp{2, 1, 8, kColours, "\3\1", 1, 40, 3}.file(), "expected runs within 2 x 1, got one beyond");
  refused(Bmp{2, 1, 8, kColours, "\1\1", 1, 40, 3}.file(), "expected more runs; the file was cut off");
  refused(Bmp{9999, 9999, 8, kColours, std::string("\0\1", 2), 1, 40, 3}.file(), "that its 2 bytes can hold");
  refused(Bmp{1, 1, 32, little(5, 4) + little(0, 8), "1234", 3}.file(), "masks of neighbouring bits, got 5");
  std::string far = good;
  far[10] = '\x7f';
  refused(far, "expected pixels within the file of 70 bytes, got byte 127");
  EXPECT_EQ(error_of<NotImplementedError>([&] {
              decoded(Bmp{1, 1, 24, "", "abc", 4});
            }),
            "image: pictures of BMP's compression 4 are not read; save it uncompressed");
}

TEST(Bmp, ThousandsOfDamagedFilesAreReadOrRefused) {
  const std::vector<std::string> files = {
      Bmp{5, 2, 8, kColours, std::string("\2\1\0\3\2\0\1\0\0\0\0\2\1\0\1\2\0\1", 18), 1, 40, 3}.file(),
      Bmp{6, 1, 4, kColours, std::string("\3\x12\0\3\1\x20\0\1", 8), 2, 40, 3}.file(),
      Bmp{2, 2, 24, "", std::string(16, 1)}.file(), Bmp{2, 1, 16, "", "abcd"}.file()};
  test::Dice dice{7};
  int refused = 0;
  for (std::size_t i = 0; i < 8000; ++i) {
    const std::string bytes = test::mutate(files[i % files.size()], dice);
    try {
      decode_bmp(std::as_bytes(std::span(bytes)), ImageMode::rgb);
    } catch (const FormatError&) {
      ++refused;
    } catch (const NotImplementedError&) {
    }
  }
  EXPECT_GT(refused, 2000);
}

TEST(Ppm, PlainNumbersAndBitsAreRead) {
  EXPECT_EQ(decoded("P1\n3 2\n1 0 1\n010").to_vector<std::uint8_t>(), (Numbers{0, 255, 0, 255, 0, 255}));
  const std::string bits("P4 9 2\n\xff\0\x01\x80", 11);  // rows begin with a byte
  EXPECT_EQ(decoded(bits).to_vector<std::uint8_t>(),
            (Numbers{0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0}));
  EXPECT_EQ(decoded("P2 2 1\n10\n3 # three\n10").to_vector<std::uint8_t>(), (Numbers{77, 255}));
  EXPECT_EQ(decoded("P3 1 1 255 1 2 3", ImageMode::rgb_alpha).to_vector<std::uint8_t>(), (Numbers{1, 2, 3, 255}));
  for (const char* bad :
       {"P1 3 1 102", "P1 3 1 10", "P2 2 1 255 7", "P2 2 1 255 7 x", "P3 9999 9999 255 1", "P4 9 2 ab"})
    EXPECT_NE(error_of<FormatError>([&] { decoded(std::string(bad)); }), "no error") << bad;
}

}  // namespace
}  // namespace neura::data
