// A fused operation: its kernel against the definition, its gradient, halves, and what it refuses.
#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/functions.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

TEST(SampleFused, IsTheRowsLessTheirMeans) {
  for (const DType d : {DType::float32, DType::float64, DType::bfloat16}) {
    const Tensor x = test::sample({5, 33}, d), wide = x.to(DType::float64);
    test::expect_close(centered(x), (wide - mean(wide, -1, true)).to(d));
  }
  EXPECT_EQ(centered(ones({3, 0})).shape(), (Shape{3, 0}));
}

TEST(SampleFused, HasAGradient) {
  Tensor x = test::sample({4, 7}, DType::float64).requires_grad_();
  const Tensor g = test::sample({4, 7}, DType::float64, {.seed = 2});
  centered(x).backward(g);
  test::expect_close(x.grad(), g - mean(g, -1, true));
}

TEST(SampleFused, RefusesIntegers) {
  EXPECT_EQ(test::error_of<DTypeError>([] { centered(ones({2}, {.dtype = DType::int64})); }),
            "centered: expected floating numbers, got int64 [2]; convert it with to()");
}

}  // namespace
}  // namespace neura
