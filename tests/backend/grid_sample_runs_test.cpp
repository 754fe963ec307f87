// Sampling in planes against plain loops: small and odd sizes, all options, points far outside, every instruction set.
#include <cmath>
#include <limits>

#include "neura/backend/cpu/instruction_sets.h"
#include "neura/backend/kernels/grid_sample.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using GridSampleKernels = Kernels<grid_sample_kernels>;

struct EveryTarget {
  template <class F> explicit EveryTarget(const F& f) {
    for (int t = 0; t < cpu_targets(); ++t) {
      SCOPED_TRACE(use_cpu_target(t));
      f();
    }
  }
  ~EveryTarget() { use_cpu_target(-1); }
};

double keys(double x) {
  constexpr double a = -0.75;
  x = std::abs(x);
  return x <= 1 ? (a + 2) * x * x * x - (a + 3) * x * x + 1 : x < 2 ? a * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}
double moved(double p, double n, const GridSampling& s) {
  if (s.padding == SamplePadding::zeros) return p;
  const double low = s.align_corners ? 0 : -0.5, high = s.align_corners ? n - 1 : n - 0.5;
  if (s.padding == SamplePadding::reflection)
    while (p < low || p > high) p = low == high ? low : p < low ? 2 * low - p : 2 * high - p;
  return std::min(std::max(p, 0.0), n - 1);
}
// The weight of element i of n for a coordinate.
double weight_of(double coordinate, std::int64_t i, double n, const GridSampling& s) {
  const double p = s.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  if (s.mode == Sampling::cubic) {
    double sum = 0;
    for (double at = std::floor(p) - 1; at <= std::floor(p) + 2; ++at)
      if (std::nearbyint(moved(at, n, s)) == double(i)) sum += keys(p - at);
    return sum;
  }
  const double q = moved(p, n, s);
  return s.mode == Sampling::nearest ? std::nearbyint(q) == double(i) : std::max(0.0, 1 - std::abs(q - double(i)));
}
double slope_of(double coordinate, std::int64_t i, double n, const GridSampling& s) {
  constexpr double step = 1e-6;
  if (s.mode == Sampling::nearest) return 0;
  return (weight_of(coordinate + step, i, n, s) - weight_of(coordinate - step, i, n, s)) / (2 * step);
}

template <class T> struct Case : GridSampleKernels {
  void TestBody() override {}
  static constexpr std::int64_t kImages = 2;
  Array<T> x, grid, g;
  std::vector<double> y, gx, ggrid;

  Case(std::int64_t channels, const Shape& image, std::int64_t points, const GridSampling& s)
      : x(eighths<T>({kImages, channels, image[0], image[1]})),
        grid(eighths<T>({kImages, 1, points, 2}, 2)),
        g(eighths<T>({kImages, channels, 1, points}, 3)),
        y(std::size_t(g.numel())),
        gx(std::size_t(x.numel())),
        ggrid(std::size_t(grid.numel())) {
    for (std::int64_t i = 0; i < grid.numel(); ++i)
      grid.at(i) = grid.at(i) / T(i % 3 ? 3.7 : 1.3) + T(0.0137);  // away from kinks
    for (std::int64_t i = 0; i < kImages * points; ++i) add(i / points, i % points, s);
  }
  void add(std::int64_t n, std::int64_t p, const GridSampling& s) {
    const std::int64_t points = grid.spec().shape[2], channels = x.spec().shape[1], at = 2 * (n * points + p);
    const std::int64_t height = x.spec().shape[2], width = x.spec().shape[3];
    std::vector<double> weights, slopes;  // across, then down
    for (std::int64_t j = 0; j < width + height; ++j) {
      const double coordinate = grid.at(at + (j < width ? 0 : 1));
      const std::int64_t i = j < width ? j : j - width, all = j < width ? width : height;
      weights.push_back(weight_of(coordinate, i, double(all), s));
      slopes.push_back(slope_of(coordinate, i, double(all), s));
    }
    for (std::int64_t i = 0; i < height; ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        const double w = weights[std::size_t(j)], v = weights[std::size_t(width + i)];
        const double by_x = slopes[std::size_t(j)], by_y = slopes[std::size_t(width + i)];
        for (std::int64_t c = 0; c < channels; ++c) {
          const std::int64_t pixel = ((n * channels + c) * height + i) * width + j;
          const std::int64_t value = (n * channels + c) * points + p;
          y[std::size_t(value)] += w * v * x.at(pixel), gx[std::size_t(pixel)] += w * v * g.at(value);
          ggrid[std::size_t(at)] += by_x * v * x.at(pixel) * g.at(value);
          ggrid[std::size_t(at + 1)] += w * by_y * x.at(pixel) * g.at(value);
        }
      }
  }
  void holds(const GridSampling& s) const {
    constexpr double close = sizeof(T) == 8 ? 1e-12 : 2e-5, slope = sizeof(T) == 8 ? 1e-6 : 1e-3;
    Array<T> image = x, places = grid, in = g;
    Array<T> out(g.spec().sizes()), of_image(x.spec().sizes()), of_grid(grid.spec().sizes());
    run(&grid_sample_kernels::forward, image, places, out, s);
    run(&grid_sample_kernels::backward, in, image, places, of_image, of_grid, s);
    expect_near(out, y, close), expect_near(of_image, gx, close), expect_near(of_grid, ggrid, slope);
  }
};
template <class T> void equals_loops(const Shape& image) {
  for (const Sampling mode : {Sampling::linear, Sampling::nearest, Sampling::cubic})
    for (const SamplePadding padding : {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection})
      for (const bool corners : {false, true})
        for (const std::int64_t channels : {1, 3, 5, 13})
          for (const std::int64_t points : {3, 81}) {
            SCOPED_TRACE(testing::Message() << "mode " << int(mode) << ", padding " << int(padding) << ", corners "
                                            << corners << ", " << channels << " channels, " << points << " points");
            const GridSampling s{mode, padding, corners};
            const Case<T> one(channels, image, points, s);
            EveryTarget([&] { one.holds(s); });
          }
}
const Shape kImages[] = {{1, 1}, {1, 5}, {6, 1}, {2, 3}, {4, 4}, {7, 9}};

TEST_F(GridSampleKernels, EqualPlainLoopsInFloat) {
  for (const Shape& image : kImages) equals_loops<float>(image);
}
TEST_F(GridSampleKernels, EqualPlainLoopsInDouble) {
  for (const Shape& image : kImages) equals_loops<double>(image);
}
// A run beside the border holds elements that are not of the point.
TEST_F(GridSampleKernels, WhatIsNotOfAPointDoesNotCount) {
  const float infinity = std::numeric_limits<float>::infinity();
  EveryTarget([&] {
    for (const std::int64_t channels : {1, 3}) {
      Array<float> x = filled<float>({1, channels, 5, 5}, 2), grid({1, 1, 20, 2}), y({1, channels, 1, 20}),
                   ggrid = grid;
      for (std::int64_t i = 0; i < x.numel(); ++i)
        if (i % 5 == 3 || i / 5 % 5 == 1) x.at(i) = infinity;
      for (std::int64_t i = 0; i < 20; ++i) grid.at(2 * i) = 0.9f, grid.at(2 * i + 1) = -0.9f;  // 4.25, -0.25
      Array<float> g = filled<float>({1, channels, 1, 20}, 1), gx = x;
      run(&grid_sample_kernels::forward, x, grid, y, GridSampling());
      expect_near(y, std::vector<double>(std::size_t(y.numel()), 2 * 0.75 * 0.75), 1e-5);
      run(&grid_sample_kernels::backward, g, x, grid, gx, ggrid, GridSampling());
      for (const float slope : ggrid.values()) EXPECT_TRUE(std::isfinite(slope));
      for (std::int64_t i = 0; i < g.numel(); ++i) g.at(i) = infinity;
      run(&grid_sample_kernels::backward, g, x, grid, gx, View(), GridSampling());
      for (std::int64_t i = 0; i < gx.numel(); ++i) EXPECT_EQ(gx.at(i), i % 25 == 4 ? infinity : 0) << i;
    }
  });
}
TEST_F(GridSampleKernels, SumsOfOneImageAreTheSameOnAnyNumberOfThreads) {
  for (const std::int64_t channels : {2, 3, 5, 17, 70})
    for (const Sampling mode : {Sampling::linear, Sampling::cubic}) {
      Array<float> x = eighths<float>({1, channels, 21, 30}), grid = eighths<float>({1, 40, 33, 2}, 2);
      Array<float> g = eighths<float>({1, channels, 40, 33}, 3);
      for (std::int64_t i = 0; i < grid.numel(); ++i) grid.at(i) /= 3.1f;
      for (std::int64_t i = 0; i < g.numel(); ++i) g.at(i) /= 3;
      grid.at(100) = std::numeric_limits<float>::quiet_NaN();
      EveryTarget([&] {
        expect_same_on_any_threads([&] {
          Array<float> gx(x.spec().sizes());
          run(&grid_sample_kernels::backward, g, View(), grid, gx, View(), {mode, SamplePadding::zeros, false});
          return gx.bytes();
        });
      });
    }
}

}  // namespace
}  // namespace neura::test
