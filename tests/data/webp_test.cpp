#include "neura/data/webp.h"

#include <gtest/gtest.h>

#include "neura/core/file.h"
#include "neura/data/image.h"
#include "neura/data/image_pipeline.h"
#include "neura/data/image_sets.h"
#include "tests/io/folder.h"
#include "tests/io/mutate.h"
#include "tests/support/close.h"

namespace neura::data {
namespace {

using test::error_of;

// By Pillow: 3 x 2 pixels with alpha, without loss; 20 x 16 of one colour, with loss; two frames of 8 x 8.
const std::string kLossless(
    "\x52\x49\x46\x46\x46\x00\x00\x00\x57\x45\x42\x50\x56\x50\x38\x4c\x39\x00\x00\x00\x2f\x02\x40\x00"
    "\x10\x2f\x40\x90\x6d\x53\x89\x79\xdd\x5f\xe6\x1a\x64\xd2\x36\xed\x5b\xff\x7a\x66\x6d\x62\x1a\x62"
    "\x3a\xb8\xf5\x6f\x89\x40\xd2\xc6\xe6\xe3\xc9\x1f\x98\xf3\x33\xb2\xaa\x4d\x10\x90\x90\x29\x79\xe4"
    "\x8b\x88\xfe\x47\x2c\x00",
    78);
const std::string kLossy(
    "\x52\x49\x46\x46\x48\x00\x00\x00\x57\x45\x42\x50\x56\x50\x38\x20\x3c\x00\x00\x00\x50\x03\x00\x9d"
    "\x01\x2a\x14\x00\x10\x00\x3e\x31\x14\x88\x42\xa2\x21\x21\x18\x04\x00\x20\x03\x04\xa0\x07\x60\x0f"
    "\xc0\x0f\xc0\x00\x15\x62\x00\x00\xfe\xc4\xef\xff\xff\x59\x55\xf2\x54\x7e\xe4\xbf\xff\xf7\x64\xed"
    "\x95\xc8\xff\x78\xd4\x00\x00\x00",
    80);
const std::string kAnimation(
    "\x52\x49\x46\x46\x94\x00\x00\x00\x57\x45\x42\x50\x56\x50\x38\x58\x0a\x00\x00\x00\x02\x00\x00\x00"
    "\x07\x00\x00\x07\x00\x00\x41\x4e\x49\x4d\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x41\x4e\x4d\x46"
    "\x30\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x07\x00\x00\x0a\x00\x00\x02\x56\x50\x38\x20"
    "\x18\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x08\x00\x08\x00\x01\x40\x26\x25\xa4\x00\x03\x70\x00\xfe"
    "\xfd\x36\x68\x00\x41\x4e\x4d\x46\x30\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x07\x00\x00"
    "\x0a\x00\x00\x00\x56\x50\x38\x20\x18\x00\x00\x00\x34\x01\x00\x9d\x01\x2a\x08\x00\x08\x00\x00\x00"
    "\x26\x25\xa4\x00\x03\x70\x00\xfe\xfc\xf4\x00\x00",
    156);

std::span<const std::byte> bytes_of(const std::string& s) { return std::as_bytes(std::span(s)); }
std::vector<int> values(const Tensor& x) {
  const auto* p = x.const_data<std::uint8_t>();
  return {p, p + x.numel()};
}

#define NEEDS_WEBP \
  if (!has_webp()) GTEST_SKIP() << "built without libwebp"

TEST(Webp, WithoutLossIsExactAndOfAnyMode) {
  NEEDS_WEBP;
  const Tensor all = decode_webp(bytes_of(kLossless));
  EXPECT_EQ(all.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(values(all), (std::vector<int>{255, 0, 0,   10, 200, 255, 0,   255, 0, 20,  100, 255,
                                           0,   0, 255, 30, 50,  255, 255, 128, 0, 255, 255, 255}));
  const Tensor colour = decode_webp(bytes_of(kLossless), ImageMode::rgb);  // what was transparent becomes black
  EXPECT_EQ(values(colour), (std::vector<int>{255, 0, 0, 10, 200, 255, 0, 128, 0, 20, 100, 255, 0, 0, 0, 30, 50, 255}));
  const Tensor gray = decode_image(bytes_of(kLossless), ImageMode::gray);
  EXPECT_EQ(gray.shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(values(gray), (std::vector<int>{76, 75, 0, 18, 124, 255}));
  EXPECT_EQ(values(decode_image(bytes_of(kLossless), ImageMode::gray_alpha).select(0, 1).contiguous()),
            (std::vector<int>{255, 128, 0, 255, 255, 255}));
}

TEST(Webp, WithLossIsWhatPillowReads) {
  NEEDS_WEBP;
  const Tensor x = decode_image(bytes_of(kLossy));
  ASSERT_EQ(x.shape(), (Shape{3, 16, 20}));
  std::vector<int> expected;  // Pillow's pixels: the last block has another blue in its lower half
  for (const int value : {201, 100, 50}) expected.insert(expected.end(), 320, value);
  for (std::size_t row = 8; row < 16; ++row) std::fill_n(expected.begin() + 640 + std::ptrdiff_t(row) * 20 + 16, 4, 48);
  EXPECT_EQ(values(x), expected);
  EXPECT_EQ(decode_webp(bytes_of(kLossy), ImageMode::rgb_alpha).shape(), (Shape{4, 16, 20}));
}

TEST(Webp, IsAPictureOfFoldersAndPipelines) {
  NEEDS_WEBP;
  const test::Folder folder;
  std::filesystem::create_directories(folder / "a");
  io::write_file(folder / "a/1.webp", kLossy);
  EXPECT_EQ(ImageFolder(folder.path()).get(0).first.shape(), (Shape{3, 16, 20}));
  const ImagePipeline p{.height = 8, .width = 8, .random_crop = false, .dtype = uint8};
  EXPECT_EQ(values(p.read(folder / "a/1.webp").select(0, 1).contiguous()), std::vector<int>(64, 100));
}

TEST(Webp, RefusesWhatItCannotRead) {
  if (!has_webp()) {
    EXPECT_EQ(error_of<NotImplementedError>([] { decode_image(bytes_of(kLossy)); }),
              "image: expected a library built with libwebp to read WebP, got one without; install it and build Neura "
              "again");
    return;
  }
  EXPECT_EQ(error_of<FormatError>([] { decode_webp(bytes_of("no picture at all, but text")); }),
            "webp: expected a WebP picture");
  EXPECT_EQ(error_of<FormatError>([] { decode_webp({}); }), "webp: expected a WebP picture");
  EXPECT_EQ(error_of<FormatError>([] { decode_image(bytes_of(kAnimation), ImageMode::rgb, false, "a.webp"); }),
            "a.webp: expected a WebP picture, got an animation; take one of its frames");
  for (const std::string& whole : {kLossless, kLossy})
    for (std::size_t n = 0; n + 4 < whole.size(); ++n)
      EXPECT_THROW(decode_webp(bytes_of(whole.substr(0, n))), FormatError) << n;
  std::string vast = kLossless;  // 14 bits of width and of height, less 1, after the signature
  for (const std::size_t at : {21u, 22u, 23u}) vast[at] = char(0xff);
  vast[24] = char(vast[24] | 0x0f);
  EXPECT_NE(error_of<FormatError>([&] {
              decode_webp(bytes_of(vast));
            }).find("expected a picture that its 78 bytes can hold, got 16384 x 16384"),
            std::string::npos);
}

TEST(Webp, ThousandsOfDamagedOnesAreReadOrRefused) {
  NEEDS_WEBP;
  test::Dice dice{7};
  int refused = 0;
  const std::array<std::string, 3> files{kLossless, kLossy, kAnimation};
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::string bytes = test::mutate(files[i % files.size()], dice);
    try {
      decode_webp(bytes_of(bytes), i % 2 ? ImageMode::rgb : ImageMode::unchanged);
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 750);
}

}  // namespace
}  // namespace neura::data
