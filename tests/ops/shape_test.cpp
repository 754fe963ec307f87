#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/shape.h"

#include <gtest/gtest.h>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"

namespace neura {
namespace {
using test::error_of;
using test::expect_close;
using test::expect_gradients;
using test::expect_same;

Tensor numbers(const Shape& s, DType d = float64) { return reshape(arange(s.numel(), {.dtype = d}), s); }
Tensor uniform(const Shape& s) { return rand(s, {.dtype = float64}) + 0.5; }

// Layouts that show the numbers of x in other orders.
std::vector<Tensor> layouts(const Tensor& x) {
  return {x, x.transpose(0, 1).contiguous().transpose(0, 1), x.permute({2, 0, 1}).contiguous().permute({1, 2, 0}),
          stack({x, x}, 3).select(3, 1)};
}
}  // namespace

TEST(Shape, FlipAndRollEqualIndexing) {
  const Tensor x = numbers({40, 33, 9});
  for (const Tensor& v : layouts(x)) {
    expect_same(flip(v, 1), index_select(x, 1, arange(32, -1, -1)));
    expect_same(flip(v, {0, 2}), index_select(index_select(x, 0, arange(39, -1, -1)), 2, arange(8, -1, -1)));
    expect_same(roll(v, {3}, 0), index_select(x, 0, remainder(arange(40) + 37, 40)));
    expect_same(roll(v, {-1, 34}, {2, 1}),
                index_select(index_select(x, 2, remainder(arange(9) + 1, 9)), 1, remainder(arange(33) + 32, 33)));
  }
  expect_close(roll(numbers({2, 3}), {1}), {5, 0, 1, 2, 3, 4});
  EXPECT_EQ(flip(zeros({0, 3}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(flip(tensor(1.), Dims{}).dim(), 0);
}

TEST(Shape, DiagonalsAreFilledInEveryLayout) {
  for (const Shape& size : {Shape{3, 5}, Shape{5, 3}, Shape{4, 3}, Shape{8, 3}, Shape{9, 2}, Shape{7, 1}, Shape{0, 3}})
    for (const bool wrap : {false, true}) {
      const Tensor x = numbers(size);
      const std::int64_t n = size[1];
      // NumPy's rule for a matrix that wraps: every (n + 1)-th element in order
      const Tensor want = test::from_loop(size, float64, [&](const Shape& i) {
        const std::int64_t at = i[0] * n + i[1];
        return wrap ? at % (n + 1) == 0 ? -1 : double(at) : i[0] == i[1] ? -1 : double(at);
      });
      for (const Tensor& layout : test::layouts(x)) {
        Tensor t = layout;
        expect_same(fill_diagonal_(t, -1, wrap), want);
        EXPECT_EQ(t.impl(), layout.impl());
      }
    }
  Tensor cube = zeros({3, 3, 3});
  fill_diagonal_(cube, 2);
  expect_close(nonzero(cube), {0, 0, 0, 1, 1, 1, 2, 2, 2});
  expect_gradients(
      [](const Tensor& x) {
        Tensor y = x * x;
        return fill_diagonal_(y, 7, true);
      },
      uniform({5, 2}));
  EXPECT_EQ(error_of<ShapeError>([] {
              Tensor t = zeros({2, 3, 2});
              fill_diagonal_(t, 1);
            }),
            "fill_diagonal_: expected a matrix, or more dimensions of one size, got float32 [2, 3, 2]");
  EXPECT_EQ(error_of<ShapeError>([] {
              Tensor t = zeros({3});
              fill_diagonal_(t, 1);
            }),
            "fill_diagonal_: expected a matrix, or more dimensions of one size, got float32 [3]");
}

TEST(Shape, TrianglesOfEveryDiagonalAndLayout) {
  const Tensor x = numbers({3, 5, 4}) + 1;
  for (const Tensor& v : layouts(x))
    for (std::int64_t k = -6; k <= 6; ++k) {
      const Tensor row = reshape(arange(5), {5, 1}), below = arange(4) - row <= k, above = arange(4) - row >= k;
      expect_same(tril(v, k), where(below, x, 0));
      expect_same(triu(v, k), where(above, x, 0));
    }
  Tensor t = ones({3, 3}).t();
  tril_(t);
  expect_close(t, {1, 0, 0, 1, 1, 0, 1, 1, 1});
  EXPECT_EQ(error_of<ShapeError>([] { tril(ones({3})); }), "tril: expected at least two dimensions, got float32 [3]");
}

TEST(Shape, RepeatEqualsIndexing) {
  const Tensor x = numbers({2, 3});
  const Tensor y = repeat(x, {2, 3, 2});
  EXPECT_EQ(y.shape(), (Shape{2, 6, 6}));
  expect_same(contiguous(y.select(0, 1)),
              index_select(index_select(x, 0, remainder(arange(6), 2)), 1, remainder(arange(6), 3)));
  Tensor same = repeat(x, {1, 1});
  fill_(same, 0);
  EXPECT_EQ(x.select(0, 1).select(0, 2).item<double>(), 5);
  Tensor eight = repeat(numbers({2, 2, 2, 2, 2, 2}), {2, 2, 2, 2, 2, 2});  // no room for all repeats at once
  EXPECT_EQ(eight.shape(), (Shape{4, 4, 4, 4, 4, 4}));
  expect_same(
      contiguous(narrow(narrow(eight, 0, 2, 2), 5, 2, 2).slice(1, 0, 2).slice(2, 0, 2).slice(3, 0, 2).slice(4, 2, 4)),
      numbers({2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(tile(x, {2}).shape(), (Shape{2, 6}));
  expect_close(repeat_interleave(tensor({1, 2}), 2), {1, 1, 2, 2});
  expect_close(repeat_interleave(x, tensor({0, 2}), 0), {3, 4, 5, 3, 4, 5});
  expect_close(repeat_interleave(tensor({2, 0, 1})), {0, 0, 2});
}

TEST(Shape, PadsOfEveryMode) {
  const Tensor x = tensor({{1., 2., 3.}});
  expect_close(pad(x, {1, 2}, "constant", 9.), {9, 1, 2, 3, 9, 9});
  expect_close(pad(x, {-1, 1}), {2, 3, 0});
  EXPECT_EQ(error_of<ShapeError>([&] {
              pad(x, {-4, 3});
            }).substr(0, 44),
            "pad: expected to cut off no more than there ");
  expect_close(pad(x, {2, 1}, "reflect"), {3, 2, 1, 2, 3, 2});
  expect_close(pad(x, {2, 1}, "replicate"), {1, 1, 1, 2, 3, 3});
  expect_close(pad(x, {2, 1}, "circular"), {2, 3, 1, 2, 3, 1});
  expect_close(pad(x, {-1, 2}, "circular"), {2, 3, 2, 3});  // cut first: what is gone does not come back
  expect_close(pad(x, {1, -2}, "circular"), {1, 1});
  EXPECT_THROW(pad(x, {-2, 2}, "circular"), ShapeError);
  EXPECT_EQ(pad(zeros({2, 3, 4}), {1, 1, 2, 0}).shape(), (Shape{2, 5, 6}));
  EXPECT_EQ(error_of<ShapeError>([&] { pad(x, {3, 0}, "reflect"); }).substr(0, 30), "pad: expected, for mode reflec");
  EXPECT_EQ(error_of<ValueError>([&] {
              pad(x, {1, 1}, "mirror");
            }),
            "pad: expected mode constant, reflect, replicate or circular, got mirror");
}

TEST(Shape, WindowsAreWritten) {
  const Tensor x = zeros({3, 3});
  expect_close(diagonal_scatter(x, ones({2}), 1), {0, 1, 0, 0, 0, 1, 0, 0, 0});
  expect_close(select_scatter(x, ones({3}), 1, -1), {0, 0, 1, 0, 0, 1, 0, 0, 1});
  expect_close(slice_scatter(x, ones({2, 3}), 0, 0, 3, 2), {1, 1, 1, 0, 0, 0, 1, 1, 1});
  expect_close(diag_embed(tensor({1., 2.}), -1), {0, 0, 0, 1, 0, 0, 0, 2, 0});
  expect_close(diag(tensor({{1, 2}, {3, 4}}), 1), {2});
  EXPECT_EQ(error_of<ShapeError>([&] { slice_scatter(x, ones({3}), 0, 1); }),
            "slice_scatter: expected src of shape [2, 3], got float32 [3]");
}

TEST(Shape, PixelsAndChannelsComeBack) {
  const Tensor x = numbers({2, 8, 3, 5});
  expect_same(contiguous(pixel_unshuffle(pixel_shuffle(x, 2), 2)), x);
  expect_same(contiguous(channel_shuffle(channel_shuffle(x, 2), 4)), x);
  EXPECT_EQ(pixel_shuffle(x, 2).select(0, 0).select(0, 0).select(0, 0).select(0, 1).item<double>(), 15);
  expect_same(rot90(rot90(numbers({2, 3})), 3), numbers({2, 3}));
}

TEST(Shape, GradientsOfBothOrders) {
  const Tensor x = uniform({3, 4}), v = uniform({3});
  expect_gradients([](const Tensor& a) { return square(flip(a, {0, 1})); }, x);
  expect_gradients([](const Tensor& a) { return square(roll(a, {1, -3}, {0, 1})); }, x);
  expect_gradients([](const Tensor& a) { return square(tril(a, 1)); }, x);
  expect_gradients([](const Tensor& a) { return square(repeat(a, {2, 1, 3})); }, x);
  expect_gradients([](const Tensor& a) { return square(repeat_interleave(a, tensor({2, 0, 1}), 0)); }, x);
  expect_gradients([](const Tensor& a) { return square(diag_embed(a, 1)); }, v);
  expect_gradients([](const Tensor& a, const Tensor& b) { return square(diagonal_scatter(a, b)); }, x, v);
  expect_gradients([](const Tensor& a, const Tensor& b) { return square(select_scatter(a, b, 1, 2)); }, x, v);
  expect_gradients([](const Tensor& a) { return square(pad(a, {1, -1, 0, 2}, "constant", 3.)); }, x);
  expect_gradients([](const Tensor& a) { return square(pad(a, {1, 2})); }, x);
  for (const char* mode : {"reflect", "replicate", "circular"})
    expect_gradients([mode](const Tensor& a) { return square(pad(a, {1, 2}, mode)); }, x);
  expect_gradients([](const Tensor& a, const Tensor& b) { return square(kron(a, b)); }, x, uniform({2, 2}));
}

}  // namespace neura
