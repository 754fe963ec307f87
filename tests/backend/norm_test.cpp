#include "neura/backend/kernels/norm.h"

#include <cmath>
#include <functional>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using NormKernels = Kernels<norm_kernels>;
constexpr double kEps = 1e-3;

// All of the normalisations as plain loops: which statistics an element belongs to, and which weight.
struct Plain {
  std::int64_t groups, weights;
  std::function<std::int64_t(std::int64_t)> group, weight;
  bool centred = true, given = false;  // given: statistics of the caller's, which no gradient goes through
  std::vector<double> mean{}, var{}, y{}, gx{}, gw{}, gb{};

  static std::vector<double> zeros(std::int64_t n) { return std::vector<double>(std::size_t(n)); }
  void run(const Array<float>& x, const Array<float>& g, const Array<float>& w, const Array<float>& b) {
    const std::int64_t n = x.numel();
    const auto in = [&](std::int64_t i) { return std::size_t(group(i)); };
    const auto of = [&](std::int64_t i) { return std::size_t(weight(i)); };
    const double size = double(n) / double(groups);
    if (!given) mean = var = zeros(groups);
    for (std::int64_t i = 0; i < n && centred && !given; ++i) mean[in(i)] += x.at(i) / size;
    for (std::int64_t i = 0; i < n && !given; ++i) var[in(i)] += std::pow(x.at(i) - mean[in(i)], 2) / size;
    const auto hat = [&](std::int64_t i) { return (x.at(i) - mean[in(i)]) / std::sqrt(var[in(i)] + kEps); };
    y = gx = zeros(n), gw = gb = zeros(weights);
    std::vector<double> sum = zeros(groups), dot = sum;
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = double(g.at(i)) * w.at(weight(i));
      y[std::size_t(i)] = hat(i) * w.at(weight(i)) + b.at(weight(i));
      gw[of(i)] += g.at(i) * hat(i), gb[of(i)] += g.at(i);
      sum[in(i)] += v / size, dot[in(i)] += v * hat(i) / size;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      double v = double(g.at(i)) * w.at(weight(i));
      if (!given) v -= (centred ? sum[in(i)] : 0) + hat(i) * dot[in(i)];
      gx[std::size_t(i)] = v / std::sqrt(var[in(i)] + kEps);
    }
  }
  std::vector<double> rstd() const {
    std::vector<double> r;
    for (const double v : var) r.push_back(1 / std::sqrt(v + kEps));
    return r;
  }
};

struct Operands {
  Array<float> x, g, w, b, none, y, gx, gw, gb;
  Operands(const Shape& size, const Shape& weights)
      : x(eighths(size)),
        g(eighths(size, 2)),
        w(eighths(weights, 3)),
        b(eighths(weights, 4)),
        none(filled(weights, 0.0f)),
        y(size),
        gx(size),
        gw(weights),
        gb(weights) {}
  void expect(const Plain& want) {
    expect_near(gx, want.gx, 1e-5);
    expect_near(gw, want.gw, 1e-5);
  }
};

TEST_F(NormKernels, LayerNormOfAnyStridesBeforeTheNormalisedDimensions) {
  Operands o({4, 3, 37}, {37});
  Plain want{12, 37, [](std::int64_t i) { return i / 37; }, [](std::int64_t i) { return i % 37; }};
  want.run(o.x, o.g, o.w, o.b);
  for (Array<float> x : {o.x, o.x.laid_out({40, 200, 1}, 0, 800)}) {  // rows elsewhere
    Array<float> mean({4, 3}), rstd({4, 3});
    run(&norm_kernels::layer_norm, x, o.w, o.b, 2, kEps, o.y, mean, rstd);
    expect_near(o.y, want.y, 1e-5);
    expect_near(mean, want.mean, 1e-6);
    expect_near(rstd, want.rstd(), 1e-5);
    run(&norm_kernels::layer_norm_backward, o.g, x, mean, rstd, o.w, 2, o.gx, o.gw, o.gb);
    o.expect(want);
    expect_near(o.gb, want.gb, 1e-5);
  }
}
TEST_F(NormKernels, RmsNorm) {
  Operands o({12, 37}, {37});
  Plain want{12, 37, [](std::int64_t i) { return i / 37; }, [](std::int64_t i) { return i % 37; }, false};
  want.run(o.x, o.g, o.w, o.none);
  Array<float> rstd({12});
  run(&norm_kernels::rms_norm, o.x, o.w, 1, kEps, o.y, rstd);
  expect_near(o.y, want.y, 1e-5);
  run(&norm_kernels::rms_norm_backward, o.g, o.x, rstd, o.w, 1, o.gx, o.gw);
  o.expect(want);
}
TEST_F(NormKernels, GroupNorm) {
  Operands o({3, 6, 5, 7}, {6});
  Plain want{6, 6, [](std::int64_t i) { return i / (3 * 35); }, [](std::int64_t i) { return i / 35 % 6; }};
  want.run(o.x, o.g, o.w, o.b);
  Array<float> mean({3, 2}), var({3, 2});
  run(&norm_kernels::group_norm, o.x, o.w, o.b, 2, kEps, o.y, mean, var);
  expect_near(o.y, want.y, 1e-5);
  expect_near(var, want.var, 1e-5);
  run(&norm_kernels::group_norm_backward, o.g, o.x, mean, var, o.w, kEps, o.gx, o.gw, o.gb);
  o.expect(want);
  expect_near(o.gb, want.gb, 1e-5);
}
TEST_F(NormKernels, BatchNormOfTheBatchAndWithGivenStatistics) {
  for (const bool training : {true, false}) {
    Operands o({3, 6, 5, 7}, {6});
    const auto channel = [](std::int64_t i) { return i / 35 % 6; };
    Plain want{6, 6, channel, channel, true, !training};
    Array<float> mean({6}), var({6});
    for (int c = 0; c < 6 && !training; ++c)
      want.mean.push_back(mean.at(c) = 0.5f * float(c)), want.var.push_back(var.at(c) = 1 + float(c));
    want.run(o.x, o.g, o.w, o.b);
    run(&norm_kernels::batch_norm, o.x, o.w, o.b, training, kEps, o.y, mean, var, {});
    expect_near(o.y, want.y, 1e-5);
    expect_near(mean, want.mean, 1e-6);
    expect_near(var, want.var, 1e-5);
    run(&norm_kernels::batch_norm_backward, o.g, o.x, mean, var, o.w, training, kEps, o.gx, o.gw, o.gb);
    o.expect(want);
    expect_near(o.gb, want.gb, 1e-5);
  }
}
TEST_F(NormKernels, BatchNormMovesRunningStatistics) {
  Operands o({3, 6, 5, 7}, {6});
  Array<float> mean({6}), var({6}), running_mean = eighths({6}), running_var = filled<float>({6}, 2);
  const std::vector<float> before = running_mean.values();
  const RunningStatistics running{running_mean, running_var, 0.25};
  run(&norm_kernels::batch_norm, o.x, o.w, o.b, true, kEps, o.y, mean, var, running);
  for (int c = 0; c < 6; ++c) {
    EXPECT_FLOAT_EQ(running_mean.at(c), 0.75f * before[std::size_t(c)] + 0.25f * mean.at(c));
    EXPECT_FLOAT_EQ(running_var.at(c), 0.75f * 2 + 0.25f * var.at(c) * 105 / 104);
  }
}
TEST_F(NormKernels, WhatIsAbsentIsOneOrZeroAndNotComputed) {
  Operands o({12, 37}, {37});
  Plain want{12, 37, [](std::int64_t i) { return i / 37; }, [](std::int64_t i) { return i % 37; }};
  want.run(o.x, o.g, filled({37}, 1.0f), o.none);
  Array<float> mean({12}), rstd({12});
  run(&norm_kernels::layer_norm, o.x, View{}, View{}, 1, kEps, o.y, mean, rstd);
  expect_near(o.y, want.y, 1e-5);
  run(&norm_kernels::layer_norm_backward, o.g, o.x, mean, rstd, View{}, 1, o.gx, View{}, View{});
  expect_near(o.gx, want.gx, 1e-5);
}
TEST_F(NormKernels, OfNothing) {
  Operands o({0, 4}, {4});
  o.gw = filled<float>({4}, 9), o.gb = o.gw;
  Array<float> stats({0}), channels({4});
  run(&norm_kernels::layer_norm, o.x, o.w, o.b, 1, kEps, o.y, stats, stats);
  run(&norm_kernels::layer_norm_backward, o.g, o.x, stats, stats, o.w, 1, o.gx, o.gw, o.gb);
  EXPECT_EQ(o.gw.values(), std::vector<float>(4, 0));  // sums of nothing
  EXPECT_EQ(o.gb.values(), std::vector<float>(4, 0));
  run(&norm_kernels::rms_norm, o.x, o.w, 1, kEps, o.y, stats);
  run(&norm_kernels::rms_norm_backward, o.g, o.x, stats, o.w, 1, o.gx, o.gw);
}
TEST_F(NormKernels, SameOnAnyNumberOfThreads) {
  for (const Shape& size : {Shape{400, 16, 33}, Shape{3, 16, 9000}}) {
    Operands o(size, {16}), rows(size, {size[2]});
    expect_same_on_any_threads([&] {
      std::string all;
      const auto keep = [&](Operands& p) { all += p.y.bytes() + p.gx.bytes() + p.gw.bytes() + p.gb.bytes(); };
      Array<float> mean({size[0], 16}), other = mean, m({16}), v({16});
      run(&norm_kernels::layer_norm, rows.x, rows.w, rows.b, 2, kEps, rows.y, mean, other);
      run(&norm_kernels::layer_norm_backward, rows.g, rows.x, mean, other, rows.w, 2, rows.gx, rows.gw, rows.gb);
      keep(rows);
      run(&norm_kernels::rms_norm, rows.x, rows.w, 2, kEps, rows.y, other);
      run(&norm_kernels::rms_norm_backward, rows.g, rows.x, other, rows.w, 2, rows.gx, rows.gw);
      keep(rows);
      Array<float> gm({size[0], 4}), gv = gm;
      run(&norm_kernels::group_norm, o.x, o.w, o.b, 4, kEps, o.y, gm, gv);
      run(&norm_kernels::group_norm_backward, o.g, o.x, gm, gv, o.w, kEps, o.gx, o.gw, o.gb);
      keep(o);
      run(&norm_kernels::batch_norm, o.x, o.w, o.b, true, kEps, o.y, m, v, {});
      run(&norm_kernels::batch_norm_backward, o.g, o.x, m, v, o.w, true, kEps, o.gx, o.gw, o.gb);
      keep(o);
      return all;
    });
  }
}

}  // namespace
}  // namespace neura::test
