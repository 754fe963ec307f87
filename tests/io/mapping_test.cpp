// Files that are mapped or lie in memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "neura/core/file.h"
#include "neura/io/safetensors.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/io/folder.h"
#include "tests/io/mapping.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using test::Folder;
using test::lies_in;
using test::sample;

TEST(Mapping, GivesTheSameFromAFileAMappingAndBytes) {
  Folder folder;
  const std::string path = folder / "x.safetensors";
  save(path, {{"weight", sample({70, 33})}, {"flags", ones({3}, {.dtype = boolean})}, {"bias", sample({33})}});
  const std::string bytes = io::read_file(path);
  nn::StateDict read = load(path), mapped = load(path, {}, true);
  const nn::StateDict embedded = load(std::as_bytes(std::span(bytes)));
  ASSERT_EQ(mapped.keys(), read.keys());
  for (const auto& [name, tensor] : read) {
    test::expect_same(mapped.at(name), tensor);
    test::expect_same(embedded.at(name), tensor);
    EXPECT_TRUE(lies_in(mapped.at(name).raw_data(), path)) << name;
    EXPECT_FALSE(lies_in(tensor.raw_data(), path));
  }
  const Tensor x = sample({5, 70});
  test::expect_same(x.matmul(mapped.at("weight")) + mapped.at("bias"), x.matmul(read.at("weight")) + read.at("bias"));
}

TEST(Mapping, KeepsTheFileOfAMappingAsItIs) {
  Folder folder;
  const std::string path = folder / "x.safetensors";
  // Sizes that are no multiple of a vector: whatever is written after one tensor would be seen in the next.
  save(path, {{"a", full({13}, 1.0)}, {"b", full({13}, 2.0)}, {"c", full({5}, 3.0)}});
  const std::string before = io::read_file(path);
  const nn::StateDict mapped = load(path, {}, true);
  Tensor a = mapped.at("a"), b = mapped.at("b");
  add_(a, 10.0);
  b.copy_(sqrt(b));
  test::expect_same(mapped.at("a"), full({13}, 11.0));
  test::expect_same(mapped.at("b"), full({13}, std::sqrt(2.0F)));
  test::expect_same(mapped.at("c"), full({5}, 3.0));
  EXPECT_EQ(io::read_file(path), before);
  EXPECT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(sum(a).item<double>(), 143);  // the mapping outlives the name
}

TEST(Mapping, CopiesWhatIsNotAlignedInAMapping) {
  Folder folder;
  const std::string path = folder / "x.safetensors";
  std::string header = R"({"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},)"
                       R"("x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const float values[] = {1, 2};
  std::string data(9, '\1');
  std::memcpy(data.data() + 1, values, 8);
  const std::uint64_t size = header.size();
  io::write_file(path, std::string(reinterpret_cast<const char*>(&size), 8) + header + data);
  const nn::StateDict mapped = load(path, {}, true);
  EXPECT_TRUE(lies_in(mapped.at("b").raw_data(), path));
  EXPECT_FALSE(lies_in(mapped.at("x").raw_data(), path));
  EXPECT_EQ(mapped.at("x").to_vector<float>(), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace neura
