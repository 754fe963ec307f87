// Conversions between all dtypes, and copies that were asked for.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/ops/create/create.h"
#include "neura/ops/create/to.h"
#include "neura/ops/shape/view.h"
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
  if (category(to) == Category::integer || is_unsigned_storage(to))
    return v.category() <= Category::integer ? v : Scalar(std::trunc(v.real()));
  return v.real();
}

TEST(Cast, EveryPairOfDtypesInEveryLayout) {
  for (int i = 0; i < kDTypes; ++i)
    for (int j = 0; j < kDTypes; ++j) {
      const DType from = DType(i), to = DType(j);
      SCOPED_TRACE(std::string(name(from)) + " to " + name(to));
      const auto is_unsigned = [](DType d) { return d == uint8 || is_unsigned_storage(d); };
      const bool has_sign = !is_unsigned(from) && from != boolean && !is_unsigned(to);
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

template <class T> void expect_nearest(const Tensor& x, const std::vector<double>& v) {
  using Limits = std::numeric_limits<T>;
  constexpr T half = Limits::max() / 2 + 1;
  std::vector<T> want;
  for (const double e : v)
    want.push_back(e != e                      ? T(0)
                   : e >= double(half) * 2     ? Limits::max()
                   : e < double(Limits::min()) ? Limits::min()
                                               : T(e));
  for (const Tensor& laid : layouts(x)) EXPECT_EQ(laid.to(dtype_of<T>).template to_vector<T>(), want) << x.spec().str();
}
// On every processor and device the same; PyTorch's answer is what the processor does.
TEST(Cast, WhatFitsNoIntegerIsTheNearestOneAndNanIsNought) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<double> some{inf, -inf, nan, 1e30, -1e30, 300, -300, 255, 256, -1, -0.5, 127.5, 128, -128.75, -129};
  std::vector<double> many;
  for (int i = 0; i < 40; ++i) many.insert(many.end(), some.begin(), some.end());  // vectors, and a rest
  for (const DType from : {float32, float64, bfloat16, complex64})
    for (const std::vector<double>& given : {some, many}) {
      const Tensor x = tensor(given, {std::int64_t(given.size())}, {.dtype = float64}).to(from);
      const std::vector<double> v =
          (is_complex(from) ? view_as_real(x).select(-1, 0) : x).to(float64).to_vector<double>();
      expect_nearest<std::uint8_t>(x, v), expect_nearest<std::int8_t>(x, v), expect_nearest<std::int16_t>(x, v);
      expect_nearest<std::int32_t>(x, v), expect_nearest<std::int64_t>(x, v);
    }
  const std::vector<double> ends{2147483647, -2147483648., 2147483648., -2147483649.5, 9.2e18, 0x1p63, -0x1p63};
  const Tensor edge = tensor(ends, {7}, {.dtype = float64});
  expect_nearest<std::int32_t>(edge, ends), expect_nearest<std::int64_t>(edge, ends);
}

TEST(Cast, AnImaginaryNumberIsTrue) {
  const Tensor x = tensor(std::vector<std::complex<double>>{{0, 1}, {0, 0}, {2, 0}}, {3});
  EXPECT_EQ(x.to(boolean).to_vector<bool>(), (std::vector<bool>{true, false, true}));
}

TEST(Cast, CreationRefusesNumbersThatDoNotFit) {
  const auto said = [](const char* what) {
    return std::string(what) + ": expected a number that uint8 holds, got 300";
  };
  Tensor x = zeros({2}, {.dtype = uint8});
  EXPECT_EQ(error_of<ValueError>([] { tensor(300, {.dtype = uint8}); }), said("full"));
  EXPECT_EQ(error_of<ValueError>([] { tensor({1, 300}, {.dtype = uint8}); }), said("tensor"));
  EXPECT_EQ(error_of<ValueError>([] { full({2}, 300, {.dtype = uint8}); }), said("full"));
  EXPECT_EQ(error_of<ValueError>([&] { full_like(x, 300); }), said("full_like"));
  EXPECT_EQ(error_of<ValueError>([&] { x.fill_(300); }), said("fill"));
  EXPECT_EQ(x.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{0, 0}));
  EXPECT_THROW(full({2}, std::nan(""), {.dtype = int64}), ValueError);
  EXPECT_THROW(full({2}, 0x1p63, {.dtype = int64}), ValueError);
  EXPECT_THROW(full({2}, 127.5, {.dtype = int8}), ValueError);
  EXPECT_THROW(full({2}, std::complex<double>(1, 2), {.dtype = float32}), ValueError);
  EXPECT_THROW(tensor(std::vector<std::complex<double>>{{1, 2}}, {.dtype = float64}), ValueError);
  EXPECT_EQ(full({1}, 1.5, {.dtype = uint8}).item<int>(), 1);   // fractions are cut off,
  EXPECT_EQ(full({1}, -1, {.dtype = uint8}).item<int>(), 255);  // one lap is allowed, as in PyTorch
  EXPECT_EQ(full({1}, std::complex<double>(1, 0), {.dtype = float32}).item<float>(), 1);
  EXPECT_TRUE(full({1}, std::complex<double>(0, 2), {.dtype = boolean}).item<bool>());
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
