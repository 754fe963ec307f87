// Sampling at points: against sums over the whole image, gradients of both orders, edges, errors.
#include "neura/ops/spatial/grid_sample.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/ops/arguments.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/refusals.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

const char* const kModes[] = {"bilinear", "nearest", "bicubic"};
const char* const kPaddings[] = {"zeros", "border", "reflection"};

double cubic(double x) {
  constexpr double a = -0.75;
  x = std::abs(x);
  return x <= 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1 : x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}
// Moves p inside by folding it at the ends, one fold after the other.
double inside(double p, double n, const std::string& padding, bool corners) {
  if (padding == "zeros") return p;
  const double low = corners ? 0 : -0.5, high = corners ? n - 1 : n - 0.5;
  if (padding == "reflection")
    while (p < low || p > high) p = low == high ? low : p < low ? 2 * low - p : 2 * high - p;
  return std::min(std::max(p, 0.0), n - 1);
}
// The weight of element i for a coordinate of the grid.
double weight(double coordinate, std::int64_t i, double n, const GridSampleOptions& o) {
  const double p = o.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  const std::string padding(o.padding_mode);
  if (o.mode == "bicubic") {
    double sum = 0;
    for (double at = std::floor(p) - 1; at <= std::floor(p) + 2; ++at)
      if (inside(at, n, padding, o.align_corners) == double(i)) sum += cubic(p - at);
    return sum;
  }
  const double q = inside(p, n, padding, o.align_corners);
  return o.mode == "nearest" ? std::nearbyint(q) == double(i) : std::max(0.0, 1 - std::abs(q - double(i)));
}
Tensor looped(const Tensor& x, const Tensor& grid, const GridSampleOptions& o) {
  Shape sizes{x.size(0), x.size(1)}, image;
  for (int d = 2; d < x.dim(); ++d) sizes.push_back(grid.size(d - 1)), image.push_back(x.size(d));
  return from_loop(sizes, x.dtype(), [&](const Shape& i) {
    double sum = 0;
    for_each_index(image, [&](const Shape& element) {
      Shape from{i[0], i[1]}, point{i[0]};
      for (int d = 0; d < image.size(); ++d) from.push_back(element[d]), point.push_back(i[d + 2]);
      double w = 1;
      for (int d = 0; d < image.size(); ++d) {
        Shape coordinate = point;
        coordinate.push_back(image.size() - 1 - d);
        w *= weight(at(grid, coordinate), element[d], double(image[d]), o);
      }
      sum += w * at(x, from);
    });
    return sum;
  });
}
Tensor points(const Shape& s, DType d = DType::float64) { return sample(s, d, {.low = -1.7, .high = 1.7, .seed = 5}); }
template <class F> void each_option(F f) {
  for (const char* mode : kModes)
    for (const char* padding : kPaddings)
      for (const bool corners : {false, true}) {
        SCOPED_TRACE(std::string(mode) + ", " + padding + (corners ? ", align_corners" : ""));
        f(GridSampleOptions{mode, padding, corners});
      }
}

TEST(GridSample, EqualsASumOverTheImage) {
  for (const DType d : {DType::float64, DType::float32})
    each_option([&](const GridSampleOptions& o) {
      const Tensor x = sample({2, 3, 4, 6}, d), grid = points({2, 7, 11, 2}, d);
      expect_close(grid_sample(x, grid, o), looped(x, grid, o), {1e-5, d == DType::float64 ? 1e-9 : 1e-4});
      if (o.mode == "bicubic") return;
      const Tensor volume = sample({2, 2, 3, 1, 5}, d), in_space = points({2, 2, 3, 4, 3}, d);
      expect_close(grid_sample(volume, in_space, o), looped(volume, in_space, o), {1e-5, 1e-4});
    });
}
TEST(GridSample, HalvesAreComputedInFloat) {
  const Tensor x = sample({1, 2, 3, 4}, DType::bfloat16), grid = points({1, 4, 5, 2}, DType::bfloat16);
  const Tensor wide = grid_sample(x.to(DType::float32), grid.to(DType::float32));
  expect_same(grid_sample(x, grid), wide.to(DType::bfloat16));
  Tensor leaf = grid.detach().requires_grad_();
  grid_sample(x, leaf).sum().backward();
  EXPECT_EQ(leaf.grad().dtype(), DType::bfloat16);
}
TEST(GridSample, EveryLayoutIsRead) {
  const Tensor x = sample({2, 3, 4, 5}), grid = points({2, 3, 4, 2}, DType::float32);
  const Tensor want = grid_sample(x, grid);
  for (const Tensor& a : layouts(x))
    for (const Tensor& b : layouts(grid)) expect_same(grid_sample(a, b), want);
}
TEST(GridSample, GradientsOfBothOrders) {
  each_option([&](const GridSampleOptions& o) {
    const auto f = [&](const Tensor& x, const Tensor& grid) { return grid_sample(x, grid, o); };
    const Tensor x = sample({1, 2, 3, 4}, DType::float64), grid = points({1, 2, 3, 2});
    if (o.mode == "nearest") return expect_gradients([&](const Tensor& a) { return f(a, grid); }, x);
    expect_gradients(f, x, grid);
    if (o.mode == "bicubic") return;
    expect_gradients(f, sample({1, 1, 2, 3, 3}, DType::float64), points({1, 1, 2, 2, 3}));
  });
}
// Images of many channels are read by other code than those of few.
TEST(GridSample, ManyChannelsAreAsEachByItself) {
  const Tensor grid = sample({2, 13, 11, 2}) * 1.3;
  for (const std::int64_t channels : {8, 9, 35, 67})
    for (const char* mode : kModes)
      for (const char* padding : kPaddings) {
        const GridSampleOptions o{.mode = mode, .padding_mode = padding, .align_corners = false};
        SCOPED_TRACE(std::string(mode) + " " + padding + " " + std::to_string(channels));
        const Tensor x = sample({2, channels, 9, 8}).requires_grad_(), g = grid.clone().requires_grad_();
        const Tensor y = grid_sample(x, g, o), up = sample(y.shape());
        y.backward(up);
        Tensor of_grid = zeros_like(grid);
        for (std::int64_t c = 0; c < channels; ++c) {
          const Tensor one = x.detach().narrow(1, c, 1).clone().requires_grad_(), h = grid.clone().requires_grad_();
          const Tensor each = grid_sample(one, h, o);
          each.backward(up.narrow(1, c, 1));
          expect_close(y.detach().narrow(1, c, 1), each.detach(), {1e-5, 1e-5});
          expect_close(x.grad().narrow(1, c, 1), one.grad(), {1e-5, 1e-5});
          of_grid = of_grid + h.grad();
        }
        expect_close(g.grad(), of_grid, {1e-3, 1e-4});
      }
}
TEST(GridSample, NoGradientReachesTheGridOfTheNearest) {
  for (const bool again : {false, true}) {
    Tensor x = sample({1, 1, 3, 3}), grid = points({1, 2, 2, 2}, DType::float32).requires_grad_();
    const Tensor y = grid_sample(x, grid, {.mode = "nearest"});
    expect_same(grad(y.sum(), grid, {}, {.create_graph = again}).detach(), zeros({1, 2, 2, 2}));
  }
}
TEST(GridSample, OutsideOfAllNumbers) {  // NaN means -1; infinities lie outside, or at the border
  const Tensor x = tensor(std::vector<float>{1, 2, 3, 4}, Shape{1, 1, 2, 2});
  const float inf = INFINITY;
  const Tensor grid = tensor(std::vector<float>{NAN, NAN, inf, 0, -inf, -inf}, Shape{1, 1, 3, 2});
  const auto values = [&](const char* padding) { return grid_sample(x, grid, {.padding_mode = padding}); };
  expect_close(values("zeros"), {0.25, 0, 0});
  expect_close(values("border"), {1, 3, 1});
  EXPECT_TRUE(std::isfinite(values("reflection").sum().item<double>()));
  for (const char* padding : kPaddings) {
    Tensor a = x.clone().requires_grad_(), b = grid.clone().requires_grad_();
    grid_sample(a, b, {.padding_mode = padding}).sum().backward();
    EXPECT_TRUE(std::isfinite(a.grad().sum().item<double>())) << padding;
    EXPECT_TRUE(std::isfinite(b.grad().sum().item<double>())) << padding;
  }
}
TEST(GridSample, AnInfinityCountsOnlyWhereItIsSeen) {
  Tensor x = ones({1, 1, 3, 3});
  x.select(3, 0).fill_(INFINITY);
  const Tensor grid = tensor(std::vector<float>{1, 0, 3, 3}, Shape{1, 1, 2, 2});
  expect_close(grid_sample(x, grid, {.align_corners = true}), {1, 0});
}
TEST(GridSample, OfNothing) {
  EXPECT_EQ(grid_sample(ones({0, 2, 3, 3}), ones({0, 4, 5, 2})).shape(), (Shape{0, 2, 4, 5}));
  EXPECT_EQ(grid_sample(ones({1, 0, 3, 3}), ones({1, 4, 5, 2})).shape(), (Shape{1, 0, 4, 5}));
  Tensor x = ones({1, 2, 3, 3}).requires_grad_();
  const Tensor y = grid_sample(x, ones({1, 0, 5, 2}));
  EXPECT_EQ(y.shape(), (Shape{1, 2, 0, 5}));
  y.sum().backward();
  expect_same(x.grad(), zeros({1, 2, 3, 3}));
}
TEST(GridSample, NumbersMeanTheWords) {
  const Tensor x = sample({1, 2, 3, 4}), grid = points({1, 2, 3, 2}, DType::float32);
  const Tensor volume = sample({1, 2, 3, 4, 2}), in_space = points({1, 2, 3, 1, 3}, DType::float32);
  for (int mode = 0; mode < 3; ++mode)
    for (int padding = 0; padding < 3; ++padding) {
      const GridSampleOptions o{kModes[mode], kPaddings[padding], true};
      expect_same(grid_sampler_2d(x, grid, mode, padding, true), grid_sample(x, grid, o));
      expect_same(grid_sampler(x, grid, mode, padding, true), grid_sample(x, grid, o));
      if (mode < 2)
        expect_same(grid_sampler_3d(volume, in_space, mode, padding, true), grid_sample(volume, in_space, o));
    }
}
TEST(GridSample, Refusals) {
  const Tensor x = ones({1, 2, 3, 3}), grid = ones({1, 2, 2, 2});
  expect_refusals<ShapeError>(
      {{"grid_sample: expected an input [N, C, H, W]",
        [&] {
          grid_sample(x, ones({2, 2, 2, 2}));
        }},
       {"grid_sample: expected an input [N, C, H, W]",
        [&] {
          grid_sample(x, ones({1, 2, 2, 3}));
        }},
       {"grid_sample: expected an input [N, C, H, W]", [&] { grid_sample(ones({3}), grid); }},
       {"grid_sample: expected an image with no size of 0",
        [&] {
          grid_sample(ones({1, 2, 0, 3}), grid);
        }},
       {"grid_sampler_3d: expected an input of 5", [&] { grid_sampler_3d(x, grid, 0, 0, true); }}});
  expect_refusals<DTypeError>({{"grid_sample: expected an input and a grid of one floating dtype",
                                [&] { grid_sample(x, grid.to(DType::float64)); }},
                               {"grid_sample: expected an input and a grid of one floating dtype",
                                [&] { grid_sample(x.to(DType::int64), grid.to(DType::int64)); }}});
  expect_refusals<ValueError>({{"grid_sample: expected a mode of bilinear, nearest, bicubic, got best",
                                [&] { grid_sample(x, grid, {.mode = "best"}); }},
                               {"grid_sample: expected a padding_mode of zeros, border, reflection, got wrap",
                                [&] { grid_sample(x, grid, {.padding_mode = "wrap"}); }},
                               {"grid_sample: expected two spatial dimensions for mode bicubic",
                                [&] {
                                  grid_sample(ones({1, 1, 2, 2, 2}), ones({1, 1, 1, 1, 3}), {.mode = "bicubic"});
                                }},
                               {"grid_sampler_2d: expected interpolation_mode to be 0, 1 or 2, got 3",
                                [&] { grid_sampler_2d(x, grid, 3, 0, true); }},
                               {"grid_sampler_2d: expected padding_mode to be 0, 1 or 2, got -1",
                                [&] { grid_sampler_2d(x, grid, 0, -1, true); }},
                               {"grid_sample: expected a tensor as grid, got none", [&] { grid_sample(x, {}); }}});
}

template <Tensor (*f)(const Tensor&, const Tensor&, std::int64_t, std::int64_t, bool)>
Tensor numbered(const Tensor& x, const Arguments& a) {
  return f(x, a.tensor(0, "grid"), a.integer(1, "interpolation_mode", 0), a.integer(2, "padding_mode", 0),
           a.flag(3, "align_corners", false));
}
TEST(GridSample, AnswersArePyTorchs) {
  expect_conformance("grid_sample", {{"grid_sampler_2d", one(&numbered<grid_sampler_2d>)},
                                     {"grid_sampler_3d", one(&numbered<grid_sampler_3d>)},
                                     {"nn.functional.grid_sample", one([](const Tensor& x, const Arguments& a) {
                                        return grid_sample(x, a.tensor(0, "grid"),
                                                           {a.at(1, "mode").word, a.at(2, "padding_mode").word,
                                                            a.flag(3, "align_corners", false)});
                                      })}});
}

TEST(AffineGrid, EqualsPlainLoops) {
  for (const bool corners : {false, true}) {
    const Tensor theta = sample({2, 2, 3}, DType::float64), space = sample({2, 3, 4}, DType::float64);
    const auto centre = [&](std::int64_t i, double n) {
      return n == 1 ? 0 : corners ? 2 * double(i) / (n - 1) - 1 : (2 * double(i) + 1) / n - 1;
    };
    expect_close(affine_grid(theta, {2, 5, 3, 4}, corners),
                 from_loop({2, 3, 4, 2}, DType::float64, [&](const Shape& i) {
                   return at(theta, {i[0], i[3], 0}) * centre(i[2], 4) + at(theta, {i[0], i[3], 1}) * centre(i[1], 3) +
                          at(theta, {i[0], i[3], 2});
                 }));
    expect_close(affine_grid(space, {2, 5, 3, 1, 2}, corners),
                 from_loop({2, 3, 1, 2, 3}, DType::float64, [&](const Shape& i) {
                   return at(space, {i[0], i[4], 0}) * centre(i[3], 2) + at(space, {i[0], i[4], 2}) * centre(i[1], 3) +
                          at(space, {i[0], i[4], 3});
                 }));
  }
}
TEST(AffineGrid, TheIdentityGivesTheImageBack) {
  const Tensor x = sample({1, 2, 5, 7}), identity = tensor(std::vector<float>{1, 0, 0, 0, 1, 0}, Shape{1, 2, 3});
  for (const bool corners : {false, true})
    expect_close(grid_sample(x, affine_grid(identity, x.shape(), corners), {.align_corners = corners}), x,
                 {1e-5, 1e-5});
}
TEST(AffineGrid, Refusals) {
  const Tensor theta = ones({1, 2, 3});
  expect_refusals<ShapeError>({{"affine_grid: expected a size [N, C, H, W]",
                                [&] {
                                  affine_grid(theta, {1, 2, 3});
                                }},
                               {"affine_grid: expected a size [N, C, H, W]",
                                [&] {
                                  affine_grid(theta, {1, 1, 0, 3});
                                }},
                               {"affine_grid: expected a theta [2, 2, 3]", [&] {
                                  affine_grid(theta, {2, 1, 3, 3});
                                }}});
  expect_refusals<DTypeError>({{"affine_grid: expected a floating theta", [&] {
                                  affine_grid(theta.to(DType::int64), {1, 1, 2, 2});
                                }}});
  EXPECT_THROW(affine_grid(theta, {1, 1, std::int64_t(1) << 40, std::int64_t(1) << 40}), Error);
}

}  // namespace
}  // namespace neura::test
