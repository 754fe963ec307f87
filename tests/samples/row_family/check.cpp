// A family of rows: functions, derivatives, and a place in the list of operations.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create.h"
#include "tests/support/close.h"

namespace neura {
namespace {

TEST(SampleRowFamily, IsComputedAndDifferentiated) {
  const TensorOptions wide{.dtype = DType::float64};
  Tensor x = full({19}, 0.5, wide).requires_grad_();
  gudermann(x).backward(ones({19}, wide));
  test::expect_close(gudermann(x).detach(), full({19}, std::atan(std::sinh(0.5)), wide));
  test::expect_close(x.grad(), full({19}, 1 / std::cosh(0.5), wide));
  test::expect_close(sech(x).detach(), full({19}, 1 / std::cosh(0.5), wide));
}

TEST(SampleRowFamily, IsInTheListOfOperations) {
  EXPECT_NE(find_operation("sech"), nullptr);
  EXPECT_NE(find_operation("gudermann"), nullptr);
}

}  // namespace
}  // namespace neura
