// Conversions between all dtypes, and copies that were asked for.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "neura/autograd/autograd.h"
#include "neura/ops/create.h"
#include "neura/ops/to.h"
#include "neura/ops/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

// What an element of `from` becomes, by the stated rules alone, for numbers within range.
Scalar converted_by_rule(Scalar v, DType to) {
  if (to == boolean) return v.real() != 0 || v.imag() != 0;
  if (is_complex(to)) return std::complex<double>(v.real(), v.imag());
  if (category(to) == Category::integer) return v.category() <= Category::integer ? v : Scalar(std::trunc(v.real()));
  return v.real();
}

TEST(Cast, EveryPairOfDtypesInEveryLayout) {
  for (int i = 0; i < kDTypes; ++i)
    for (int j = 0; j < kDTypes; ++j) {
      const DType from = DType(i), to = DType(j);
      SCOPED_TRACE(std::string(name(from)) + " to " + name(to));
      const bool has_sign = from != uint8 && from != boolean && to != uint8;
      const Tensor x = sample({3, 37}, from, {.low = has_sign ? -100. : 0, .high = 100});
      const Tensor want =
          from_loop(x.shape(), to, [&](const Shape& at) { return converted_by_rule(scalar_at(x, at), to); });
      for (const Tensor& laid : layouts(x)) expect_same(laid.to(to), want);
    }
}

TEST(Cast, RoundsHalvesToNearestEven) {
  const Tensor x = tensor(
      std::vector<double>{1 + 0x1p-11, 1 + 3 * 0x1p-11, 65519, 65520, 0x1p-24, 0x1p-25, 1 + 0x1p-8, 1 + 3 * 0x1p-8},
      {8}, {.dtype = float64});
  for (const DType via : {float64, float32}) {
    const Tensor f = x.to(via);
    EXPECT_EQ(f.to(float16).to(float64).to_vector<double>(),
              (std::vector<double>{1, 1 + 0x1p-9, 65504, HUGE_VAL, 0x1p-24, 0, 1 + 0x1p-8, 1 + 3 * 0x1p-8}));
    EXPECT_EQ(f.narrow(0, 6, 2).to(bfloat16).to(float64).to_vector<double>(), (std::vector<double>{1, 1 + 0x1p-6}));
  }
  for (const DType half : {float16, bfloat16})  // there and back
    for (int bits = 0; bits < 0x7c00; bits += 7) {
      const std::uint16_t b = std::uint16_t(bits);
      Tensor h = zeros({1}, {.dtype = half});
      std::memcpy(h.raw_data(), &b, 2);
      const Tensor back = h.to(float32).to(half);
      ASSERT_EQ(std::memcmp(back.const_raw_data(), &b, 2), 0) << name(half) << ' ' << bits;
    }
}

TEST(Cast, WhatIsNotFiniteIsNoCrashAndKeepsItsKindAmongFloats) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const Tensor x = tensor(std::vector<double>{inf, -inf, nan, 1e300, -1e300}, {5}, {.dtype = float64});
  for (int j = 0; j < kDTypes; ++j) {
    const Tensor y = x.to(DType(j));
    if (DType(j) == boolean) EXPECT_EQ(y.to_vector<bool>(), std::vector<bool>(5, true));
    if (!is_floating(DType(j))) continue;
    EXPECT_TRUE(std::isnan(at(y, {2}))) << name(DType(j));
    EXPECT_EQ(at(y, {0}), inf);
    EXPECT_EQ(at(y, {1}), -inf);
  }
}

// What the processors of PyTorch's answers do with a fraction that does not fit, on each of ours.
TEST(Cast, WhatFitsNoIntegerIsTheLeastOne) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<double> four{inf, -inf, nan, 1e30};
  std::vector<double> many;
  for (int i = 0; i < 40; ++i) many.insert(many.end(), four.begin(), four.end());  // vectors, and a rest
  for (const DType from : {float32, float64, bfloat16, complex64})
    for (const std::vector<double>& v : {four, many}) {
      const Tensor x = tensor(v, {std::int64_t(v.size())}, {.dtype = float64}).to(from);
      for (const Tensor& laid : layouts(x)) {
        EXPECT_EQ(laid.to(int32).to_vector<std::int32_t>(), std::vector<std::int32_t>(v.size(), INT32_MIN));
        EXPECT_EQ(laid.to(int64).to_vector<std::int64_t>(), std::vector<std::int64_t>(v.size(), INT64_MIN));
        EXPECT_EQ(laid.to(int16).to_vector<std::int16_t>(), std::vector<std::int16_t>(v.size(), 0));
        EXPECT_EQ(laid.to(uint8).to_vector<std::uint8_t>(), std::vector<std::uint8_t>(v.size(), 0));
      }
    }
  const Tensor edge = tensor(std::vector<double>{2147483647, -2147483648., 2147483648., -2147483649.5, 9.2e18}, {5},
                             {.dtype = float64});
  EXPECT_EQ(edge.to(int32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{INT32_MAX, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN}));
  EXPECT_EQ(edge.to(int64).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{INT32_MAX, INT32_MIN, 2147483648, -2147483649, 9200000000000000000}));
}

TEST(Cast, WholeNumbersOfInt64SurviveAndWrap) {
  const Tensor x = tensor(std::vector<std::int64_t>{INT64_MAX, INT64_MIN, 257, -129});
  EXPECT_EQ(x.to(uint8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 0, 1, 127}));
  EXPECT_EQ(x.to(int8).to_vector<std::int8_t>(), (std::vector<std::int8_t>{-1, 0, 1, 127}));
  EXPECT_EQ(x.to(int32).to_vector<std::int32_t>(), (std::vector<std::int32_t>{-1, 0, 257, -129}));
}

TEST(Cast, HasTheGradientOfTheSourcesDtype) {
  for (const DType from : {float32, float64, bfloat16, complex64})
    for (const DType to : {float32, float64, float16, complex128}) {
      if (is_complex(from) && !is_complex(to)) continue;  // drops the imaginary part
      Tensor x = sample({3}, from).requires_grad_();
      const Tensor y = x.to(to);
      y.backward(ones({3}, {.dtype = to}));
      EXPECT_EQ(x.grad().dtype(), from);
      expect_close(x.grad(), ones({3}, {.dtype = from}));
    }
  EXPECT_FALSE(sample({2}).requires_grad_().to(int64).requires_grad());
  EXPECT_TRUE(
      gradcheck([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0].to(float64).to(float32)}; },
                {sample({3}, float32).requires_grad_()}, {.eps = 1e-2, .atol = 1e-3}));
}

TEST(Cast, NothingToDoIsNoCopyUnlessAskedFor) {
  const Tensor x = sample({2, 3}, float32).t();
  EXPECT_TRUE(x.to(float32).is_same(x) && x.to(Device()).is_same(x) && x.to("cpu").is_same(x));
  EXPECT_TRUE(to(x, {.dtype = float32, .device = Device()}).is_same(x));
  const Tensor copy = to(x, {.copy = true});
  EXPECT_NE(copy.const_raw_data(), x.const_raw_data());
  EXPECT_EQ(copy.strides(), x.strides());
  expect_same(copy, x);
  expect_same(to(x, {.dtype = float64, .copy = true}), x.to(float64));
  Tensor w = sample({2}).requires_grad_();
  to(w, {.copy = true}).sum().backward();
  EXPECT_TRUE(w.grad().defined());
}

}  // namespace
}  // namespace neura::test
