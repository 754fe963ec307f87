#include "neura/ops/reduce/hash.h"

#include <gtest/gtest.h>

#include <cstring>

#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/refusals.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

std::int64_t bits_of(Scalar s, DType d) {
  if (is_integral(d)) return std::int64_t(s.real());
  const double value = s.real();
  std::int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

TEST(HashTensor, IsTheExclusiveOrOfAllBits) {
  for (const DType d : {DType::float64, DType::float32, DType::bfloat16, DType::int64, DType::uint8, DType::boolean})
    for (const std::int64_t n : {1, 2, 7, 64}) {
      const Tensor x = sample({3, n}, d);
      std::int64_t all = 0;
      for_each_index(x.shape(), [&](const Shape& i) { all ^= bits_of(scalar_at(x, i), d); });
      for (const Tensor& a : layouts(x)) EXPECT_EQ(hash_tensor(a).item<std::int64_t>(), all) << name(d) << " " << n;
      EXPECT_EQ(hash_tensor(x).dtype(), DType::uint64);
    }
}
TEST(HashTensor, AlongDimensions) {
  const Tensor x = sample({2, 3, 4}, DType::float64);
  const Tensor along = hash_tensor(x, {1}), kept = hash_tensor(x, {0, -1}, {.keepdim = true});
  EXPECT_EQ(along.shape(), (Shape{2, 4}));
  EXPECT_EQ(kept.shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(along.select(0, 1).select(0, 2).item<std::int64_t>(),
            hash_tensor(x.select(0, 1).select(1, 2)).item<std::int64_t>());
  EXPECT_EQ(kept.select(1, 2).item<std::int64_t>(), hash_tensor(x.select(1, 2)).item<std::int64_t>());
}
TEST(HashTensor, OfNothingAndOfOne) {
  EXPECT_EQ(hash_tensor(zeros({0})).item<std::int64_t>(), 0);
  expect_same(hash_tensor(zeros({2, 0}), {1}), zeros({2}, {.dtype = DType::uint64}));
  EXPECT_EQ(hash_tensor(zeros({0, 3}), {1}).shape(), Shape{0});
  Tensor one = tensor({4, 5});
  Tensor same = hash_tensor(unsqueeze(one, 1), {1});
  same.fill_(0);  // memory of its own
  expect_same(one, tensor({4, 5}));
}
TEST(HashTensor, Refusals) {
  expect_refusals<DTypeError>(
      {{"hash_tensor: expected real numbers", [] { hash_tensor(zeros({2}, {.dtype = DType::complex64})); }}});
  expect_refusals<ValueError>({{"hash_tensor: expected mode 0", [] { hash_tensor(zeros({2}), {}, {.mode = 1}); }}});
  expect_refusals<IndexError>({{"hash_tensor: expected", [] { hash_tensor(zeros({2}), {1}); }}});
}

}  // namespace
}  // namespace neura::test
