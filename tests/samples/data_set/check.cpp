// A data set: pictures and classes of a file, and one that was cut off.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "neura/data/image_sets.h"
#include "tests/support/close.h"

namespace neura {
namespace {

TEST(SampleDataSet, ReadsPicturesAndFineClasses) {
  const std::string folder = testing::TempDir() + "/sample_cifar100";
  std::filesystem::create_directories(folder);
  std::string bytes(2 * 3074, '\7');
  bytes[1] = 42, bytes[3074 + 1] = 99, bytes[2 * 3074 - 1] = '\5';
  std::ofstream(folder + "/test.bin", std::ios::binary) << bytes;
  const data::CIFAR100 set(folder, false);
  EXPECT_EQ(set.labels().to_vector<std::int64_t>(), (std::vector<std::int64_t>{42, 99}));
  EXPECT_EQ(set.get(1).first.contiguous().data<std::uint8_t>()[3071], 5);
  std::ofstream(folder + "/test.bin", std::ios::binary) << bytes.substr(1);
  EXPECT_NE(test::error_of<FormatError>([&] { data::CIFAR100(folder, false); }), "no error");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace neura
