#include "neura/data/jpeg.h"

#include <gtest/gtest.h>

#include <cstring>

#include "neura/core/file.h"
#include "neura/data/image.h"
#include "tests/io/folder.h"
#include "tests/io/mutate.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::at;
using test::error_of;
using test::expect_same;
using test::sample;

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }

#define NEEDS_JPEG \
  if (!has_jpeg()) GTEST_SKIP() << "built without libjpeg-turbo"

// Smooth, as photographs are: what JPEG keeps well.
Tensor smooth(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return test::from_loop({channels, height, width}, uint8, [&](const Shape& i) {
    return std::round(127 + 60 * std::sin(0.05 * double(i[1] + 20 * i[0])) + 60 * std::cos(0.04 * double(i[2])));
  });
}

TEST(Jpeg, KeepsAPictureAlmost) {
  NEEDS_JPEG;
  for (std::int64_t channels : {1, 3}) {
    const Tensor x = smooth(channels, 61, 83), y = decode_jpeg(bytes_of(encode_jpeg(x, 95)));
    ASSERT_EQ(y.shape(), x.shape());
    double worst = 0;
    for (std::int64_t i = 0; i < x.numel(); ++i)
      worst = std::max(worst, std::abs(double(x.data<std::uint8_t>()[i]) - y.data<std::uint8_t>()[i]));
    EXPECT_LT(worst, 12) << channels;
    EXPECT_GT(worst, 0);
  }
  const std::string small = encode_jpeg(smooth(3, 61, 83), 10), large = encode_jpeg(smooth(3, 61, 83), 90);
  EXPECT_LT(small.size(), large.size());
}

TEST(Jpeg, GivesTheChannelsOfTheMode) {
  NEEDS_JPEG;
  const std::string colour = encode_jpeg(smooth(3, 9, 17)), gray = encode_jpeg(smooth(1, 9, 17));
  const std::pair<ImageMode, int> modes[] = {
      {ImageMode::gray, 1}, {ImageMode::gray_alpha, 2}, {ImageMode::rgb, 3}, {ImageMode::rgb_alpha, 4}};
  for (const auto& [mode, channels] : modes)
    for (const std::string* file : {&colour, &gray}) {
      const Tensor x = decode_jpeg(bytes_of(*file), mode);
      EXPECT_EQ(x.shape(), (Shape{channels, 9, 17}));
      if (channels % 2 == 0) EXPECT_EQ(at(x, {channels - 1, 3, 4}), 255);
    }
  EXPECT_EQ(decode_jpeg(bytes_of(gray)).size(0), 1);
  expect_same(decode_jpeg(bytes_of(gray), ImageMode::rgb).select(0, 2), decode_jpeg(bytes_of(gray)).select(0, 0));
}

TEST(Jpeg, AWindowIsThatPartOfTheWhole) {
  NEEDS_JPEG;
  test::Dice dice{3};
  for (std::int64_t channels : {1, 3})
    for (const int denominator : {1, 2, 4, 8}) {
      const std::string file = encode_jpeg(sample({channels, 203, 301}, uint8, {.low = 0, .high = 256}), 80);
      const std::int64_t h = (203 + denominator - 1) / denominator, w = (301 + denominator - 1) / denominator;
      Pixels whole, part;
      JpegReader(bytes_of(file)).decode({0, 0, h, w}, denominator, ImageMode::unchanged, whole);
      for (int i = 0; i < 30; ++i) {
        const auto below = [&](std::int64_t n) { return std::int64_t(dice.below(n)); };
        const std::int64_t top = below(h), left = below(w);
        const Window window{top, left, 1 + below(h - top), 1 + below(w - left)};
        JpegReader(bytes_of(file)).decode(window, denominator, ImageMode::unchanged, part);
        ASSERT_EQ(part.channels, channels);
        for (std::int64_t y = 0; y < window.height; ++y)
          ASSERT_EQ(
              0, std::memcmp(part.row(y), whole.row(top + y) + left * channels, std::size_t(window.width * channels)))
              << denominator << " " << top << " " << left << " " << window.height << " " << window.width << " row "
              << y;
      }
      EXPECT_NE(error_of<ValueError>([&] {
                  JpegReader(bytes_of(file)).decode({0, 0, h + 1, w}, denominator, ImageMode::unchanged, part);
                }),
                "no error");
    }
}

TEST(Jpeg, IsTurnedAsItsExifSays) {
  NEEDS_JPEG;
  const std::string plain = encode_jpeg(smooth(1, 10, 20));
  const Tensor x = decode_jpeg(bytes_of(plain));
  for (int orientation = 1; orientation <= 9; ++orientation) {
    std::string exif(
        "\xff\xe1\0\x22"
        "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0X\0\0\0\0\0\0\0",
        36);
    exif[exif.find('X')] = char(orientation);
    const std::string file = plain.substr(0, 2) + exif + plain.substr(2);
    EXPECT_EQ(JpegReader(bytes_of(file)).orientation(), orientation > 8 ? 1 : orientation);
    expect_same(decode_jpeg(bytes_of(file)), x);
    const Tensor y = decode_jpeg(bytes_of(file), ImageMode::unchanged, true);
    // Where the first pixel of the file is seen: 1 top left, then as the standard's table has it.
    const bool swapped = orientation >= 5 && orientation <= 8;
    ASSERT_EQ(y.shape(), (swapped ? Shape{1, 20, 10} : Shape{1, 10, 20})) << orientation;
    const std::int64_t bottom = y.size(1) - 1, right = y.size(2) - 1;
    const bool low = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    const bool far = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    EXPECT_EQ(at(y, {0, low ? bottom : 0, far ? right : 0}), at(x, {0, 0, 0})) << orientation;
    EXPECT_EQ(at(y, {0, low ? 0 : bottom, far ? 0 : right}), at(x, {0, 9, 19})) << orientation;
  }
}

TEST(Jpeg, RefusesWhatItCannotRead) {
  NEEDS_JPEG;
  const std::string file = encode_jpeg(smooth(3, 40, 40));
  EXPECT_NE(error_of<FormatError>([&] { decode_jpeg(bytes_of(file.substr(0, file.size() / 2))); }), "no error");
  EXPECT_NE(error_of<FormatError>([&] { decode_jpeg({}); }), "no error");
  EXPECT_NE(error_of<FormatError>([&] { decode_jpeg(bytes_of("no picture")); }), "no error");
  std::string bomb = file;  // sizes that its bytes cannot hold
  const std::size_t frame = bomb.find("\xff\xc0");
  bomb.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_NE(error_of<FormatError>([&] { decode_jpeg(bytes_of(bomb)); }).find("2^28"), std::string::npos);
  EXPECT_EQ(error_of<DTypeError>([&] {
              encode_jpeg(sample({3, 2, 2}));
            }),
            "encode_jpeg: expected uint8, got float32; scale to 0 … 255 and convert");
  EXPECT_NE(error_of<ShapeError>([&] { encode_jpeg(sample({2, 2, 2}, uint8)); }), "no error");
  EXPECT_EQ(error_of<ValueError>([&] {
              encode_jpeg(sample({2, 2}, uint8), 0);
            }),
            "encode_jpeg: expected a quality from 1 to 100, got 0");
}

TEST(Mutation, OfJpegIsReadOrRefused) {
  NEEDS_JPEG;
  std::vector<std::string> files;
  for (std::int64_t channels : {1, 3}) files.push_back(encode_jpeg(sample({channels, 12, 21}, uint8)));
  test::Dice dice{9};
  Pixels part;
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string bytes = test::mutate(files[std::size_t(i) % files.size()], dice);
    try {
      decode_jpeg(bytes_of(bytes), ImageMode::rgb, true);
      JpegReader reader(bytes_of(bytes));  // and a corner at half the size
      reader.decode({reader.height() / 4, reader.width() / 4, 1, 1}, 2, ImageMode::unchanged, part);
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Ppm, ComesBack) {
  for (std::int64_t channels : {1, 3}) {
    const Tensor x = sample({channels, 4, 5}, uint8);
    expect_same(decode_ppm(bytes_of(encode_ppm(x))), x);
    expect_same(decode_image(bytes_of(encode_ppm(x))), x);
  }
  const std::string wide("P5 # a comment\n2 1\n1000\n\x03\xe8\x01\xf4", 28);
  EXPECT_EQ(decode_ppm(bytes_of(wide)).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 128}));
  const std::string red("P6 1 1 255\n\xff\0\0", 14);
  EXPECT_EQ(decode_ppm(bytes_of(red), ImageMode::gray).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{76}));
  EXPECT_EQ(decode_ppm(bytes_of(red), ImageMode::rgb_alpha).to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{255, 0, 0, 255}));
  EXPECT_EQ(error_of<FormatError>([&] { decode_ppm(bytes_of("P6 2 1 255\nabc")); }),
            "ppm: expected 2 x 1 pixels, got 3 bytes; the file was cut off");
  for (const char* bad : {"P6", "P6 2", "P6 0 1 255\n", "P6 1 1 70000\nabc", "P6 99999999999 9 255\n", "P5 x"})
    EXPECT_NE(error_of<FormatError>([&] { decode_ppm(bytes_of(bad)); }), "no error") << bad;
}

TEST(Image, IsToldByItsFirstBytes) {
  const test::Folder folder;
  const Tensor x = sample({3, 4, 5}, uint8);
  io::write_file(folder / "a.dat", encode_png(x));
  expect_same(read_image(folder / "a.dat"), x);
  if (has_jpeg()) EXPECT_EQ(decode_image(bytes_of(encode_jpeg(x)), ImageMode::gray).shape(), (Shape{1, 4, 5}));
  EXPECT_EQ(error_of<FormatError>([&] { decode_image(bytes_of("GIF89a")); }),
            "image: expected a PNG, JPEG, WebP, BMP, PPM, PGM or PBM picture, got other bytes");
}

}  // namespace
}  // namespace neura::data
