#include "neura/ops/shape/join.h"

#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"

namespace neura {
namespace {
using test::at;
using test::error_of;
using test::expect_close;
using test::expect_gradients;
using test::expect_same;

Tensor uniform(const Shape& s) { return rand(s, {.dtype = float64}) + 0.5; }
// So large that the result goes past the caches.
TEST(Join, LargePartsKeepTheirPlaces) {
  const Tensor a = rand({1030, 1100}), b = rand({1030, 3001});
  const Tensor y = cat({a, slice(b, 1, 1, 3001), a}, 1);
  for (std::int64_t r = 0; r < 1030; ++r)
    for (std::int64_t i = 0; i < 5200; i += 1 + 5 * (r % 97)) {
      const double want = i < 1100 ? at(a, {r, i}) : i < 4100 ? at(b, {r, i - 1099}) : at(a, {r, i - 4100});
      ASSERT_EQ(at(y, {r, i}), want);
    }
  Tensor z = clone(y);
  slice(z, 0, 0, 1029).copy_(slice(y, 0, 1, 1030));
  ASSERT_EQ(at(z, {0, 5199}), at(y, {1, 5199}));
  ASSERT_EQ(at(z, {1029, 0}), at(y, {1029, 0}));
}

}  // namespace

TEST(Join, CatOfAnyNumberAndLayoutEqualsItsParts) {
  manual_seed(1);
  for (int n : {1, 2, 5, 6, 11, 40})
    for (int dim : {0, 1, 2})
      for (bool recorded : {false, true}) {
        TensorList parts;
        for (int i = 0; i < n; ++i) {
          Shape s{3, 4, 5};
          s[dim] = i % 3;
          Tensor t = i % 2 ? uniform({5, s[1], s[0]}).slice(0, 0, s[2]).transpose(0, 2) : uniform(s);
          if (dim == 2 && i % 2) t = uniform({s[2], 4, 3}).transpose(0, 2);
          parts.push_back(recorded ? t.requires_grad_() : t);
        }
        const Tensor y = cat(parts, dim - 3);
        std::int64_t at = 0;
        for (const Tensor& t : parts) {
          expect_same(contiguous(narrow(y, dim, at, t.size(dim)).detach()), contiguous(t.detach()));
          at += t.size(dim);
        }
        EXPECT_EQ(y.size(dim), at);
        if (n > 1) EXPECT_EQ(y.requires_grad(), recorded);
      }
}

TEST(Join, CatPromotesAndIgnoresTheOldEmptyTensor) {
  EXPECT_EQ(cat({tensor({1, 2}), tensor({1.5})}).dtype(), float32);
  expect_close(cat({tensor({1, 2}), tensor({1.5})}), {1, 2, 1.5});
  EXPECT_EQ(cat({zeros({0}), ones({2, 3})}, 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(cat({zeros({0}), zeros({0})}).shape(), (Shape{0}));
  EXPECT_FALSE(cat({ones({2})}).is_same(ones({2})));
}

TEST(Join, CatNamesWhatDoesNotFit) {
  EXPECT_EQ(error_of<ShapeError>([] {
              cat({ones({2, 3}), ones({2, 4})});
            }),
            "cat: expected tensors of equal sizes except along dimension 0, got float32 [2, 3] and float32 [2, 4]");
  EXPECT_EQ(error_of<ValueError>([] { cat({}); }), "cat: expected at least one tensor, got an empty list");
  EXPECT_EQ(error_of<ShapeError>([] { cat({tensor(1)}); }),
            "cat: expected tensors with dimensions, got a 0-d one; use stack");
  EXPECT_EQ(error_of<ShapeError>([] {
              stack({ones({2}), ones({3})});
            }),
            "stack: expected tensors of equal shapes, got float32 [2] and float32 [3]");
}

TEST(Join, GradientsOfManyPartsOfBothOrders) {
  std::vector<Tensor> seven;
  for (int i = 0; i < 7; ++i) seven.push_back(uniform({2, 1 + i % 3}));
  expect_gradients([](const std::vector<Tensor>& t) { return std::vector<Tensor>{square(cat(t, 1))}; }, seven);
  expect_gradients(
      [](const Tensor& a, const Tensor& b) {
        return square(stack({a, b, a}, 1));
      },
      uniform({2, 3}), uniform({2, 3}));
  expect_gradients(
      [](const Tensor& a, const Tensor& b) {
        return square(block_diag({a, b, a}));
      },
      uniform({2, 3}), uniform({2}));
  expect_gradients([](const Tensor& a) { return square(combinations(a, 2)); }, uniform({4}));
  expect_gradients(
      [](const Tensor& a, const Tensor& b) {
        return square(cartesian_prod({a, b}));
      },
      uniform({4}), uniform({2}));
}

TEST(Join, CombinationsInOrder) {
  expect_close(combinations(tensor({1, 2, 3}), 2), {1, 2, 1, 3, 2, 3});
  expect_close(combinations(tensor({1, 2}), 2, true), {1, 1, 1, 2, 2, 2});
  EXPECT_EQ(combinations(tensor({1, 2}), 3).shape(), (Shape{0, 3}));
  EXPECT_EQ(combinations(arange(6), 3).shape(), (Shape{20, 3}));
}

TEST(Join, SplitsAreViews) {
  Tensor x = arange(10);
  const TensorList parts = tensor_split(x, 3);
  EXPECT_EQ(parts[0].numel(), 4);
  EXPECT_EQ(parts[2].numel(), 3);
  Tensor p = parts[1];
  fill_(p, 0);
  expect_close(x, {0, 1, 2, 3, 0, 0, 0, 7, 8, 9});
  EXPECT_EQ(tensor_split(x, std::vector<std::int64_t>{2, 7, 20}).back().numel(), 0);
  EXPECT_EQ(hsplit(ones({4, 6}), 3)[1].shape(), (Shape{4, 2}));
  EXPECT_EQ(error_of<ShapeError>([] {
              vsplit(ones({4, 6}), 3);
            }),
            "vsplit: expected a size along dimension 0 that is a multiple of 3, got float32 [4, 6]");
}

TEST(Join, MeshgridInBothOrders) {
  const TensorList ij = meshgrid({arange(2), arange(3)}), xy = meshgrid({arange(2), arange(3)}, "xy");
  expect_close(contiguous(ij[0]), {0, 0, 0, 1, 1, 1});
  expect_close(contiguous(xy[0]), {0, 1, 0, 1, 0, 1});
}

}  // namespace neura
