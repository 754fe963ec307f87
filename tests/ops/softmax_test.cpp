#include "neura/ops/nn/softmax.h"

#include <cmath>
#include <limits>

#include "neura/core/parallel.h"
#include "tests/ops/arguments.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor plain_softmax(const Tensor& x, int dim, bool logarithm) {
  const std::int64_t n = x.shape()[dim];
  return from_loop(x.shape(), x.dtype(), [&](const Shape& i) {
    Shape j = i;
    double most = -kInf, sum = 0;
    for (j[dim] = 0; j[dim] < n; ++j[dim]) most = std::max(most, at(x, j));
    for (j[dim] = 0; j[dim] < n; ++j[dim]) sum += std::exp(at(x, j) - most);
    return logarithm ? at(x, i) - most - std::log(sum) : std::exp(at(x, i) - most) / sum;
  });
}

TEST(Softmax, EqualsThePlainLoopAlongEveryDimensionInEveryLayout) {
  on_every_target([] {
    for (DType d : {float32, float64, float16, bfloat16})
      for (std::int64_t n : {1, 7, 8, 9, 31, 33, 130})
        for (const Tensor& x : layouts(sample({3, n, 5}, d, {.low = -6, .high = 6})))
          for (int dim = 0; dim < 3; ++dim) {
            expect_close(softmax(x, dim), plain_softmax(x, dim, false));
            expect_close(log_softmax(x, dim), plain_softmax(x, dim, true));
          }
  });
}
TEST(Softmax, ColumnsEqualThePlainLoop) {
  on_every_target([] {
    for (std::int64_t inner : {2, 16, 63, 64, 65, 200}) {
      const Tensor x = sample({2, 9, inner}, float32, {.low = -6, .high = 6});
      expect_close(softmax(x, 1), plain_softmax(x, 1, false));
      expect_close(log_softmax(x, 1), plain_softmax(x, 1, true));
    }
  });
}
bool is_nan(double x) { return std::isnan(x); }
TEST(Softmax, InfinitiesAndNaN) {
  on_every_target([] {
    const Tensor hidden = from({-kInf, -kInf, -kInf}, {1, 3});
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_PRED1(is_nan, at(softmax(hidden, 1), i)) << i;
      EXPECT_PRED1(is_nan, at(log_softmax(hidden, 1), i)) << i;
    }
    EXPECT_TRUE(is_near(_safe_softmax(hidden, 1), {0, 0, 0}));
    EXPECT_TRUE(is_near(softmax(from({-kInf, 0, 0}, {3}), 0), {0, 0.5, 0.5}));
    EXPECT_TRUE(is_near(softmax(from({-1000, 0, -200}, {3}), 0), {0, 1, 0}));
    for (std::int64_t n : {3, 40})
      for (std::int64_t place = 0; place < n; ++place) {
        Tensor x = sample({n}, float32);
        store_at(x, Shape{place}, Scalar(std::nan("")));
        SCOPED_TRACE("NaN, then infinity, at " + std::to_string(place) + " of " + std::to_string(n));
        for (std::int64_t i = 0; i < n; ++i) EXPECT_PRED1(is_nan, at(softmax(x, 0), i)) << i;
        EXPECT_PRED1(is_nan, at(log_softmax(unsqueeze(x, 1), 0), n - 1));
        store_at(x, Shape{place}, Scalar(kInf));
        EXPECT_PRED1(is_nan, at(softmax(x, 0), place));
      }
  });
}
TEST(Softmax, EmptyAndSingle) {
  EXPECT_EQ(softmax(full({0, 3}, 1.0), 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(softmax(full({3, 0}, 1.0), 1).shape(), (Shape{3, 0}));
  EXPECT_EQ(softmax(full({3, 0}, 1.0), 0).shape(), (Shape{3, 0}));
  EXPECT_TRUE(is_near(softmax(full({}, 5.0), 0), {1}) && is_near(log_softmax(full({}, 5.0), -1), {0}));
}
TEST(Softmax, Gradients) {
  on_every_target([] {
    const Tensor x = sample({3, 4, 2}, float64);
    for (int dim = 0; dim < 3; ++dim) {
      expect_gradients([dim](const Tensor& v) { return softmax(v, dim); }, x);
      expect_gradients([dim](const Tensor& v) { return log_softmax(v, dim); }, x);
      expect_gradients([dim](const Tensor& g, const Tensor& y) { return softmax_backward(g, y, dim); }, x, x * 0.5);
      expect_gradients([dim](const Tensor& g, const Tensor& y) { return log_softmax_backward(g, y, dim); }, x, x * 0.5);
    }
  });
}
TEST(Softmax, GradientOfAnExpandedSum) {  // g has strides of 0
  Tensor x = sample({3, 40}, float32).requires_grad_();
  log_softmax(x, 1).sum().backward();
  const Tensor p = softmax(x.detach(), 1);
  expect_close(x.grad(), 1 - p * 40);
}
TEST(Softmax, DoesNotDependOnThreads) {
  const Tensor x = sample({300, 400}, float32), columns = sample({20, 30, 200}, float32);
  const int before = get_num_threads();
  const Tensor a = softmax(x, 1), b = log_softmax(columns, 1);
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    expect_same(softmax(x, 1), a);
    expect_same(log_softmax(columns, 1), b);
  }
  set_num_threads(before);
}
TEST(Softmax, Errors) {
  EXPECT_EQ(error_of<DTypeError>([] { softmax(full({2}, 1), 0); }),
            "softmax: expected a floating dtype, got int64 [2]; give dtype = float32, or convert it");
  EXPECT_ERROR(IndexError, "softmax", softmax(full({2}, 1.0), 1));
  EXPECT_TRUE(softmax(full({2}, 1), 0, float64).dtype() == float64);
}

Tensor softmax_case(const Tensor& x, const Arguments& a) {
  return softmax(x, a.integer(0, "dim", 0), a.dtype(1, "dtype"));
}
Tensor log_softmax_case(const Tensor& x, const Arguments& a) {
  return log_softmax(x, a.integer(0, "dim", 0), a.dtype(1, "dtype"));
}
Tensor softmin_case(const Tensor& x, const Arguments& a) {
  return softmin(x, a.integer(0, "dim", 0), a.dtype(1, "dtype"));
}
Tensor safe_case(const Tensor& x, const Arguments& a) {
  return _safe_softmax(x, a.integer(0, "dim", 0), a.dtype(1, "dtype"));
}
Tensor backward_case(const Tensor& g, const Arguments& a) {
  return softmax_backward(g, a.tensor(0, "output"), a.integer(1, "dim", 0));
}

TEST(Softmax, StoredAnswers) {
  expect_conformance("softmax", {{"softmax", one(softmax_case)},
                                 {"softmax#with_dtype", one(softmax_case)},
                                 {"log_softmax", one(log_softmax_case)},
                                 {"log_softmax#with_dtype", one(log_softmax_case)},
                                 {"nn.functional.softmin", one(softmin_case)},
                                 {"nn.functional.softmin#with_dtype", one(softmin_case)},
                                 {"torch.ops.aten._safe_softmax.default", one(safe_case)},
                                 {"_softmax_backward_data", one(backward_case)}});
}

}  // namespace
}  // namespace neura::test
