#include "neura/data/augment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "tests/data/farthest.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::at;
using test::error_of;
using test::expect_same;
using test::farthest;
using test::sample;

Tensor picture(const Shape& sizes) { return sample(sizes, uint8, {.low = 0, .high = 256}); }

TEST(ImageOps, CropsBeyondTheEdge) {
  const Tensor x = test::from_loop({1, 2, 3}, uint8, [](const Shape& i) { return 1 + 3 * i[1] + i[2]; });
  const Tensor want = test::from_loop(
      {1, 4, 2}, uint8, [](const Shape& i) { return i[1] == 0 || i[1] == 3 || i[2] == 1 ? 0 : 3 * i[1]; });
  expect_same(crop(x, -1, 2, 4, 2), want);
  expect_same(center_crop(x, 2, 1), x.narrow(2, 1, 1));
  EXPECT_EQ(error_of<ValueError>([&] { crop(x, 0, 0, 0, 1); }),
            "crop: expected a height and width above 0, got 0 and 1");
  EXPECT_EQ(error_of<ShapeError>([&] {
              invert(sample({2, 2}));
            }),
            "invert: expected [..., channels, height, width] with pixels, got [2, 2]");
}

TEST(ImageOps, RotateByRightAnglesExactly) {
  const Tensor square = picture({2, 3, 5, 5}), wide = sample({3, 4, 6});
  expect_same(rotate(square, 90), rot90(square, 1, {-2, -1}));
  expect_same(rotate(square, -270), rot90(square, 1, {-2, -1}));
  expect_same(rotate(wide, 180), flip(wide, {1, 2}));
  expect_same(rotate(wide, 90, true), rot90(wide, 1, {-2, -1}));
  EXPECT_EQ(rotate(wide, 30, true).shape(), (Shape{3, 8, 8}));
  EXPECT_LT(farthest(rotate(sample({1, 5, 5}), 90.0000001), rotate(sample({1, 5, 5}), 90)), 1e-4);  // one formula
}

TEST(ImageOps, AffineMovesAndScales) {
  const Tensor x = picture({3, 6, 8});
  const Tensor moved = affine(x, 0, {2, -1}, 1, {0, 0}, {.fill = {5}});
  expect_same(moved.narrow(1, 0, 5).narrow(2, 2, 6), x.narrow(1, 1, 5).narrow(2, 0, 6));
  EXPECT_EQ(at(moved, {0, 5, 4}), 5);
  EXPECT_EQ(at(moved, {2, 0, 0}), 5);
  expect_same(affine(x, 0, {0, 0}, 1, {0, 0}), x);
  EXPECT_NE(error_of<ValueError>([&] { affine(x, 0, {0, 0}, 1, {0, 0}, {.fill = {1, 2}}); }), "no error");
}

TEST(ImageOps, ColoursOfKnownPixels) {
  const Tensor red = test::from_loop({3, 1, 1}, uint8, [](const Shape& i) { return i[0] == 0 ? 200 : 50; });
  const auto values = [](const Tensor& t) { return t.to_vector<std::uint8_t>(); };
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(values(adjust_brightness(red, 2)), (Bytes{255, 100, 100}));
  EXPECT_EQ(values(invert(red)), (Bytes{55, 205, 205}));
  EXPECT_EQ(values(posterize(red, 1)), (Bytes{128, 0, 0}));
  EXPECT_EQ(values(solarize(red, 100)), (Bytes{55, 50, 50}));
  EXPECT_EQ(values(rgb_to_grayscale(red)), (Bytes{94}));  // 0.2989 * 200 + 0.701 * 50
  EXPECT_EQ(values(adjust_saturation(red, 0)), (Bytes{94, 94, 94}));
  EXPECT_LE(farthest(adjust_hue(red, 1. / 3),
                     test::from_loop({3, 1, 1}, uint8, [](const Shape& i) { return i[0] == 1 ? 200 : 50; })),
            1);
  EXPECT_EQ(values(to_dtype(to_dtype(red, float32, true), uint8, true)), (Bytes{200, 50, 50}));
  EXPECT_EQ(values(autocontrast(red)), values(red));  // one level in each channel
  EXPECT_EQ(error_of<DTypeError>([&] { equalize(red.to(float32)); }),
            "equalize: expected uint8, got float32; use to_dtype(image, uint8, true)");
}

TEST(ColorJitter, DrawsFirstAndThenApplies) {
  const ColorJitter jitter{{0.6, 1.4}, {0.6, 1.4}, {0.6, 1.4}, {-0.1, 0.1}};
  const Tensor x = picture({3, 8, 8});
  Generator a(2), b(2);
  Draws draws(a);
  const ColorJitter::Drawn drawn = jitter.draw(draws);
  ColorJitter own = jitter;
  own.generator = &b;
  expect_same(jitter.apply(x, drawn), own(x));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(drawn.factors[i] >= 0.6 && drawn.factors[i] <= 1.4);
  expect_same(ColorJitter{}(x), x);
  EXPECT_EQ(error_of<ValueError>([&] {
              ColorJitter{.hue = {0, 1}}(x);
            }),
            "ColorJitter: expected a hue of two rising numbers in [-0.5, 0.5], got 0 and 1");
}

TEST(Draws, NormalAndBetaHaveTheirMoments) {
  Generator g(7);
  Draws draws(g);
  constexpr int n = 20000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = draws.normal();
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.03);
  EXPECT_NEAR(squares / n, 1, 0.05);
  for (const auto& [a, b] : {std::pair(0.3, 0.3), std::pair(2., 5.), std::pair(1., 1.)}) {
    sum = squares = 0;
    for (int i = 0; i < n; ++i) {
      const double x = draws.beta(a, b);
      ASSERT_TRUE(x >= 0 && x <= 1);
      sum += x, squares += x * x;
    }
    const double mean = sum / n;
    EXPECT_NEAR(mean, a / (a + b), 0.012);
    EXPECT_NEAR(squares / n - mean * mean, a * b / ((a + b) * (a + b) * (a + b + 1)), 0.006);
  }
  EXPECT_LE(draws.beta(1e-300, 1e-300), 1);
}

TEST(Augmentations, RepeatWithTheirGenerator) {
  const Tensor x = picture({3, 12, 14});
  const auto repeats = [&](auto transform) {
    std::vector<Tensor> rounds[2];
    for (auto& round : rounds) {
      Generator g(11);
      transform.generator = &g;
      for (int i = 0; i < 40; ++i) round.push_back(transform(x));
    }
    bool changed = false;
    for (std::size_t i = 0; i < 40; ++i) {
      expect_same(rounds[0][i], rounds[1][i]);
      changed |= farthest(rounds[0][i], x) > 0;
      ASSERT_EQ(rounds[0][i].shape(), x.shape());
    }
    EXPECT_TRUE(changed);
  };
  repeats(RandomVerticalFlip{});
  repeats(RandomGrayscale{});
  repeats(RandomRotation{{-30, 30}});
  repeats(RandomAffine{{-10, 10}, {{0.1, 0.2}}, {{0.5, 2}}, {{-5, 5, -5, 5}}});
  repeats(RandomErasing{});
  repeats(GaussianBlur{{3, 3}});
  repeats(RandAugment{});
  repeats(TrivialAugmentWide{});
  for (const char* policy : {"imagenet", "cifar10", "svhn"}) repeats(AutoAugment{policy});
}

TEST(CutMix, LabelsAreTheSharesOfPixels) {
  const Tensor x = test::from_loop({3, 1, 10, 10}, float32, [](const Shape& i) { return double(i[0]); });
  const Tensor classes = arange(3);
  Generator g(4);
  for (int i = 0; i < 50; ++i) {
    const auto [images, labels] = CutMix{1, 3, &g}(x, classes);
    EXPECT_NEAR(mean(eq(images.select(0, 1), 1.0).to(float64)).item().real(), at(labels, {1, 1}), 1e-6);
    EXPECT_NEAR(at(labels, {1, 0}) + at(labels, {1, 1}), 1, 1e-6);
  }
  EXPECT_EQ(error_of<ShapeError>([&] {
              CutMix{1, 3, &g}(x, arange(2));
            }),
            "CutMix: expected [n, channels, height, width] and labels [n] or [n, classes], got [3, 1, 10, 10] and [2]");
  EXPECT_EQ(error_of<ValueError>([&] { MixUp{0, 3, &g}(x, classes); }), "MixUp: expected an alpha above 0, got 0");
}

}  // namespace
}  // namespace neura::data
