#include "neura/data/transforms.h"

#include <gtest/gtest.h>

#include <set>

#include "neura/data/augment.h"
#include "neura/data/random.h"
#include "neura/ops/pointwise/composed.h"
#include "tests/support/close.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::data {
namespace {

using test::at;
using test::error_of;
using test::expect_close;
using test::expect_same;
using test::sample;

TEST(ToFloat, ScalesIntegersToOne) {
  const Tensor x = test::from_loop({1, 1, 2}, uint8, [](const Shape& i) { return i[2] * 255; });
  expect_close(ToFloat()(x), std::vector<double>{0, 1});
  EXPECT_EQ(ToFloat{float64}(x).dtype(), float64);
  const Tensor f = sample({1, 2, 2});
  expect_same(ToFloat()(f), f);
}

TEST(Normalize, WorksPerChannel) {
  const Tensor x = sample({2, 3, 2, 2});
  const Tensor want = test::from_loop({2, 3, 2, 2}, float32,
                                      [&](const Shape& i) { return (at(x, i) - double(i[1])) / (1 + double(i[1])); });
  expect_close(Normalize{{0, 1, 2}, {1, 2, 3}}(x), want);
  EXPECT_EQ(error_of<ValueError>([&] {
              Normalize{{0, 1}, {1}}(x);
            }),
            "Normalize: expected mean and std of 1 or 3 numbers, got 2");
  EXPECT_NE(error_of<DTypeError>([&] { Normalize{{0}, {1}}(sample({1, 2, 2}, uint8)); }), "no error");
  EXPECT_NE(error_of<ValueError>([&] { Normalize{{0}, {0}}(x); }), "no error");
}

TEST(RandomHorizontalFlip, FlipsAsOftenAsItSays) {
  const Tensor x = sample({1, 2, 3});
  const Tensor flipped = test::from_loop({1, 2, 3}, float32, [&](const Shape& i) {
    return at(x, {0, i[1], 2 - i[2]});
  });
  expect_same(RandomHorizontalFlip{1}(x), flipped);
  expect_same(RandomHorizontalFlip{0}(x), x);
  Generator own(4);
  int flips = 0;
  for (int i = 0; i < 1000; ++i) flips += at(RandomHorizontalFlip{0.3, &own}(x), {0, 0, 0}) != at(x, {0, 0, 0});
  EXPECT_NEAR(flips, 300, 60);
}

TEST(RandomCrop, ReachesEveryWindow) {
  const Tensor x = test::from_loop({1, 3, 3}, float32, [](const Shape& i) { return 1 + i[1] * 3 + i[2]; });
  Generator own(1);
  std::set<double> corners;
  for (int i = 0; i < 500; ++i) {
    const Tensor y = RandomCrop{2, 2, 0, 0, &own}(x);
    ASSERT_EQ(y.shape(), (Shape{1, 2, 2}));
    EXPECT_EQ(at(y, {0, 1, 1}) - at(y, {0, 0, 0}), 4);
    corners.insert(at(y, {0, 0, 0}));
  }
  EXPECT_EQ(corners, (std::set<double>{1, 2, 4, 5}));
  corners.clear();
  for (int i = 0; i < 500; ++i) corners.insert(at(RandomCrop{3, 3, 1, -1, &own}(x), {0, 0, 0}));
  EXPECT_EQ(corners, (std::set<double>{-1, 1, 2, 4, 5}));
  EXPECT_EQ(error_of<ShapeError>([&] {
              RandomCrop{4, 3}(x);
            }),
            "RandomCrop: expected a picture of 4 x 3 or more with its padding, got [1, 3, 3] with padding 0");
}

TEST(Compose, AppliesOneAfterTheOther) {
  const Tensor x = test::from_loop({1, 1, 1}, uint8, [](const Shape&) { return 255; });
  const auto both = Compose(ToFloat(), Normalize{{0.5}, {0.25}});
  expect_close(both(x), std::vector<double>{2});
}

TEST(Compose, OfRandomTransformsRepeatsWithItsSeed) {
  const Tensor x =
      test::from_loop({3, 12, 14}, uint8, [](const Shape& i) { return (i[0] * 90 + i[1] * 17 + i[2] * 5) % 251; });
  Generator own(0);
  const auto compose = [&](Generator* g) {
    return Compose(RandomCrop{12, 14, 3, -1, g}, RandomHorizontalFlip{0.5, g}, RandomVerticalFlip{0.5, g},
                   ColorJitter{.brightness = {0.5, 1.5}, .contrast = {0.5, 1.5}, .generator = g}, ToFloat(),
                   Normalize{{0.5}, {0.25}});
  };
  const auto run = [&](std::uint64_t seed, bool given) {
    Generator scoped(seed);
    const GeneratorScope scope(scoped);
    own.manual_seed(seed);
    const auto pipeline = compose(given ? &own : nullptr);
    std::vector<Tensor> all;
    for (int i = 0; i < 8; ++i) all.push_back(pipeline(x));
    return all;
  };
  for (const bool given : {false, true}) {
    SCOPED_TRACE(given ? "a generator of its own" : "that of the scope");
    const std::vector<Tensor> once = run(5, given), again = run(5, given), other = run(6, given);
    int different = 0, changing = 0;
    for (std::size_t i = 0; i < once.size(); ++i) {
      ASSERT_EQ(once[i].shape(), x.shape());
      EXPECT_EQ(once[i].dtype(), float32);
      expect_same(once[i], again[i]);
      different += !equal(once[i], other[i]), changing += !equal(once[i], once[0]);
    }
    EXPECT_EQ(different, 8) << "another seed, the same pictures";
    EXPECT_EQ(changing, 7) << "each call draws anew";
  }
}

TEST(Transforms, DrawFromTheGeneratorOfTheScope) {
  const auto draw = [](std::uint64_t seed) {
    Generator g(seed);
    const GeneratorScope scope(g);
    std::vector<double> v;
    for (int i = 0; i < 8; ++i) v.push_back(Draws(generator()).uniform());
    return v;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

}  // namespace
}  // namespace neura::data
