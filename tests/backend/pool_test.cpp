#include <limits>

#include "neura/backend/kernels/pool.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using PoolKernels = Kernels<pool_kernels>;

PoolShape windows(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                  std::int64_t dilation) {
  PoolShape s;
  for (const int d : {1, 2}) {
    s.in[d] = in + d, s.kernel[d] = kernel, s.stride[d] = stride, s.padding[d] = padding, s.dilation[d] = dilation;
    s.out[d] = (s.in[d] + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  return s;
}
PoolShape adaptive(std::int64_t in, std::int64_t out) {
  PoolShape s;
  s.adaptive = true;
  for (const int d : {1, 2}) s.in[d] = in + d, s.out[d] = out;
  return s;
}
Shape x_size(const PoolShape& s) { return {2, 3, s.in[1], s.in[2]}; }
Shape y_size(const PoolShape& s) { return {2, 3, s.out[1], s.out[2]}; }
// f(result, place within its plane) for every element of every window.
template <class F> void elements(const PoolShape& s, std::int64_t planes, F f) {
  for (std::int64_t p = 0; p < planes; ++p)
    for (std::int64_t yi = 0; yi < s.out[1]; ++yi)
      for (std::int64_t yj = 0; yj < s.out[2]; ++yj)
        for (std::int64_t i = s.begin(1, yi); i < s.end(1, yi); i += s.step(1))
          for (std::int64_t j = s.begin(2, yj); j < s.end(2, yj); j += s.step(2))
            f((p * s.out[1] + yi) * s.out[2] + yj, p, i * s.in[2] + j);
}
const PoolShape kShapes[] = {windows(8, 2, 2, 0, 1), windows(9, 3, 1, 1, 1), windows(9, 2, 3, 1, 2), adaptive(7, 3)};

TEST_F(PoolKernels, MaximaAndTheirPlaces) {
  for (const PoolShape& s : kShapes) {
    Array<float> x = eighths(x_size(s)), y(y_size(s)), want = filled(y_size(s), -9.0f);
    Array<std::int64_t> places(y_size(s)), want_places(y_size(s));
    elements(s, 6, [&](std::int64_t o, std::int64_t p, std::int64_t at) {
      const float v = x.at(p * s.in_size() + at);
      if (v > want.at(o)) want.at(o) = v, want_places.at(o) = at;
    });
    run(&pool_kernels::max, x, y, places, s);
    EXPECT_EQ(y.values(), want.values());
    EXPECT_EQ(places.values(), want_places.values());

    Array<float> g = eighths(y_size(s), 2), gx = filled(x_size(s), 5.0f), want_gx(x_size(s)), again(y_size(s));
    for (std::int64_t i = 0; i < g.numel(); ++i) want_gx.at(i / s.out_size() * s.in_size() + places.at(i)) += g.at(i);
    run(&pool_kernels::scatter, g, places, gx, s);
    EXPECT_EQ(gx.values(), want_gx.values());
    run(&pool_kernels::gather, x, places, again, s);
    EXPECT_EQ(again.values(), want.values());
  }
}
TEST_F(PoolKernels, PlacesWithinTheWindowFitInAByte) {
  const PoolShape s = windows(8, 2, 2, 0, 1);
  Array<float> x = eighths(x_size(s)), y(y_size(s)), wide(y_size(s)), gx(x_size(s)), want(x_size(s));
  Array<std::uint8_t> small(y_size(s));
  Array<std::int64_t> places(y_size(s));
  run(&pool_kernels::max, x, y, small, s);
  run(&pool_kernels::max, x, wide, places, s);
  EXPECT_EQ(y.values(), wide.values());
  run(&pool_kernels::scatter, y, small, gx, s);
  run(&pool_kernels::scatter, y, places, want, s);
  EXPECT_EQ(gx.values(), want.values());
}
TEST_F(PoolKernels, MeansAndTheirGradients) {
  for (PoolShape s : kShapes)
    for (const bool padded : {true, false}) {
      s.count_include_pad = padded;
      if (padded && s.padding[1] && s.dilation[1] > 1) continue;  // what is dilated has no mean in torch
      Array<float> x = eighths(x_size(s)), y(y_size(s)), g = eighths(y_size(s), 2), gx(x_size(s));
      std::vector<double> count(std::size_t(y.numel())), sum(count), back(std::size_t(x.numel()));
      elements(s, 6, [&](std::int64_t o, std::int64_t p, std::int64_t at) {
        ++count[std::size_t(o)], sum[std::size_t(o)] += x.at(p * s.in_size() + at);
      });
      if (s.dilation[1] > 1) continue;
      for (std::size_t o = 0; o < sum.size(); ++o) {
        if (padded && !s.adaptive) count[o] = double(s.kernel[1] * s.kernel[2]);
        sum[o] /= count[o];
      }
      elements(s, 6, [&](std::int64_t o, std::int64_t p, std::int64_t at) {
        back[std::size_t(p * s.in_size() + at)] += g.at(o) / count[std::size_t(o)];
      });
      run(&pool_kernels::mean, x, y, s);
      expect_near(y, sum, 1e-6);
      run(&pool_kernels::mean_gradient, g, gx, s);
      expect_near(gx, back, 1e-6);
    }
}
TEST_F(PoolKernels, OfNothing) {
  const PoolShape s = windows(8, 2, 2, 0, 1);
  Array<float> x({0, 3, 9, 10}), y({0, 3, s.out[1], s.out[2]});
  Array<std::int64_t> places(y.spec().sizes());
  run(&pool_kernels::max, x, y, places, s);
  run(&pool_kernels::scatter, y, places, x, s);
  run(&pool_kernels::gather, x, places, y, s);
  run(&pool_kernels::mean, x, y, s);
  run(&pool_kernels::mean_gradient, y, x, s);
}
TEST_F(PoolKernels, SameOnAnyNumberOfThreads) {
  for (const PoolShape& s : {windows(60, 3, 2, 1, 1), adaptive(61, 7)}) {
    Array<float> x = eighths({8, 8, s.in[1], s.in[2]}), g = eighths({8, 8, s.out[1], s.out[2]}, 2);
    for (std::int64_t i = 0; i < x.numel(); ++i) x.at(i) = 1 / (x.at(i) + 5);  // no exact sums
    expect_same_on_any_threads([&] {
      Array<float> y(g.spec().sizes()), mean = y, again = y, gx(x.spec().sizes()), gm = gx;
      Array<std::int64_t> places(g.spec().sizes());
      run(&pool_kernels::max, x, y, places, s);
      run(&pool_kernels::scatter, g, places, gx, s);
      run(&pool_kernels::gather, x, places, again, s);
      run(&pool_kernels::mean, x, mean, s);
      run(&pool_kernels::mean_gradient, g, gm, s);
      return y.bytes() + places.bytes() + gx.bytes() + again.bytes() + mean.bytes() + gm.bytes();
    });
  }
}

}  // namespace
}  // namespace neura::test
