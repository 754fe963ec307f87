#include <cmath>
#include <limits>

#include "neura/backend/cpu/instruction_sets.h"
#include "neura/backend/kernels/grid_sample.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using GridSampleKernels = Kernels<grid_sample_kernels>;

constexpr std::int64_t kN = 2, kChannels = 3, kHeight = 4, kWidth = 8, kRows = 5, kColumns = 30;
const Shape kImage{kN, kChannels, kHeight, kWidth}, kGrid{kN, kRows, kColumns, 2},
    kResult{kN, kChannels, kRows, kColumns};

// f(image, point, row, column, weight of that element) for all elements and points: a tent of height 1 around a point.
template <class F> void tents(const Array<float>& grid, F f) {
  for (std::int64_t n = 0; n < kN; ++n)
    for (std::int64_t p = 0; p < kRows * kColumns; ++p) {
      const std::int64_t at = (n * kRows * kColumns + p) * 2;
      const double x = ((grid.at(at) + 1) * kWidth - 1) / 2, y = ((grid.at(at + 1) + 1) * kHeight - 1) / 2;
      for (std::int64_t i = 0; i < kHeight; ++i)
        for (std::int64_t j = 0; j < kWidth; ++j) {
          const double w = std::max(0.0, 1 - std::abs(y - double(i))) * std::max(0.0, 1 - std::abs(x - double(j)));
          if (w > 0) f(n, p, i * kWidth + j, w);
        }
    }
}
std::int64_t pixel(std::int64_t n, std::int64_t c, std::int64_t at) {
  return (n * kChannels + c) * kHeight * kWidth + at;
}
std::int64_t point(std::int64_t n, std::int64_t c, std::int64_t p) {
  return (n * kChannels + c) * kRows * kColumns + p;
}

TEST_F(GridSampleKernels, SamplesAndTheGradientOfTheImage) {
  Array<float> x = eighths(kImage), grid = eighths(kGrid, 2), y(kResult), g = eighths(kResult, 3), gx(kImage);
  for (std::int64_t i = 0; i < grid.numel(); ++i) grid.at(i) /= 3;  // from -1.3 to 1.3
  std::vector<double> want(std::size_t(y.numel())), want_gx(std::size_t(x.numel()));
  tents(grid, [&](std::int64_t n, std::int64_t p, std::int64_t at, double w) {
    for (std::int64_t c = 0; c < kChannels; ++c) {
      want[std::size_t(point(n, c, p))] += w * x.at(pixel(n, c, at));
      want_gx[std::size_t(pixel(n, c, at))] += w * g.at(point(n, c, p));
    }
  });
  run(&grid_sample_kernels::forward, x, grid, y, GridSampling());
  expect_near(y, want, 1e-5);
  run(&grid_sample_kernels::backward, g, View(), grid, gx, View(), GridSampling());
  expect_near(gx, want_gx, 1e-5);
}
TEST_F(GridSampleKernels, TheGradientOfTheGridIsASlope) {
  const auto sum_of = [](Array<double>& x, Array<double>& grid, const Array<double>& g, const GridSampling& s) {
    Array<double> y(kResult);
    run(&grid_sample_kernels::forward, x, grid, y, s);
    double sum = 0;
    for (std::int64_t i = 0; i < y.numel(); ++i) sum += y.at(i) * g.at(i);
    return sum;
  };
  for (const Sampling mode : {Sampling::linear, Sampling::cubic})
    for (const SamplePadding padding : {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection}) {
      const GridSampling s{mode, padding, false};
      Array<double> x = eighths<double>(kImage), grid = eighths<double>(kGrid, 2), g = eighths<double>(kResult, 3);
      for (std::int64_t i = 0; i < grid.numel(); ++i) grid.at(i) = grid.at(i) / 3 + 0.0137;  // away from kinks
      Array<double> slope(kGrid);
      run(&grid_sample_kernels::backward, g, x, grid, View(), slope, s);
      for (const std::int64_t i : {0, 1, 17, 170, 599}) {
        constexpr double step = 1e-6;
        const double before = grid.at(i);
        grid.at(i) = before + step;
        const double up = sum_of(x, grid, g, s);
        grid.at(i) = before - step;
        const double down = sum_of(x, grid, g, s);
        grid.at(i) = before;
        EXPECT_NEAR(slope.at(i), (up - down) / (2 * step), 1e-5 * (1 + std::abs(slope.at(i)))) << i;
      }
    }
}
TEST_F(GridSampleKernels, OfNothing) {
  Array<float> nothing(Shape{2, 0, 3, 3}), grid(Shape{2, 1, 1, 2}), y(Shape{2, 0, 1, 1}), ggrid(Shape{2, 1, 1, 2});
  run(&grid_sample_kernels::forward, nothing, grid, y, GridSampling());
  run(&grid_sample_kernels::backward, y, nothing, grid, nothing, ggrid, GridSampling());
  EXPECT_EQ(ggrid.values(), std::vector<float>(4));
}
TEST_F(GridSampleKernels, OfOneElement) {
  Array<float> one(Shape{1, 1, 1, 1}, {5}), far(Shape{1, 1, 1, 2}, {3, -7}), value(Shape{1, 1, 1, 1});
  for (const bool corners : {false, true}) {
    run(&grid_sample_kernels::forward, one, far, value,
        GridSampling{Sampling::linear, SamplePadding::reflection, corners});
    EXPECT_EQ(value.at(0), 5);
  }
}
// Registers of points where all are near, one point at a time where one is not: the others' answers stay.
template <class T> struct Neighbours : GridSampleKernels {
  static void left_alone(std::int64_t channels, const GridSampling& s) {
    constexpr std::int64_t kFar = 70, kNever = 9;
    const T infinity = std::numeric_limits<T>::infinity();
    Array<T> x = eighths<T>({1, channels, 9, 7}), g = eighths<T>({1, channels, 10, 13}, 3);
    Array<T> near = eighths<T>({1, 10, 13, 2}, 2);
    for (std::int64_t i = 0; i < near.numel(); ++i) near.at(i) = near.at(i) / T(3.1);
    Array<T> far = near;
    far.at(2 * kFar) = infinity, far.at(2 * kNever + 1) = std::numeric_limits<T>::quiet_NaN();
    near.at(2 * kNever + 1) = -1;  // what such a coordinate means
    Array<T> y(g.spec().sizes()), other(g.spec().sizes()), slope(near.spec().sizes()), other_slope(near.spec().sizes());
    run(&grid_sample_kernels::forward, x, near, y, s);
    run(&grid_sample_kernels::forward, x, far, other, s);
    run(&grid_sample_kernels::backward, g, x, near, View(), slope, s);
    run(&grid_sample_kernels::backward, g, x, far, View(), other_slope, s);
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      if (i % 130 == kFar) continue;
      ASSERT_NEAR(other.at(i), y.at(i), 1e-5) << i;
    }
    for (std::int64_t i = 0; i < slope.numel(); ++i) {
      if (i / 2 == kFar || i / 2 == kNever) continue;
      ASSERT_NEAR(other_slope.at(i), slope.at(i), s.mode == Sampling::cubic ? 1e-3 : 1e-4) << i;
    }
    for (std::int64_t c = 0; c < channels && s.padding == SamplePadding::zeros; ++c)
      EXPECT_EQ(other.at(c * 130 + kFar), 0);
  }
};
TEST_F(GridSampleKernels, PointsThatAreNotFiniteLeaveTheOthersAlone) {
  struct Best {
    ~Best() { use_cpu_target(-1); }
  } best;
  for (int t = 0; t < cpu_targets(); ++t) {
    SCOPED_TRACE(use_cpu_target(t));
    for (const Sampling mode : {Sampling::linear, Sampling::nearest, Sampling::cubic})
      for (const SamplePadding padding : {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection})
        for (const bool corners : {false, true})
          for (const std::int64_t channels : {1, 2, 19}) {
            Neighbours<float>::left_alone(channels, {mode, padding, corners});
            Neighbours<double>::left_alone(channels, {mode, padding, corners});
          }
  }
}
TEST_F(GridSampleKernels, TheNearestElementIsTheEvenOneBetweenTwo) {
  Array<float> x({1, 1, 1, 8}, {0, 1, 2, 3, 4, 5, 6, 7}), grid({1, 1, 20, 2}), y({1, 1, 1, 20});
  for (std::int64_t i = 0; i < 20; ++i) grid.at(2 * i) = float(i) / 8 - 1;  // halves of an element
  run(&grid_sample_kernels::forward, x, grid, y, {Sampling::nearest, SamplePadding::zeros, false});
  for (std::int64_t i = 0; i < 20; ++i) {
    const double at = std::nearbyint(double(i) / 2 - 0.5);
    EXPECT_EQ(y.at(i), at < 8 ? at : 0) << i;
  }
}
TEST_F(GridSampleKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths(Shape{2, 5, 40, 30}), grid = eighths(Shape{2, 50, 60, 2}, 2);
  Array<float> g = eighths(Shape{2, 5, 50, 60}, 3);
  for (std::int64_t i = 0; i < grid.numel(); ++i) grid.at(i) /= 3.1f;
  expect_same_on_any_threads([&] {
    Array<float> y(g.spec().sizes()), gx(x.spec().sizes()), ggrid(grid.spec().sizes());
    const GridSampling s{Sampling::cubic, SamplePadding::border, true};
    run(&grid_sample_kernels::forward, x, grid, y, s);
    run(&grid_sample_kernels::backward, g, x, grid, gx, ggrid, s);
    return y.bytes() + gx.bytes() + ggrid.bytes();
  });
}

}  // namespace
}  // namespace neura::test
