// Thousands of damaged idx and PNG files: each is read or refused with a FormatError.
#include <gtest/gtest.h>

#include "neura/core/file.h"
#include "neura/data/idx.h"
#include "neura/data/png.h"
#include "tests/io/folder.h"
#include "tests/io/mutate.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

template <class Read> void expect_read_or_refused(const std::vector<std::string>& files, int count, Read read) {
  test::Dice dice{7};
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    const std::string bytes = test::mutate(files[std::size_t(i) % files.size()], dice);
    try {
      read(std::as_bytes(std::span(bytes)));
    } catch (const FormatError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, count / 4);
}

TEST(Mutation, OfIdxIsReadOrRefused) {
  const test::Folder folder;
  std::vector<std::string> files;
  for (const char* name : {"a", "a.gz"}) {
    write_idx(folder / name, test::sample({5, 4, 3}, uint8));
    files.push_back(io::read_file(folder / name));
    write_idx(folder / name, test::sample({9}, float64));
    files.push_back(io::read_file(folder / name));
  }
  expect_read_or_refused(files, 10000, [](auto bytes) { parse_idx(bytes); });
}

TEST(Mutation, OfPngIsReadOrRefused) {
  std::vector<std::string> files;
  for (std::int64_t channels : {1, 2, 3, 4}) files.push_back(encode_png(test::sample({channels, 6, 5}, uint8)));
  expect_read_or_refused(files, 10000, [](auto bytes) { decode_png(bytes, ImageMode::rgb); });
}

}  // namespace
}  // namespace neura::data
