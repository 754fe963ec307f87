// ImageDecoder: height, width, channels.
#include "neura/data/image.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/onnx/build.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

Tensor bytes_of(const std::string& s) {
  const std::vector<std::int64_t> numbers(reinterpret_cast<const unsigned char*>(s.data()),
                                          reinterpret_cast<const unsigned char*>(s.data()) + s.size());
  return onnx::integers(numbers).to(uint8);
}
Tensor decoded(const std::string& picture, const char* format) {
  return one("ImageDecoder", {bytes_of(picture)}, {attribute("pixel_format", format)}, 20);
}

TEST(ImageDecoder, ChannelsAreLastInTheOrderAsked) {
  const Tensor x = sample({3, 4, 5}, uint8), last = x.permute({1, 2, 0});
  for (const std::string& picture : {data::encode_png(x), data::encode_ppm(x)}) {
    expect_same(one("ImageDecoder", {bytes_of(picture)}, {}, 20), last.contiguous());
    expect_same(decoded(picture, "RGB"), last.contiguous());
    expect_same(decoded(picture, "BGR"), flip(last, {2}).contiguous());
    expect_same(decoded(picture, "Grayscale"), data::in_mode(x, data::ImageMode::gray).permute({1, 2, 0}).contiguous());
  }
  const Tensor gray = sample({1, 4, 5}, uint8);
  expect_same(decoded(data::encode_png(gray), "RGB"), gray.permute({1, 2, 0}).expand({4, 5, 3}).contiguous());
}

TEST(ImageDecoder, WhatIsNoPictureIsEmpty) {
  EXPECT_EQ(decoded("GIF89a", "RGB").shape(), (Shape{0, 0, 3}));
  EXPECT_EQ(decoded("", "Grayscale").shape(), (Shape{0, 0, 1}));
  EXPECT_EQ(decoded(data::encode_png(sample({3, 40, 50}, uint8)).substr(0, 900), "BGR").shape(), (Shape{0, 0, 3}));
}

TEST(ImageDecoder, FormatsThatAreNotReadAreNamed) {
  EXPECT_EQ(error_of<NotImplementedError>([] { decoded(std::string("RIFF\0\0\0\0WEBPVP8 ", 16), "RGB"); }),
            "node \"ImageDecoder_of_y0\" (ImageDecoder): ImageDecoder: pictures of WebP are not read; convert them to "
            "PNG, JPEG, BMP or PNM");
  EXPECT_THROW(decoded(std::string("II*\0", 4), "RGB"), NotImplementedError);
  EXPECT_THROW(decoded(std::string("\0\0\0\x0cjP  \r\n", 10), "RGB"), NotImplementedError);
  EXPECT_THROW(decoded("", "HSV"), ValueError);
  EXPECT_THROW(one("ImageDecoder", {ones({4})}, {}, 20), ShapeError);
}

}  // namespace
}  // namespace neura::test
