#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "neura/core/file.h"
#include "neura/data/idx.h"
#include "neura/data/mnist.h"
#include "neura/data/png.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::error_of;
using test::expect_same;
using test::Folder;
using test::sample;

std::span<const std::byte> bytes(const std::string& s) { return std::as_bytes(std::span(s)); }
std::string why_idx(const std::string& s) {
  return error_of<FormatError>([&] { parse_idx(bytes(s), "f"); });
}
std::string header(int type, std::initializer_list<std::uint32_t> sizes) {
  std::string s{'\0', '\0', char(type), char(sizes.size())};
  for (std::uint32_t n : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) s.push_back(char(n >> shift & 0xFF));
  return s;
}

TEST(Idx, ComesBackInEveryDTypePlainAndZipped) {
  const Folder folder;
  for (DType d : {uint8, int8, int16, int32, float32, float64})
    for (const char* name : {"a", "a.gz"}) {
      const Tensor t = sample({3, 4, 5}, d, {.low = -100, .high = 100});
      write_idx(folder / name, t.transpose(0, 2));
      expect_same(read_idx(folder / name), t.transpose(0, 2).contiguous());
    }
  EXPECT_NE(error_of<DTypeError>([&] { write_idx(folder / "x", sample({1}, int64)); }), "no error");
}

TEST(Idx, IsBigEndian) {
  const Tensor t = parse_idx(bytes(header(0x0B, {2}) + std::string("\x01\x02\xFF\xFE", 4)));
  EXPECT_EQ(t.to_vector<std::int16_t>(), (std::vector<std::int16_t>{0x102, -2}));
}

TEST(Idx, RefusesDamage) {
  EXPECT_EQ(why_idx(""), "f: expected an idx file, which begins with two zero bytes, a type and a rank; it has others");
  EXPECT_NE(why_idx("hello world"), "no error");
  EXPECT_EQ(why_idx(header(8, {})), "f: expected 1 to 8 dimensions at byte 3, got 0");
  EXPECT_EQ(why_idx(header(8, {3}).substr(0, 6)), "f: the file ends within the sizes");
  EXPECT_EQ(why_idx(header(8, {4}) + "abc"), "f: expected 4 bytes of values, got 3; the file was cut off");
  EXPECT_EQ(why_idx(header(8, {2}) + "abc"), "f: expected the end after 10 bytes, got more");
  EXPECT_NE(why_idx(header(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF})), "no error");
  EXPECT_NE(why_idx(header(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0})), "no error");
  EXPECT_NE(why_idx(header(8, {0xFFFFFFFF})), "no error");
  EXPECT_NE(why_idx(header(8, {1u << 28, 0, 0xF0601000})), "no error");  // found by the fuzzer
}

TEST(Idx, RefusesDamagedGzip) {
  const Folder folder;
  write_idx(folder / "a.gz", sample({1000}, uint8, {.low = 0, .high = 250}));
  const std::string good = io::read_file(folder / "a.gz");
  for (std::size_t n : {std::size_t{2}, std::size_t{12}, good.size() / 2, good.size() - 1})
    EXPECT_NE(why_idx(good.substr(0, n)), "no error") << n;
  std::string flipped = good;
  flipped[good.size() / 2] ^= 0x10;
  EXPECT_NE(why_idx(flipped), "no error");
  flipped = good;
  flipped[good.size() - 6] ^= 1;  // the check sum
  EXPECT_NE(why_idx(flipped), "no error");
}

TEST(Png, ComesBackWithOneToFourChannels) {
  const Folder folder;
  for (std::int64_t channels : {1, 2, 3, 4}) {
    const Tensor t = sample({channels, 5, 7}, uint8, {.low = 0, .high = 255});
    write_png(folder / "a.png", t);
    expect_same(read_png(folder / "a.png"), t);
  }
  const Tensor gray = sample({5, 7}, uint8, {.low = 0, .high = 255});
  write_png(folder / "a.png", gray.t());
  expect_same(read_png(folder / "a.png").select(0, 0), gray.t());
}

TEST(Png, ConvertsToTheModeAskedFor) {
  const Tensor gray = sample({1, 2, 2}, uint8, {.low = 0, .high = 255});
  const std::string file = encode_png(gray);
  const Tensor rgb = decode_png(bytes(file), ImageMode::rgb);
  EXPECT_EQ(rgb.shape(), (Shape{3, 2, 2}));
  for (int c = 0; c < 3; ++c) expect_same(rgb.select(0, c), gray.select(0, 0));
  const Tensor rgba = decode_png(bytes(file), ImageMode::rgb_alpha);
  EXPECT_EQ(rgba.size(0), 4);
  EXPECT_EQ(rgba.select(0, 3).contiguous().data<std::uint8_t>()[0], 255);
  EXPECT_EQ(decode_png(bytes(encode_png(rgb)), ImageMode::gray).shape(), (Shape{1, 2, 2}));
}

TEST(Png, RefusesDamage) {
  const auto why = [](const std::string& s) {
    return error_of<FormatError>([&] { decode_png(bytes(s), ImageMode::unchanged, "f"); });
  };
  const std::string good = encode_png(sample({3, 20, 20}, uint8, {.low = 0, .high = 255}));
  EXPECT_EQ(why("hello").rfind("f: expected a PNG picture (", 0), 0u);
  EXPECT_NE(why(""), "no error");
  for (std::size_t n : {std::size_t{10}, std::size_t{40}, good.size() / 2})
    EXPECT_NE(why(good.substr(0, n)), "no error") << n;
  std::string huge = good;  // 2^31 - 1 pixels wide: the check sum of the header is wrong as well
  std::memcpy(huge.data() + 16, "\x7F\xFF\xFF\xFF", 4);
  EXPECT_NE(why(huge), "no error");
  EXPECT_NE(error_of<DTypeError>([] { encode_png(sample({1, 2, 2})); }), "no error");
  EXPECT_NE(error_of<ShapeError>([] { encode_png(sample({5, 2, 2}, uint8)); }), "no error");
  EXPECT_NE(error_of<ShapeError>([] { encode_png(sample({1, 0, 2}, uint8)); }), "no error");
}

TEST(MNIST, ReadsItsFourFiles) {
  const Folder folder;
  const Tensor images = sample({6, 4, 5}, uint8, {.low = 0, .high = 255}),
               labels = sample({6}, uint8, {.low = 0, .high = 10});
  write_idx(folder / "t10k-images-idx3-ubyte.gz", images);
  write_idx(folder / "t10k-labels-idx1-ubyte", labels);
  const MNIST set({.root = folder.path(), .train = false});
  EXPECT_EQ(set.size(), 6);
  EXPECT_EQ(set.images().shape(), (Shape{6, 1, 4, 5}));
  EXPECT_EQ(set.labels().dtype(), int64);
  const auto [image, label] = set.get(2);
  expect_same(image.select(0, 0), images.select(0, 2));
  EXPECT_EQ(label, labels.data<std::uint8_t>()[2]);
  EXPECT_EQ(set.classes().size(), 10u);
  EXPECT_EQ(error_of<IoError>([&] { MNIST({.root = folder.path()}); }),
            "no train-images-idx3-ubyte and no train-images-idx3-ubyte.gz in \"" + folder.path() + "\"");
  write_idx(folder / "t10k-labels-idx1-ubyte", sample({5}, uint8));
  EXPECT_EQ(error_of<FormatError>([&] { MNIST({.root = folder.path(), .train = false}); }),
            (folder / "t10k-labels-idx1-ubyte") + ": expected a label for each of 6 pictures, got uint8 [5]");
}

TEST(FashionMNIST, ReadsDebiansPackageOrNamesIt) {
  if (::access("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz", F_OK) != 0) {
    const std::string error = error_of<IoError>([] { FashionMNIST(); });
    EXPECT_NE(error.find("apt install dataset-fashion-mnist"), std::string::npos) << error;
    GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  }
  const FashionMNIST set({.train = false});
  EXPECT_EQ(set.size(), 10000);
  EXPECT_EQ(set.images().shape(), (Shape{10000, 1, 28, 28}));
  EXPECT_EQ(set.classes()[std::size_t(set.get(0).second)], "Ankle boot");
}

}  // namespace
}  // namespace neura::data
