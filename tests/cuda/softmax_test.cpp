// Softmax and its gradient on CUDA against the CPU: rows of every length that has a way of its own, other dimensions,
// layouts, special values.
#include "neura/ops/nn/softmax.h"

#include <cmath>
#include <limits>

#include "neura/ops/create/copy.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

class CudaSoftmax : public CudaTest {
 protected:
  static Tolerance allowed(DType d) { return tolerance(d).times(d == DType::float32 || d == DType::float64 ? 4 : 2); }
  static void forward_of(const Tensor& x, const Tensor& on_device, int dim) {
    const Tolerance t = allowed(x.dtype());
    expect_close(back(softmax(on_device, dim)), softmax(x, dim), t);
    expect_close(back(log_softmax(on_device, dim)), log_softmax(x, dim), t);
    expect_close(back(_safe_softmax(on_device, dim)), _safe_softmax(x, dim), t);
  }
  static void both_of(const Shape& shape, int dim, DType d) {
    SCOPED_TRACE(shape.str() + " along " + std::to_string(dim) + " of " + name(d));
    const Tensor x = sample(shape, d, {.low = -4, .high = 4, .seed = 1});
    forward_of(x, there(x), dim);
    const Tensor g = sample(shape, d, {.seed = 2}), y = softmax(x, dim), l = log_softmax(x, dim);
    const Tolerance t = allowed(d);
    expect_close(back(softmax_backward(there(g), there(y), dim)), softmax_backward(g, y, dim), t);
    // sums of a whole row: their rounding grows with it
    const double n = std::sqrt(double(shape[dim]));
    expect_close(back(log_softmax_backward(there(g), there(l), dim)), log_softmax_backward(g, l, dim),
                 {t.absolute * std::max(1.0, n / 16), t.relative});
  }
};

TEST_F(CudaSoftmax, RowsOfEveryLength) {
  for (const DType d : kFloats)
    for (const Shape& s : {Shape{1, 1},     Shape{700, 1},   Shape{5, 3},     Shape{4000, 10},  Shape{131, 64},
                           Shape{33, 100},  Shape{70000, 8}, Shape{9, 257},   Shape{5, 1000},   Shape{40, 1024},
                           Shape{3, 1025},  Shape{3, 2048},  Shape{2, 5000},  Shape{2, 8192},   Shape{2, 8200},
                           Shape{2, 16384}, Shape{2, 16385}, Shape{1, 70000}, Shape{2, 131075}, Shape{140, 16400}})
      both_of(s, 1, d);
}
TEST_F(CudaSoftmax, OtherDimensions) {
  for (const DType d : kFloats)
    for (const auto& [s, dim] :
         {std::pair(Shape{3, 7, 5}, 1), std::pair(Shape{2, 16, 8}, 0), std::pair(Shape{2, 16, 8}, 1),
          std::pair(Shape{4, 21, 64, 3}, 1), std::pair(Shape{5000, 8}, 0), std::pair(Shape{1000, 3}, 0),
          std::pair(Shape{30000, 1, 2}, 0), std::pair(Shape{2, 3000, 40}, 1), std::pair(Shape{1, 5, 1000}, 1),
          std::pair(Shape{300, 2, 260}, 1), std::pair(Shape{2, 3, 1}, 1), std::pair(Shape{40, 3, 1, 1}, 1)})
      both_of(s, dim, d);
}
TEST_F(CudaSoftmax, Sample) {  // small, one of each kernel
  for (const auto& [s, dim] : {std::pair(Shape{9, 12}, 1), std::pair(Shape{3, 1030}, 1), std::pair(Shape{1, 17000}, 1),
                               std::pair(Shape{3, 20, 8}, 1), std::pair(Shape{3000, 3}, 0)})
    both_of(s, dim, DType::float32);
}
TEST_F(CudaSoftmax, OneNumberAndNone) {
  const Tensor one = from_loop({}, DType::float32, [](const Shape&) { return 3.0; });
  forward_of(one, there(one), 0);
  const Tensor none = sample({0, 5});
  EXPECT_EQ(softmax(there(none), 1).shape(), none.shape());
  EXPECT_EQ(softmax(there(none), 0).shape(), none.shape());
}
TEST_F(CudaSoftmax, AnyLayout) {
  for (const DType d : kFloats) {
    const Tensor x = sample({12, 40, 24}, d), t = there(x);
    forward_of(x.slice(2, 3, 20), t.slice(2, 3, 20), 2);  // rows apart, and not at multiples of 16 bytes
    forward_of(x.slice(2, 8, 24), t.slice(2, 8, 24), 2);
    forward_of(x.slice(0, 1, 12, 2), t.slice(0, 1, 12, 2), 2);
    forward_of(x.slice(1, 0, 40, 3), t.slice(1, 0, 40, 3), 1);
    forward_of(x.transpose(1, 2), t.transpose(1, 2), 2);
    forward_of(x.transpose(0, 2), t.transpose(0, 2), 1);
    const Tensor row = sample({1, 24}, d), rows = there(row).expand({7, 24});
    forward_of(row.expand({7, 24}), rows, 1);
    const Tensor y = softmax(row.expand({7, 24}), 1), one = sample({1, 1}, d);
    expect_close(back(softmax_backward(there(one).expand({7, 24}), there(y), 1)),
                 softmax_backward(one.expand({7, 24}), y, 1), allowed(d));
  }
}
TEST_F(CudaSoftmax, InfinitiesAndNaN) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType d : kFloats)
    for (const std::int64_t n : {5, 64, 700, 1024, 9000, 20000}) {
      SCOPED_TRACE(std::to_string(n) + " of " + name(d));
      const auto value = [&](const Shape& at) {
        const std::int64_t i = at[1];
        switch (at[0]) {
          case 0:
            return -inf;
          case 1:
            return i == n - 1 ? 1.0 : -inf;
          case 2:
            return i == n / 2 ? inf : 0.0;
          case 3:
            return i == n / 2 ? nan : 1.0;
          case 4:
            return i == 1 ? nan : -inf;
          case 5:
            return i < 2 ? -60000.0 : -inf;
          default:
            return i == 0 ? 60000.0 : -60000.0;
        }
      };
      const Tensor x = from_loop({7, n}, d, value), columns = contiguous(x.t());
      forward_of(x, there(x), 1);
      forward_of(columns, there(columns), 0);
    }
}
TEST_F(CudaSoftmax, ARowIsTheSameAloneAndAmongMany) {
  for (const DType d : {DType::float32, DType::bfloat16})
    for (const std::int64_t n : {64, 1000, 1024, 5000, 8192}) {
      const Tensor x = there(sample({301, n}, d)), all = softmax(x, 1);
      for (const std::int64_t i : {0, 7, 300})
        expect_same(back(softmax(x.slice(0, i, i + 1), 1)), back(all.slice(0, i, i + 1)));
    }
}
TEST_F(CudaSoftmax, TheSameBitsEveryTime) {
  for (const Shape& s : {Shape{3, 100000}, Shape{50, 999}}) {
    const Tensor x = there(sample(s)), first = back(softmax(x, 1));
    for (int i = 0; i < 3; ++i) expect_same(back(softmax(x, 1)), first);
  }
}

}  // namespace
}  // namespace neura::test
