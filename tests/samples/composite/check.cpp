// A function of other operations: its value and its gradient.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/functions.h"
#include "tests/support/close.h"

namespace neura {
namespace {

TEST(SampleComposite, IsTheRootOfTheMeanSquare) {
  Tensor x = tensor({3.0, 4.0}).to(DType::float64).requires_grad_();
  const Tensor y = root_mean_square(x);
  EXPECT_NEAR(y.item<double>(), std::sqrt(12.5), 1e-12);
  y.backward();
  test::expect_close(x.grad(), x.detach() / (2 * std::sqrt(12.5)));
}

}  // namespace
}  // namespace neura
