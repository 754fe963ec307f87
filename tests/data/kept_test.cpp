// Each reader reads the small file of tests/data/files, which make.py there made, and refuses it when it is damaged.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "neura/core/file.h"
#include "neura/data/csv.h"
#include "neura/data/image_sets.h"
#include "neura/data/mnist.h"
#include "neura/data/text.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"

namespace neura::data {
namespace {

namespace fs = std::filesystem;
using test::error_of;

struct Kept : ::testing::Test {
  test::Folder folder;
  void SetUp() override {
    const char* source = std::getenv("NEURA_SOURCE");
    if (!source) GTEST_SKIP() << "NEURA_SOURCE is not set: run it by ctest";
    fs::copy(std::string(source) + "/tests/data/files", folder.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  std::string bytes(const std::string& name) const { return io::read_file(folder / name); }
  void write(const std::string& name, const std::string& text) const { io::write_file(folder / name, text); }
};

TEST_F(Kept, TableIsReadAndRefusedWhenDamaged) {
  const Table t = read_csv(folder / "table.csv", {.header = true});
  EXPECT_EQ(t.names, (std::vector<std::string>{"height", "width"}));
  EXPECT_EQ(t.values.shape(), (Shape{2, 2}));
  EXPECT_EQ(t.values.data<double>()[2], -300);
  EXPECT_TRUE(std::isnan(t.values.data<double>()[3]));
  write("table.csv", bytes("table.csv").substr(0, 22));  // within the last line
  EXPECT_NE(error_of<FormatError>([&] { read_csv(folder / "table.csv", {.header = true}); }).find("line 3"),
            std::string::npos);
}

TEST_F(Kept, PicturesAreReadAndRefusedWhenDamaged) {
  const ImageFolder set(folder / "pictures");
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(set.size(), 2);
  const auto [cat, label] = set.get(0);
  EXPECT_EQ(cat.shape(), (Shape{3, 2, 3}));
  EXPECT_EQ(cat.to_vector<std::uint8_t>(),
            (std::vector<std::uint8_t>{0, 3, 6, 9, 12, 15, 1, 4, 7, 10, 13, 16, 2, 5, 8, 11, 14, 17}));
  EXPECT_EQ(label, 0);
  EXPECT_EQ(set.get(1).second, 1);
  const std::string whole = bytes("pictures/dog/b.png");
  write("pictures/dog/b.png", whole.substr(0, whole.size() - 20));
  EXPECT_NE(error_of<FormatError>([&] { set.get(1); }), "no error");
  std::string changed = whole;
  changed[whole.size() - 18] = char(~changed[whole.size() - 18]);  // of the pixels: their checksum is wrong
  write("pictures/dog/b.png", changed);
  EXPECT_NE(error_of<FormatError>([&] { set.get(1); }), "no error");
}

TEST_F(Kept, MnistIsReadAndRefusedWhenDamaged) {
  const MNIST set({.root = folder / "mnist", .train = false});
  EXPECT_EQ(set.images().shape(), (Shape{3, 1, 2, 2}));
  EXPECT_EQ(set.labels().to_vector<std::int64_t>(), (std::vector<std::int64_t>{7, 0, 9}));
  EXPECT_EQ(set.get(2).first.contiguous().data<std::uint8_t>()[3], 11);
  for (const char* name : {"mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte"}) {
    const std::string whole = bytes(name);
    for (const std::string& damaged : {whole.substr(0, whole.size() - 2), whole + "more", std::string("no")}) {
      write(name, damaged);
      EXPECT_NE(error_of<FormatError>([&] { MNIST({.root = folder / "mnist", .train = false}); }), "no error") << name;
    }
    write(name, whole);
  }
}

TEST_F(Kept, CifarIsReadAndRefusedWhenDamaged) {
  const CIFAR10 set(folder / "cifar", false);
  EXPECT_EQ(set.labels().to_vector<std::int64_t>(), (std::vector<std::int64_t>{4, 5}));
  EXPECT_EQ(set.get(1).first.contiguous().data<std::uint8_t>()[3071], 50);
  write("cifar/test_batch.bin", bytes("cifar/test_batch.bin").substr(0, 6000));
  EXPECT_NE(error_of<FormatError>([&] { CIFAR10(folder / "cifar", false); }), "no error");
}

TEST_F(Kept, ReviewsAreReadAndRefusedWhenDamaged) {
  const TextFolder set(folder / "reviews");
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"neg", "pos"}));
  ASSERT_EQ(set.size(), 3);
  EXPECT_EQ(set.get(0), std::pair(std::string("Dull, and too long.\n"), std::int64_t{0}));
  EXPECT_EQ(set.get(1), std::pair(std::string("Tr\u00e8s beau \u2014 10/10 \U0001f44d\n"), std::int64_t{1}));
  EXPECT_EQ(set.get(2).first, "");
  EXPECT_EQ(TextFolder(folder / "reviews", {"pos", "neg"}).get(2).second, 1);
  EXPECT_EQ(TextFolder(folder / "reviews", {"pos"}).size(), 2);
  write("reviews/pos/0_9.txt", bytes("reviews/pos/0_9.txt").substr(0, 3));  // within a letter
  EXPECT_EQ(error_of<FormatError>([&] { set.get(1); }),
            (folder / "reviews/pos/0_9.txt") + ": expected UTF-8 text, got another byte at 2");
  fs::remove(folder / "reviews/neg/0_2.txt");
  EXPECT_NE(error_of<IoError>([&] { set.get(0); }), "no error");
  EXPECT_NE(error_of<IoError>([&] { TextFolder(folder / "reviews", {"neg"}); }), "no error");
  EXPECT_NE(error_of<IoError>([&] { TextFolder(folder / "reviews", {"none"}); }), "no error");
}

TEST(Utf8, EndsWhereItIsDamaged) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"", 0},
      {"ab", 2},
      {"\xC3\xA9", 2},
      {"a\x80", 1},             // begins within a letter
      {"a\xC3", 1},             // ends within one
      {"\xC0\xAF", 0},          // longer than it needs to be
      {"\xE0\x9F\xBF", 0},      // so is this
      {"\xED\xA0\x80", 0},      // half of a pair of UTF-16
      {"\xEF\xBF\xBF", 3},      //
      {"\xF4\x8F\xBF\xBF", 4},  // the last one
      {"\xF4\x90\x80\x80", 0},  // beyond it
      {"\xF0\x8F\xBF\xBF", 0},  //
      {"\xE2\x82"
       "A",
       0},
  };
  for (const auto& [text, good] : cases) EXPECT_EQ(utf8_prefix(text), good) << text;
}

}  // namespace
}  // namespace neura::data
