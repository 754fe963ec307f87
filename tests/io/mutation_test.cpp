// Thousands of damaged files: each loads or is refused with a FormatError; none crashes or takes more memory than it
// has bytes. tests/fuzz has the same without an end.
#include <gtest/gtest.h>

#include "neura/io/safetensors.h"
#include "tests/io/mutate.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

TEST(Mutation, OfSafetensorsIsReadOrRefused) {
  Tensor w = test::sample({3, 2});
  w.requires_grad_();
  const std::string files[] = {
      save_bytes({}),
      save_bytes({{"w", w}}),
      save_bytes(
          {{"a", test::sample({2, 3}, complex64)}, {"b", test::sample({5}, boolean)}, {"c", test::sample({}, int64)}},
          {{"author", "Ada"}}),
      save_bytes(
          {{"layer.0.weight", test::sample({4, 1, 2}, bfloat16)}, {"layer.0.bias", test::sample({0, 7}, float64)}}),
  };
  test::Dice dice{2026};
  int read = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string bytes = test::mutate(files[i % 4], dice);
    try {
      std::size_t total = 0;
      for (const auto& [name, t] : load_bytes(std::as_bytes(std::span(bytes)), "cpu").tensors) total += t.nbytes();
      ASSERT_LE(total, bytes.size());
      ++read;
    } catch (const FormatError& e) {
      ASSERT_FALSE(std::string(e.what()).empty());
      ++refused;
    }
  }
  EXPECT_GT(read, 100);  // damage in the values alone goes unseen
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace neura
