// Pooling: against plain loops, PyTorch's stored answers, gradients, errors.
#include "neura/ops/spatial/pool.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/conformance.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Results = std::vector<Tensor>;

Tensor looped_max(const Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  const auto out = [&](int d) { return (x.size(d) + 2 * padding - kernel) / stride + 1; };
  return from_loop({x.size(0), x.size(1), out(2), out(3)}, x.dtype(), [&](const Shape& i) {
    double best = -std::numeric_limits<double>::infinity();
    for_each_index({kernel, kernel}, [&](const Shape& k) {
      const std::int64_t row = i[2] * stride + k[0] - padding, column = i[3] * stride + k[1] - padding;
      if (row < 0 || row >= x.size(2) || column < 0 || column >= x.size(3)) return;
      best = std::max(best, at(x, {i[0], i[1], row, column}));
    });
    return best;
  });
}

TEST(MaxPool2d, EqualsPlainLoops) {
  struct {
    std::int64_t kernel, stride, padding;
  } const windows[] = {{2, 2, 0}, {3, 2, 1}, {2, 1, 0}, {3, 1, 0}, {4, 2, 0}, {3, 3, 1}};
  for (const DType d : {DType::float32, DType::float64, DType::bfloat16, DType::int32})
    for (const auto& w : windows)
      for (const Shape& size : {Shape{8, 8}, Shape{9, 14}, Shape{28, 28}, Shape{14, 14}, Shape{7, 67}}) {
        const Tensor x = sample({2, 3, size[0], size[1]}, d);
        const MaxPoolOptions o = {.stride = w.stride, .padding = w.padding};
        expect_same(max_pool2d(x, w.kernel, o), looped_max(x, w.kernel, w.stride, w.padding));
        expect_same(max_pool2d_with_indices(x, w.kernel, o)[0], looped_max(x, w.kernel, w.stride, w.padding));
      }
}
TEST(MaxPool2d, TheGradientGoesToTheFirstOfEquals) {
  for (const std::int64_t width : {2, 8, 16, 32, 34}) {  // one by one, and in vectors of every size
    Tensor x = Tensor::empty(Spec::dense(DType::float32, Shape{1, 1, 2, width})).zero_().requires_grad_();
    max_pool2d(x, 2).sum().backward();
    for (std::int64_t i = 0; i < width; ++i) {
      EXPECT_EQ(at(x.grad(), {0, 0, 0, i}), i % 2 ? 0 : 1);
      EXPECT_EQ(at(x.grad(), {0, 0, 1, i}), 0);
    }
  }
}
TEST(MaxPool2d, NanIsLargest) {
  Tensor x = sample({1, 1, 2, 32});
  x.select(3, 5).select(2, 1).fill_(NAN);
  const Tensor y = max_pool2d(x, 2);
  EXPECT_TRUE(std::isnan(at(y, {0, 0, 0, 2})));
  EXPECT_FALSE(std::isnan(at(y, {0, 0, 0, 3})));
}
TEST(MaxPool2d, BothKindsOfPlacesGiveTheSameGradient) {
  for (const Shape& size : {Shape{8, 16}, Shape{9, 33}, Shape{14, 14}, Shape{5, 10}}) {
    const Tensor values = distinct_sample({2, 2, size[0], size[1]}, DType::float32);
    for (const MaxPoolOptions& o : {MaxPoolOptions{}, MaxPoolOptions{.stride = 1, .padding = 1}}) {
      Tensor a = values.clone().requires_grad_(), b = values.clone().requires_grad_();
      const Tensor y = max_pool2d(a, 2, o);
      y.backward(y.detach());
      max_pool2d_with_indices(b, 2, o)[0].backward(y.detach());
      expect_same(a.grad(), b.grad());
    }
  }
}
TEST(Pool, Gradients) {
  const Tensor x = distinct_sample({2, 2, 6, 7}, DType::float64);
  const GradientCheck once = {.second = false};  // all of these are piecewise linear
  expect_gradients([](const Tensor& t) { return max_pool2d(t, 3, {.stride = 2, .padding = 1}); }, x, once);
  expect_gradients([](const Tensor& t) { return max_pool2d(t, 2, {.dilation = 2}); }, x, once);
  expect_gradients(
      [](const Tensor& t) { return avg_pool2d(t, 3, {.stride = 2, .padding = 1, .count_include_pad = false}); }, x,
      once);
  expect_gradients(
      [](const Tensor& t) {
        return avg_pool2d(t, {2, 3}, {.ceil_mode = true, .divisor_override = 5});
      },
      x, once);
  expect_gradients([](const Tensor& t) { return adaptive_avg_pool2d(t, {4, 3}); }, x, once);
  expect_gradients([](const Tensor& t) { return adaptive_max_pool2d(t, {4, 3}); }, x, once);
}
TEST(Pool, Errors) {
  const Tensor x = sample({1, 2, 4, 4});
  EXPECT_EQ(error_of<ValueError>([&] { max_pool2d(x, 2, {.padding = 2}); }),
            "max_pool2d: expected padding of at most half the window, got padding [2] and kernel_size [2]");
  EXPECT_EQ(
      error_of<ShapeError>([&] { avg_pool2d(x, 5); }),
      "avg_pool2d: expected a window no larger than the padded input, got kernel_size [5, 5] on float32 [1, 2, 4, 4]");
  EXPECT_EQ(error_of<ShapeError>([&] { adaptive_avg_pool2d(x[0][0], 1); }),
            "adaptive_avg_pool2d: expected [n, channels, h, w] or the same without n, with no size of 0 but n, got "
            "float32 [4, 4]");
}

PerDim per_dim_of(const Value& v, std::int64_t fallback) {
  if (!v) return fallback;
  if (v.kind == Value::integer) return v.scalar.integer();
  PerDim p;
  for (const Value& item : v.items) p.push_back(item.kind == Value::none ? kKeepSize : item.scalar.integer());
  return p;
}
bool flag(const Value& v, bool fallback) { return v ? v.scalar.integer() != 0 : fallback; }

template <auto values, auto both> Results maximum(const ConformanceCase& c) {
  MaxPoolOptions o;
  const Value& stride = c.argument(1, "stride");
  if (stride) o.stride = per_dim_of(stride, 1);
  o.padding = per_dim_of(c.argument(2, "padding"), 0), o.dilation = per_dim_of(c.argument(3, "dilation"), 1);
  o.ceil_mode = flag(c.argument(4, "ceil_mode"), false);
  const PerDim kernel = per_dim_of(c.argument(0, "kernel_size"), 1);
  if (!flag(c.argument(5, "return_indices"), false)) return {values(c.input.data, kernel, o)};
  const auto pair = both(c.input.data, kernel, o);
  return {pair[0], pair[1]};
}
template <auto f> Results average(const ConformanceCase& c) {
  AvgPoolOptions o;
  const Value &stride = c.argument(1, "stride"), &divisor = c.argument(5, "divisor_override");
  if (stride) o.stride = per_dim_of(stride, 1);
  o.padding = per_dim_of(c.argument(2, "padding"), 0), o.ceil_mode = flag(c.argument(3, "ceil_mode"), false);
  o.count_include_pad = flag(c.argument(4, "count_include_pad"), true);
  if (divisor) o.divisor_override = divisor.scalar.integer();
  return {f(c.input.data, per_dim_of(c.argument(0, "kernel_size"), 1), o)};
}
template <auto f> Results adaptive(const ConformanceCase& c) {
  return {f(c.input.data, per_dim_of(c.argument(0, "output_size"), 1))};
}
template <auto values, auto both> Results adaptive_maximum(const ConformanceCase& c) {
  const PerDim size = per_dim_of(c.argument(0, "output_size"), 1);
  if (!flag(c.argument(1, "return_indices"), false)) return {values(c.input.data, size)};
  const auto pair = both(c.input.data, size);
  return {pair[0], pair[1]};
}
TEST(Pool, AnswersArePyTorchs) {
  expect_conformance(
      "pool",
      {{"nn.functional.max_pool1d", &maximum<max_pool1d, max_pool1d_with_indices>},
       {"nn.functional.max_pool2d", &maximum<max_pool2d, max_pool2d_with_indices>},
       {"nn.functional.max_pool3d", &maximum<max_pool3d, max_pool3d_with_indices>},
       {"nn.functional.avg_pool1d", &average<avg_pool1d>},
       {"nn.functional.avg_pool2d", &average<avg_pool2d>},
       {"nn.functional.avg_pool3d", &average<avg_pool3d>},
       {"nn.functional.adaptive_avg_pool1d", &adaptive<adaptive_avg_pool1d>},
       {"nn.functional.adaptive_avg_pool2d", &adaptive<adaptive_avg_pool2d>},
       {"nn.functional.adaptive_avg_pool3d", &adaptive<adaptive_avg_pool3d>},
       {"nn.functional.adaptive_max_pool1d", &adaptive_maximum<adaptive_max_pool1d, adaptive_max_pool1d_with_indices>},
       {"nn.functional.adaptive_max_pool2d", &adaptive_maximum<adaptive_max_pool2d, adaptive_max_pool2d_with_indices>},
       {"nn.functional.adaptive_max_pool3d",
        &adaptive_maximum<adaptive_max_pool3d, adaptive_max_pool3d_with_indices>}});
}

}  // namespace
}  // namespace neura::test
