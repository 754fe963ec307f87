// A reduction: all, along a dimension, its gradient, and what it refuses.
#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/functions.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

TEST(SampleReduction, IsTheSumOfSquares) {
  Tensor x = test::sample({3, 41}, DType::float64).requires_grad_();
  test::expect_close(sum_of_squares(x, 1, true).detach(), sum(x * x, 1, true).detach());
  const Tensor all = sum_of_squares(x);
  test::expect_close(all.detach(), sum(x * x).detach());
  all.backward();
  test::expect_close(x.grad(), x.detach() * 2.0);
}

TEST(SampleReduction, RefusesIntegers) {
  EXPECT_EQ(test::error_of<DTypeError>([] { sum_of_squares(ones({2}, {.dtype = DType::int64})); }),
            "sum_of_squares: expected real floating numbers, got int64; convert the input with to(dtype)");
}

}  // namespace
}  // namespace neura
