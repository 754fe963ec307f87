// Consecutive pieces of a dimension, bags of rows, windows at fractional steps.
#include "neura/ops/index/segment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/embedding_bag.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/fractional_pool.h"
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
using test::from_loop;

constexpr double inf = std::numeric_limits<double>::infinity();
Tensor uniform(const Shape& s) { return rand(s, {.dtype = float64}) + 0.5; }

double reduced(std::string_view reduce, const std::vector<double>& v, double initial) {
  double r = initial;
  for (const double x : v) {
    if (reduce == "sum" || reduce == "mean") r += x;
    else if (reduce == "prod") r *= x;
    else r = reduce == "max" ? std::max(r, x) : std::min(r, x);
  }
  return reduce == "mean" && !v.empty() ? r / double(v.size()) : r;
}

TEST(SegmentReduce, EqualsThePlainLoop) {
  const std::int64_t n[] = {2, 0, 3, 1};
  const Tensor x = uniform({2, 6, 3}), lengths = tensor({{2, 0, 3, 1}, {2, 0, 3, 1}}, {.dtype = int32});
  const Tensor offsets = tensor({{0, 2, 2, 5, 6}, {0, 2, 2, 5, 6}});
  for (const char* reduce : {"sum", "mean", "max", "min", "prod"}) {
    const Tensor want = from_loop({2, 4, 3}, float64, [&](const Shape& i) {
      std::int64_t begin = 0;
      for (std::int64_t p = 0; p < i[1]; ++p) begin += n[p];
      std::vector<double> v;
      for (std::int64_t e = 0; e < n[i[1]]; ++e) v.push_back(at(x, {i[0], begin + e, i[2]}));
      return reduced(reduce, v, 0.75);
    });
    expect_close(segment_reduce(x, reduce, {.lengths = lengths, .axis = 1, .initial = 0.75}), want);
    expect_close(segment_reduce(x, reduce, {.offsets = offsets, .axis = -2, .initial = 0.75}), want);
  }
}

TEST(SegmentReduce, OfNothingIsWhereItStarts) {
  const Tensor x = tensor({1., 2., 3.}), lengths = tensor({0, 3});
  EXPECT_TRUE(std::isnan(segment_reduce(x, "mean", {.lengths = lengths})[0].item<double>()));
  expect_close(segment_reduce(x, "sum", {.lengths = lengths}), {0, 6});
  expect_close(segment_reduce(x, "prod", {.lengths = lengths}), {1, 6});
  expect_close(segment_reduce(x, "max", {.lengths = lengths}), {-inf, 3});
  expect_close(segment_reduce(x, "min", {.lengths = lengths}), {inf, 1});
  expect_close(segment_reduce(x, "sum", {.lengths = tensor({1, 1}), .unsafe = true}), {1, 2});
}

TEST(SegmentReduce, Gradients) {
  for (const char* reduce : {"sum", "mean", "max", "min", "prod"})
    expect_gradients(
        [&](const Tensor& x) {
          return segment_reduce(x * x, reduce, {.lengths = tensor({2, 0, 3}), .initial = 0.5});  // else infinite or NaN
        },
        uniform({5, 2}), {.second = std::string_view(reduce) != "prod"});
}

TEST(SegmentReduce, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({4});
  const auto lengths = [](const Tensor& l) { return SegmentOptions{.lengths = l}; };
  EXPECT_EQ(error_of<ValueError>([&] { segment_reduce(x, "median", lengths(tensor({4}))); }),
            "segment_reduce: expected reduce \"sum\", \"mean\", \"max\", \"min\" or \"prod\", got \"median\"");
  EXPECT_EQ(error_of<ValueError>([&] { segment_reduce(x, "sum", {}); }),
            "segment_reduce: expected either lengths or offsets");
  EXPECT_EQ(error_of<ValueError>([&] {
              segment_reduce(x, "sum", lengths(tensor({2, 1})));
            }),
            "segment_reduce: expected lengths that add up to 4, got 3; set unsafe to leave the rest out");
  EXPECT_EQ(error_of<ValueError>([&] {
              segment_reduce(x, "sum", lengths(tensor({5, -1})));
            }),
            "segment_reduce: expected pieces within the 4 elements of the axis, one after the other, got one of length "
            "5 at 0");
  EXPECT_EQ(error_of<ValueError>([&] {
              segment_reduce(x, "sum", {.offsets = tensor({0, 3, 1})});
            }),
            "segment_reduce: expected pieces within the 4 elements of the axis, one after the other, got one of length "
            "-2 at 3");
  EXPECT_EQ(error_of<DTypeError>([&] { segment_reduce(x, "sum", lengths(tensor({4.}))); }),
            "segment_reduce: expected lengths or offsets of int32 or int64, got float32 [1]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              segment_reduce(zeros({2, 4}), "sum", {.lengths = tensor({4}), .axis = 1});
            }),
            "segment_reduce: expected lengths or offsets with the sizes of data before the axis 1 and one for the "
            "pieces, got int64 [1] for data float32 [2, 4]");
}

TEST(EmbeddingBag, EqualsTheRowsThatItReduces) {
  const Tensor weight = uniform({5, 3}), numbers = tensor({1, 4, 4, 0, 2, 1}), offsets = tensor({0, 2, 2, 5});
  const auto row = [&](std::int64_t i) { return weight[numbers[i].item<std::int64_t>()]; };
  const Tensor none = zeros({3}, {.dtype = float64});
  const auto rows = [&](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
    return reshape(cat({a, b, c, d}), {4, 3});
  };
  expect_close(embedding_bag(numbers, weight, offsets, {.mode = "sum"}),
               rows(row(0) + row(1), none, row(2) + row(3) + row(4), row(5)));
  expect_close(embedding_bag(numbers, weight, offsets),
               rows((row(0) + row(1)) / 2, none, (row(2) + row(3) + row(4)) / 3, row(5)));
  expect_close(embedding_bag(numbers, weight, offsets, {.mode = "max"}),
               rows(maximum(row(0), row(1)), none, maximum(maximum(row(2), row(3)), row(4)), row(5)));
  expect_close(embedding_bag(numbers, weight, offsets, {.table = {.padding_idx = -1}}),
               rows(row(0), none, (row(3) + row(4)) / 2, row(5)));
  expect_close(embedding_bag(numbers, weight, tensor({0, 2, 2, 5, 6}), {.mode = "sum", .include_last_offset = true}),
               embedding_bag(numbers, weight, offsets, {.mode = "sum"}));
  expect_close(embedding_bag(numbers.view({2, 3}), weight), embedding_bag(numbers, weight, tensor({0, 3})));
  const Tensor factors = uniform({6});
  expect_close(embedding_bag(numbers, weight, tensor({0}), {.mode = "sum", .per_sample_weights = factors})[0],
               sum(stack({row(0), row(1), row(2), row(3), row(4), row(5)}) * factors.unsqueeze(1), 0));
}

TEST(EmbeddingBag, Gradients) {
  const Tensor numbers = tensor({1, 4, 4, 0, 2, 1}), offsets = tensor({0, 2, 5});
  for (const char* mode : {"sum", "mean", "max"})
    expect_gradients([&](const Tensor& w) { return embedding_bag(numbers, w * w, offsets, {.mode = mode}); },
                     uniform({5, 3}));
  expect_gradients(
      [&](const Tensor& w, const Tensor& factors) {
        return embedding_bag(numbers, w, offsets, {.mode = "sum", .per_sample_weights = factors});
      },
      uniform({5, 3}), uniform({6}));
}

TEST(EmbeddingBag, RefusesWhatDoesNotFit) {
  const Tensor weight = zeros({5, 3}), numbers = tensor({1, 4, 2});
  EXPECT_EQ(error_of<ShapeError>([&] { embedding_bag(numbers, weight); }),
            "embedding_bag: expected indices [bags, n], or vectors of indices and of offsets, got int64 [3] without "
            "offsets");
  EXPECT_EQ(
      error_of<ValueError>([&] {
        embedding_bag(numbers, weight, tensor({0, 4}));
      }),
      "embedding_bag: expected offsets that begin with 0, never fall and stay within 3 numbers, got tensor([0, 4])");
  EXPECT_EQ(
      error_of<ValueError>([&] {
        embedding_bag(numbers, weight, tensor({1, 2}));
      }),
      "embedding_bag: expected offsets that begin with 0, never fall and stay within 3 numbers, got tensor([1, 2])");
  EXPECT_EQ(error_of<ValueError>([&] { embedding_bag(numbers, weight, tensor({0}), {.mode = "min"}); }),
            "embedding_bag: expected mode \"sum\", \"mean\" or \"max\", got \"min\"");
  EXPECT_EQ(
      error_of<ValueError>([&] { embedding_bag(numbers, weight, tensor({0}), {.per_sample_weights = ones({3})}); }),
      "embedding_bag: expected mode \"sum\" with per_sample_weights, got \"mean\"");
  EXPECT_THROW(embedding_bag(tensor({5}), weight, tensor({0})), IndexError);
}

TEST(FractionalPool, WindowsBeginWhereTheSamplesSay) {
  // (torch) starts for size 7, window 2, 3 results: steps of 2.5 from 0.5: (0.5 + i) 2.5 less 1
  const Tensor x = reshape(arange(49, {.dtype = float64}), {1, 1, 7, 7});
  const auto [y, places] = fractional_max_pool2d_with_indices(
      x, 2, {.output_size = 3, .random_samples = full({1, 1, 2}, 0.5, {.dtype = float64})});
  const std::int64_t starts[] = {0, 2, 5};
  expect_close(
      y, from_loop({1, 1, 3, 3}, float64, [&](const Shape& i) { return (starts[i[2]] + 1) * 7 + starts[i[3]] + 1; }));
  expect_same(places.to(float64), y);
  EXPECT_EQ(fractional_max_pool3d_with_indices(uniform({2, 5, 6, 7}), {2, 1, 2}, {.output_ratio = {0.5}}).first.shape(),
            (Shape{2, 2, 3, 3}));
  expect_gradients(
      [&](const Tensor& t) {
        return fractional_max_pool2d_with_indices(t * t, 2, {.output_size = 3, .random_samples = zeros({2, 1, 2})})
            .first;
      },
      uniform({2, 1, 6, 5}));
  EXPECT_EQ(
      error_of<ValueError>([&] { fractional_max_pool2d_with_indices(x, 3, {.output_size = 6}); }),
      "fractional_max_pool2d: expected output_size + kernel_size - 1 to be at most the input's size, got [6, 6] and "
      "[3, 3] for [7, 7]");
  EXPECT_EQ(error_of<ValueError>([&] { fractional_max_pool2d_with_indices(x, INT64_MAX, {.output_size = 2}); }),
            "fractional_max_pool2d: expected kernel_size of at most 2147483647, got [9223372036854775807]");
  EXPECT_EQ(error_of<ValueError>([&] { fractional_max_pool2d_with_indices(x, 2, {.output_size = INT64_MAX}); }),
            "fractional_max_pool2d: expected output_size of at most 2147483647, got [9223372036854775807]");
  EXPECT_EQ(error_of<ValueError>([&] { fractional_max_pool2d_with_indices(x, 3, {}); }),
            "fractional_max_pool2d: expected either output_size or output_ratio");
}

}  // namespace
}  // namespace neura
