// The kernels of 8-bit integers, for each instruction set of the machine.
#include <cmath>
#include <limits>

#include "neura/backend/cpu/instruction_sets.h"
#include "neura/backend/kernels/quant.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using QuantKernels = Kernels<quant_kernels>;

template <class F> void on_every_target(F f) {
  for (int i = 0; i < cpu_targets(); ++i) {
    SCOPED_TRACE(use_cpu_target(i));
    f();
  }
  use_cpu_target(-1);
}

template <class T> Array<T> bytes(const Shape& sizes, std::uint64_t seed) {  // half of them at the ends of the range
  Array<T> x(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto drawn = int(seed >> 33 & 255);
    const bool end = seed >> 60 & 1, high = seed >> 61 & 1;
    x.at(i) = !end ? T(drawn) : high ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
  return x;
}
template <class A, class B> std::vector<std::int32_t> product(const Array<A>& a, const Array<B>& b) {
  const std::int64_t m = a.spec().shape[0], k = a.spec().shape[1], n = b.spec().shape[1];
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::int32_t sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += std::int32_t(a.at(i * k + l)) * std::int32_t(b.at(l * n + j));
      y.push_back(sum);
    }
  return y;
}
struct Sizes {
  std::int64_t m, k, n;
};
constexpr Sizes kSizes[] = {{1, 1, 1},    {1, 3, 17},    {2, 4, 16},   {3, 5, 15},   {5, 7, 33},
                            {14, 64, 32}, {15, 63, 31},  {29, 65, 48}, {13, 130, 1}, {1, 257, 65},
                            {43, 9, 100}, {120, 3, 300}, {6, 0, 5}};

TEST_F(QuantKernels, IntegerProductsAreExact) {
  const auto compare = [&]<class A, class B>(A, B) {
    for (const auto [m, k, n] : kSizes) {
      SCOPED_TRACE(testing::Message() << m << ", " << k << ", " << n);
      Array<A> a = bytes<A>({m, k}, std::uint64_t(m + 1));
      Array<B> b = bytes<B>({k, n}, std::uint64_t(n + 7));
      const std::vector<std::int32_t> want = product(a, b);
      Array<std::int32_t> y({m, n}), z({m, n});
      run(&quant_kernels::integer_product, a, b, View(), y);
      ASSERT_EQ(y.values(), want);
      Array<A> far_a = a.spread();
      Array<B> far_b = b.spread();
      run(&quant_kernels::integer_product, far_a, far_b, View(), z);
      ASSERT_EQ(z.values(), want);
      Array<B> turned = b.laid_out({1, std::max<std::int64_t>(k, 1)}, 0, k * n + 8);
      run(&quant_kernels::integer_product, a, turned, View(), z);
      ASSERT_EQ(z.values(), want);
      if constexpr (std::is_same_v<B, std::int8_t>) {
        Array<std::uint8_t> packed(Shape{packed_bytes(k, n)});
        if (!k) continue;
        run(&quant_kernels::integer_pack, turned, packed);
        Array<std::int32_t> w({m, n});
        run(&quant_kernels::integer_product, a, b, packed, w);
        ASSERT_EQ(w.values(), want);
      }
    }
  };
  on_every_target([&] {
    compare(std::uint8_t(), std::int8_t()), compare(std::int8_t(), std::int8_t());
    compare(std::int8_t(), std::uint8_t()), compare(std::uint8_t(), std::uint8_t());
  });
}
TEST_F(QuantKernels, IntegerProductsHoldTheLargestSums) {  // and none is cut off on the way, as by 16 bits
  on_every_target([&] {
    Array<std::uint8_t> a = filled<std::uint8_t>({3, 4096}, 255);
    Array<std::int8_t> b = filled<std::int8_t>({4096, 5}, -128), s = filled<std::int8_t>({3, 4096}, -128);
    Array<std::int32_t> y({3, 5});
    run(&quant_kernels::integer_product, a, b, View(), y);
    EXPECT_EQ(y.values(), std::vector<std::int32_t>(15, 255 * -128 * 4096));
    run(&quant_kernels::integer_product, s, b, View(), y);
    EXPECT_EQ(y.values(), std::vector<std::int32_t>(15, 128 * 128 * 4096));
  });
}
TEST_F(QuantKernels, IntegerProductsOfBatchesBroadcast) {
  Array<std::int8_t> a = bytes<std::int8_t>({3, 5}, 2);
  Array<std::uint8_t> b = bytes<std::uint8_t>({4, 5, 18}, 3);
  Array<std::int32_t> y({4, 3, 18});
  run(&quant_kernels::integer_product, a, b, View(), y);
  for (std::int64_t i = 0; i < 4; ++i) {
    Array<std::uint8_t> one({5, 18});
    for (std::int64_t e = 0; e < one.numel(); ++e) one.at(e) = b.at(i * one.numel() + e);
    const std::vector<std::int32_t> want = product(a, one);
    for (std::int64_t e = 0; e < 54; ++e) ASSERT_EQ(y.at(i * 54 + e), want[std::size_t(e)]);
  }
}
TEST_F(QuantKernels, SameOnAnyNumberOfThreads) {
  Array<std::uint8_t> a = bytes<std::uint8_t>({150, 300}, 2);
  Array<std::int8_t> b = bytes<std::int8_t>({300, 260}, 3);
  Array<float> scale(Shape{260});
  Array<std::int32_t> zero(Shape{260});
  for (int i = 0; i < 260; ++i) scale.at(i) = 1e-5F * float(i + 1), zero.at(i) = i % 7;
  const Quantization q{0, 255, 1};
  expect_same_on_any_threads([&] {
    Array<std::int32_t> y({150, 260});
    run(&quant_kernels::integer_product, a, b, View(), y);
    Array<std::uint8_t> small({150, 260});
    run(&quant_kernels::requantize, y, scale, zero, q, small);
    Array<float> wide({150, 260}), faked({150, 260});
    run(&quant_kernels::dequantize, small, scale, zero, q, wide);
    run(&quant_kernels::fake_quantize, View(), wide, scale, zero, q, faked);
    return y.bytes() + small.bytes() + wide.bytes() + faked.bytes();
  });
}
TEST_F(QuantKernels, OfNothing) {
  Array<std::uint8_t> a({2, 0}), none({0, 3});
  Array<std::int8_t> b({0, 4});
  Array<std::int32_t> y = filled<std::int32_t>({2, 4}, 9), zero({1}, {5}), sums({0, 3});
  run(&quant_kernels::integer_product, a, b, View(), y);
  EXPECT_EQ(y.values(), std::vector<std::int32_t>(8, 0));  // a sum of nothing
  Array<float> x({0, 3}), scale({1}, {0.5F});
  const Quantization q{0, 255};
  run(&quant_kernels::quantize, x, scale, zero, q, none);
  run(&quant_kernels::requantize, sums, scale, zero, q, none);
  run(&quant_kernels::dequantize, none, scale, zero, q, x);
  run(&quant_kernels::fake_quantize, View(), x, scale, zero, q, x);
}

const float kOdd[] = {0,     0.5F,      1.5F,     -0.5F, -2.5F, 3.49F,   1e9F, -1e9F,
                      1e30F, -INFINITY, INFINITY, 7.5F,  -8.5F, 100.25F, -0.F, NAN};
// The rule, in double: x / scale is exact for the scales here.
double steps(float x, double scale, int zero, double low, double high) {
  if (std::isnan(x)) return low;
  return std::min(std::max(std::nearbyint(double(x) / scale) + zero, low), high);
}

TEST_F(QuantKernels, QuantisingFollowsOneRule) {
  Array<float> x({2, 3, 16}), scale({3}, {0.25F, 2, 0.5F}), one({1}, {0.5F});
  Array<std::int32_t> zero({3}, {0, -3, 7}), none({1}, {5});
  for (std::int64_t i = 0; i < x.numel(); ++i) x.at(i) = kOdd[i % 16] * float(1 + i / 16);
  const auto check = [&](Array<float>& s, Array<std::int32_t>& z, const Quantization& q) {
    Array<float> y(x.spec().sizes()), back(x.spec().sizes()), g = eighths(x.spec().sizes()), gx(x.spec().sizes());
    Array<std::int8_t> bytes(x.spec().sizes());
    Array<std::uint8_t> words(x.spec().sizes());
    run(&quant_kernels::fake_quantize, View(), x, s, z, q, y);
    run(&quant_kernels::fake_quantize, g, x, s, z, q, gx);
    run(&quant_kernels::quantize, x, s, z, q, bytes);
    run(&quant_kernels::dequantize, bytes, s, z, q, back);
    const Quantization up{q.low + 20, q.high + 20, q.axis};
    run(&quant_kernels::quantize, x, s, z, up, words);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const std::int64_t place = s.numel() == 1 ? 0 : q.axis == 1 ? i / 16 % 3 : i % 16;
      const double want = steps(x.at(i), s.at(place), z.at(place), double(q.low), double(q.high));
      const double free = std::nearbyint(double(x.at(i)) / s.at(place)) + z.at(place);
      ASSERT_EQ(bytes.at(i), want) << i << ": " << x.at(i);
      ASSERT_EQ(words.at(i), steps(x.at(i), s.at(place), z.at(place), double(up.low), double(up.high))) << i;
      ASSERT_EQ(y.at(i), float((want - z.at(place)) * s.at(place))) << i;
      ASSERT_EQ(back.at(i), y.at(i)) << i;
      ASSERT_EQ(gx.at(i), free >= double(q.low) && free <= double(q.high) ? g.at(i) : 0) << i << ": " << x.at(i);
    }
  };
  on_every_target([&] {
    check(one, none, {-20, 100}), check(one, none, {-8, 7}), check(scale, zero, {-20, 127, 1});
    Array<float> last({16});
    Array<std::int32_t> zeros({16});
    for (int i = 0; i < 16; ++i) last.at(i) = i % 2 ? 0.5F : 4, zeros.at(i) = i - 8;
    check(last, zeros, {-16, 15, 2});
  });
}
TEST_F(QuantKernels, SumsAreRequantisedByOneFloatProduct) {
  Array<std::int32_t> sums({4, 37}), zero({37});
  Array<float> scale(Shape{37});
  std::uint32_t seed = 1;
  for (std::int64_t i = 0; i < sums.numel(); ++i) sums.at(i) = std::int32_t(seed = seed * 1664525u + 1013904223u) >> 8;
  for (int i = 0; i < 37; ++i) scale.at(i) = 1e-5F * float(i + 1), zero.at(i) = i - 3;
  on_every_target([&] {
    Array<std::uint8_t> q({4, 37});
    Array<std::int8_t> p({4, 37});
    run(&quant_kernels::requantize, sums, scale, zero, Quantization{0, 255, 1}, q);
    run(&quant_kernels::requantize, sums, scale, zero, Quantization{-128, 127, 1}, p);
    for (std::int64_t i = 0; i < sums.numel(); ++i) {
      const volatile float product = float(sums.at(i)) * scale.at(i % 37);
      const int all = int(std::nearbyint(product)) + zero.at(i % 37);
      ASSERT_EQ(q.at(i), std::min(std::max(all, 0), 255));
      ASSERT_EQ(p.at(i), std::min(std::max(all, -128), 127));
    }
    Array<float> y({4, 37});
    run(&quant_kernels::dequantize, sums, scale, zero, Quantization{0, 0, 1}, y);
    for (std::int64_t i = 0; i < sums.numel(); ++i)
      ASSERT_EQ(y.at(i), float(sums.at(i) - zero.at(i % 37)) * scale.at(i % 37));
  });
}

}  // namespace
}  // namespace neura::test
