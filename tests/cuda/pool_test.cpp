// Pooling on CUDA against the CPU: windows of every kind, large images, values that no order knows.
#include "neura/ops/spatial/pool.h"

#include <cmath>
#include <functional>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using CudaPool = CudaTest;
using Pooling = std::function<std::vector<Tensor>(const Tensor&)>;

constexpr DType kFloats[] = {float32, float64, float16, bfloat16};

std::vector<Tensor> listed(const std::array<Tensor, 2>& a) { return {a[0], a[1]}; }
std::vector<Tensor> listed(const Tensor& t) { return {t}; }
template <class F> Pooling pooling(F f) {
  return [f](const Tensor& x) { return listed(f(x)); };
}

// Results, and of floating tensors the derivative and that of the derivative with respect to its gradient. What only
// selects and adds in the CPU's order is the same to the last bit.
void expect_the_cpus(const Pooling& f, const Tensor& x, bool exact) {
  const auto compare = [&](const Tensor& got, const Tensor& want) {
    if (exact) expect_same(back(got), want);
    else expect_close(back(got), want, tolerance(want.dtype()).times(4));
  };
  const bool smooth = differentiable(x.dtype());
  std::vector<Tensor> first[2];
  for (const bool on_device : {false, true}) {
    Tensor in = (on_device ? there(x) : x).detach();
    if (smooth) in.requires_grad_();
    std::vector<Tensor>& all = first[on_device];
    all = f(in);
    if (!smooth) continue;
    Tensor g = sample(all[0].shape(), x.dtype(), {.seed = 7});
    if (on_device) g = there(g);
    g.requires_grad_();
    const Tensor dx = grad(all[0], in, g, {.create_graph = true});
    Tensor v = sample(x.shape(), x.dtype(), {.seed = 8});
    if (on_device) v = there(v);
    all.push_back(dx), all.push_back(grad(dx, g, v));
  }
  ASSERT_EQ(first[0].size(), first[1].size());
  for (std::size_t i = 0; i < first[0].size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i));
    compare(first[1][i].detach(), first[0][i].detach());
  }
}

TEST_F(CudaPool, LargestValuesOfEveryKindOfWindow) {
  const MaxPoolOptions o[] = {{},
                              {.stride = 1},
                              {.stride = {3, 2}, .padding = {1, 1}},
                              {.stride = 2, .padding = 1, .dilation = {1, 2}},
                              {.stride = 2, .padding = {1, 0}, .ceil_mode = true},
                              {.stride = 1, .dilation = 3}};
  for (const DType d : {float32, float64, float16, bfloat16, uint8, int8, int16, int32, int64})
    for (const auto& options : o)
      for (const PerDim& kernel : {PerDim(2), PerDim({3, 2})}) {
        SCOPED_TRACE(std::string(name(d)) + " kernel " + kernel.str() + " stride " + options.stride.str());
        const Tensor x = sample({2, 3, 11, 12}, d, {.seed = 3});
        expect_the_cpus(pooling([&](const Tensor& t) { return max_pool2d(t, kernel, options); }), x, true);
        expect_the_cpus(pooling([&](const Tensor& t) { return max_pool2d_with_indices(t, kernel, options); }), x, true);
      }
}
TEST_F(CudaPool, TilesOfFourAreTheirOwnKernel) {
  for (const DType d : kFloats)
    for (const Shape& s : {Shape{3, 5, 8, 12}, Shape{1, 1, 2, 4}, Shape{7, 31, 28, 28}, Shape{2, 2, 9, 12},
                           Shape{2, 2, 8, 10}, Shape{2, 3, 8, 13}, Shape{3, 2, 6, 14}}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(s[3]));
      const Tensor x = sample(s, d, {.seed = 4});
      expect_the_cpus(pooling([](const Tensor& t) { return max_pool2d(t, 2); }), x, true);
      // A tensor that begins where no pack does.
      const Tensor moved = there(sample({s.numel() + 1}, d, {.seed = 5})).slice(0, 1, s.numel() + 1).view(s);
      expect_same(back(max_pool2d(moved, 2)), max_pool2d(back(moved), 2));
    }
}
TEST_F(CudaPool, OverlappingWindowsOfNineAreTheirOwnKernel) {
  const Pooling pool = pooling([](const Tensor& t) { return max_pool2d(t, 3, {.stride = 2, .padding = 1}); });
  for (const DType d : kFloats)
    for (const Shape& s : {Shape{3, 5, 8, 12}, Shape{1, 1, 1, 4}, Shape{2, 3, 7, 8}, Shape{5, 17, 56, 56},
                           Shape{2, 2, 9, 16}, Shape{2, 2, 8, 10}, Shape{2, 3, 8, 13}, Shape{3, 2, 2, 4}}) {
      SCOPED_TRACE(std::string(name(d)) + " " + s.str());
      const Tensor x = sample(s, d, {.seed = 4});
      expect_the_cpus(pool, x, true);
      expect_the_cpus(pool, round(x * 2), true);  // many equal ones
      const Tensor low = full(s, -std::numeric_limits<double>::infinity(), {.dtype = d});
      expect_the_cpus(pool, low, true);  // what stands beyond the border is not even that
      const Tensor nan = where(x > 0.5, full({}, NAN, {.dtype = d}), x);
      expect_same(back(pool(there(nan))[0]), pool(nan)[0]);
      const Tensor moved = there(sample({s.numel() + 1}, d, {.seed = 5})).slice(0, 1, s.numel() + 1).view(s);
      expect_same(back(pool(moved)[0]), pool(back(moved))[0]);
    }
  const Tensor x = sample({2, 3, 5, 8, 8}, float32);
  const MaxPoolOptions flat{.stride = {1, 2, 2}, .padding = {0, 1, 1}};
  expect_the_cpus(pooling([&](const Tensor& t) { return max_pool3d(t, {1, 3, 3}, flat); }), x, true);
}
TEST_F(CudaPool, OneAndThreeDimensions) {
  for (const DType d : kFloats) {
    const Tensor line = sample({3, 2, 37}, d), room = sample({2, 2, 6, 5, 7}, d);
    expect_the_cpus(pooling([](const Tensor& t) { return max_pool1d(t, 5, {.stride = 2, .padding = 2}); }), line, true);
    expect_the_cpus(pooling([](const Tensor& t) {
                      return max_pool3d(t, {3, 2, 3}, {.stride = 2, .padding = 1});
                    }),
                    room, true);
    expect_the_cpus(pooling([](const Tensor& t) { return max_pool3d_with_indices(t, 2, {.stride = 1}); }), room, true);
    expect_the_cpus(pooling([](const Tensor& t) { return avg_pool1d(t, 4, {.stride = 3, .padding = 2}); }), line,
                    false);
    expect_the_cpus(pooling([](const Tensor& t) {
                      return avg_pool3d(t, {3, 2, 3}, {.stride = 2, .padding = 1});
                    }),
                    room, false);
    expect_the_cpus(pooling([](const Tensor& t) { return adaptive_avg_pool3d(t, {4, 5, 3}); }), room, false);
    expect_the_cpus(pooling([](const Tensor& t) {
                      return adaptive_max_pool3d_with_indices(t, {4, 5, 3});
                    }),
                    room, true);
  }
}
TEST_F(CudaPool, MeansAndWhatTheyDivideBy) {
  const AvgPoolOptions o[] = {{},
                              {.stride = 1},
                              {.stride = {2, 3}, .padding = {1, 1}},
                              {.stride = 2, .padding = 1, .ceil_mode = true},
                              {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false},
                              {.stride = 2, .padding = 1, .divisor_override = -3}};
  for (const DType d : {float32, float64, float16, bfloat16, int64})
    for (const auto& options : o) {
      SCOPED_TRACE(std::string(name(d)) + " stride " + options.stride.str() + " padding " + options.padding.str());
      const Tensor x = sample({2, 3, 10, 13}, d, {.low = -40, .high = 40});
      expect_the_cpus(pooling([&](const Tensor& t) { return avg_pool2d(t, {3, 2}, options); }), x, d == int64);
    }
}
TEST_F(CudaPool, MeansOfTilesOfFourHaveTheirOwnKernel) {
  for (const DType d : {float32, float64, float16, bfloat16, int64})
    for (const Shape& size : {Shape{2, 3, 6, 8}, Shape{2, 3, 4, 6}, Shape{3, 2, 10, 4}, Shape{1, 1, 128, 65}})
      for (const std::int64_t divisor : {0, 3, -2}) {
        SCOPED_TRACE(size.str() + " " + name(d));
        const AvgPoolOptions o{.divisor_override = divisor ? std::optional(divisor) : std::nullopt};
        const auto f = pooling([&](const Tensor& t) { return avg_pool2d(t, 2, o); });
        const Tensor x = sample(size, d, {.low = -40, .high = 40, .seed = 3});
        expect_the_cpus(f, x, d == int64);
        expect_the_cpus(f, x.slice(3, 1), d == int64);  // from an address that holds no pack
      }
}
// Windows of more than 64 elements are a warp's, of more than 4096 a block's.
TEST_F(CudaPool, LargeWindows) {
  for (const DType d : kFloats)
    for (const std::int64_t size : {9, 33, 131})
      for (const std::int64_t out : {1, 2, 5}) {
        SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(size) + " to " + std::to_string(out));
        const Tensor x = sample({2, 3, size, size + 2}, d, {.seed = 6});
        expect_the_cpus(pooling([&](const Tensor& t) { return adaptive_max_pool2d_with_indices(t, out); }), x, true);
        expect_the_cpus(pooling([&](const Tensor& t) { return adaptive_avg_pool2d(t, out); }), x, false);
      }
  const Tensor x = sample({2, 2, 40, 90}, float32, {.seed = 9});
  for (const PerDim& kernel : {PerDim({16, 16}), PerDim({9, 70}), PerDim({39, 3})}) {
    expect_the_cpus(pooling([&](const Tensor& t) { return max_pool2d(t, kernel, {.stride = 3, .padding = 1}); }), x,
                    true);
    expect_the_cpus(pooling([&](const Tensor& t) { return avg_pool2d(t, kernel, {.stride = 3, .padding = 1}); }), x,
                    false);
  }
}
TEST_F(CudaPool, NanIsLargestAndOfEqualsTheFirstCounts) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const std::int64_t size : {4, 24, 144})  // a thread's, a warp's and a block's window
    for (const double fill : {0.0, -infinite, nan}) {
      Tensor x = full({1, 1, size, size}, fill, {.dtype = float32});
      const auto check = [&] {
        for (const std::int64_t out : {std::int64_t{1}, size / 2})
          expect_the_cpus(pooling([&](const Tensor& t) { return adaptive_max_pool2d_with_indices(t, out); }), x, true);
        expect_the_cpus(pooling([](const Tensor& t) { return max_pool2d(t, 2); }), x, true);
      };
      check();
      store_at(x, {0, 0, 1, 1}, nan), store_at(x, {0, 0, size - 1, 0}, infinite);
      check();
      store_at(x, {0, 0, size / 2, 1}, nan);
      check();
    }
}
TEST_F(CudaPool, NothingAndOneElement) {
  const Tensor none = zeros({0, 3, 4, 4}), one = full({1, 1, 1}, 2.5);
  expect_the_cpus(pooling([](const Tensor& t) { return max_pool2d(t, 2); }), none, true);
  expect_the_cpus(pooling([](const Tensor& t) { return avg_pool2d(t, 2); }), none, true);
  expect_the_cpus(pooling([](const Tensor& t) { return adaptive_avg_pool2d(t, 0); }), zeros({2, 3, 4, 4}), true);
  expect_the_cpus(pooling([](const Tensor& t) { return max_pool1d_with_indices(t, 1); }), one, true);
  expect_the_cpus(pooling([](const Tensor& t) { return max_pool1d(t, 3, {.stride = 1 << 30, .padding = 1}); }),
                  sample({1, 2, 2}), true);
}
TEST_F(CudaPool, ManyImages) {
  const Tensor x = sample({70000, 1, 6, 6}, float32, {.seed = 2});
  expect_the_cpus(pooling([](const Tensor& t) { return max_pool2d(t, 3, {.stride = 1}); }), x, true);
  expect_the_cpus(pooling([](const Tensor& t) { return max_pool2d(t, 2); }), x, true);
  expect_the_cpus(pooling([](const Tensor& t) { return adaptive_avg_pool2d(t, {1, 2}); }), x, false);
}

}  // namespace
}  // namespace neura::test
