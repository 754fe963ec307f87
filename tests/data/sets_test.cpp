#include <gtest/gtest.h>

#include <filesystem>

#include "neura/core/file.h"
#include "neura/data/csv.h"
#include "neura/data/image_sets.h"
#include "tests/io/folder.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::error_of;
using test::expect_close;
using test::expect_same;
using test::Folder;
using test::sample;

TEST(Csv, ReadsNumbersAndNames) {
  const Table t = parse_csv("a, b ,c\r\n1,-2.5,+3e2\n\n 4 ,nan,inf\r\n", {.header = true});
  EXPECT_EQ(t.names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(t.values.shape(), (Shape{2, 3}));
  EXPECT_EQ(t.values.data<double>()[1], -2.5);
  EXPECT_EQ(t.values.data<double>()[2], 300);
  expect_close(parse_csv("1;2\n3;4", {.delimiter = ';'}).values, std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(parse_csv("").values.shape(), (Shape{0, 0}));
  const Table marked = parse_csv("\xef\xbb\xbfrent,m2\n1,2", {.header = true});  // a byte order mark
  EXPECT_EQ(marked.names, (std::vector<std::string>{"rent", "m2"}));
  expect_close(parse_csv("\xef\xbb\xbf 1,2").values, std::vector<double>{1, 2});
}

TEST(Csv, SaysWhereItIsWrong) {
  EXPECT_EQ(error_of<FormatError>([] { parse_csv("1,2\n3", {}, "f"); }), "f: line 2: expected 2 numbers, got 1");
  EXPECT_EQ(error_of<FormatError>([] { parse_csv("1,2\n3,x4", {}, "f"); }),
            "f: line 2: expected a number in column 2, got \"x4\"");
  EXPECT_NE(error_of<FormatError>([] { parse_csv("1,,2"); }), "no error");
  EXPECT_NE(error_of<IoError>([] { read_csv("/none.csv"); }), "no error");
}

TEST(Sets, CellsAreReadAsTheyAreQuoted) {
  const Cells c = parse_cells("\xef\xbb\xbfname, \"what, where\" ,n\r\n\"a \"\"b\"\"\", \"two\nlines\",1\r\n\n,,\n",
                              {.header = true});
  EXPECT_EQ(c.names, (std::vector<std::string>{"name", "what, where", "n"}));
  EXPECT_EQ(c.rows, (std::vector<std::vector<std::string>>{{"a \"b\"", "two\nlines", "1"}, {"", "", ""}}));
  const Cells tabs = parse_cells("x\t\ty", {.delimiter = '\t'});
  EXPECT_TRUE(tabs.names.empty());
  EXPECT_EQ(tabs.rows, (std::vector<std::vector<std::string>>{{"x", "", "y"}}));
  EXPECT_TRUE(parse_cells("").rows.empty());
  EXPECT_EQ(parse_cells("a\n\"\"\n").rows, (std::vector<std::vector<std::string>>{{""}}));  // no empty line
  EXPECT_EQ(error_of<FormatError>([] { parse_cells("a,b\n\"x\ny\",1\n2", {}, "f"); }),
            "f: line 4: expected 2 cells, got 1");
  EXPECT_EQ(error_of<FormatError>([] { parse_cells("a\n\"b", {}, "f"); }),
            "f: line 2: expected a quote at the end of the cell, got the end of the text");
  EXPECT_EQ(error_of<FormatError>([] { parse_cells("\"a\"b", {}, "f"); }),
            "f: line 1: expected the end of a cell after its quotes, got \"b\"");
}

TEST(ImageFolder, TakesFoldersAsClasses) {
  const Folder folder;
  const Tensor cat = sample({3, 4, 5}, uint8, {.low = 0, .high = 255}),
               dog = sample({3, 2, 2}, uint8, {.low = 0, .high = 255});
  for (const char* name : {"dog", "cat"}) std::filesystem::create_directory(folder / name);
  write_png(folder / "dog/a.png", dog);
  write_png(folder / "cat/b.png", dog);
  write_png(folder / "cat/a.png", cat);
  io::write_file(folder / "cat/notes.txt", "no picture");
  const ImageFolder set(folder.path());
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"cat", "dog"}));
  expect_same(set.get(0).first, cat);
  EXPECT_EQ(set.get(2).second, 1);
  io::write_file(folder / "cat/b.png", "broken");
  EXPECT_NE(error_of<FormatError>([&] { set.get(1); }), "no error");
  EXPECT_NE(error_of<IoError>([&] { ImageFolder(folder / "cat"); }), "no error");
  EXPECT_NE(error_of<IoError>([&] { ImageFolder(folder / "none"); }), "no error");
}

TEST(Cifar, ReadsItsBatches) {
  const Folder folder;
  std::string bytes;
  for (int i = 0; i < 3; ++i) bytes += std::string(1, char(i + 4)) + std::string(3072, char(i * 50));
  io::write_file(folder / "test_batch.bin", bytes);
  const CIFAR10 set(folder.path(), false);
  EXPECT_EQ(set.images().shape(), (Shape{3, 3, 32, 32}));
  const auto [image, label] = set.get(2);
  EXPECT_EQ(label, 6);
  EXPECT_EQ(image.contiguous().data<std::uint8_t>()[3071], 100);
  io::write_file(folder / "test_batch.bin", bytes.substr(1));
  EXPECT_NE(error_of<FormatError>([&] { CIFAR10(folder.path(), false); }), "no error");
  bytes[0] = 10;
  io::write_file(folder / "test_batch.bin", bytes);
  EXPECT_EQ(error_of<FormatError>([&] { CIFAR10(folder.path(), false); }),
            (folder / "test_batch.bin") + ": expected a class below 10 at byte 0, got 10");
  EXPECT_NE(error_of<IoError>([&] { CIFAR10(folder.path()); }), "no error");
}

}  // namespace
}  // namespace neura::data
