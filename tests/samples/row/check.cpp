// A row with an option: values, gradient, and what its check says.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "tests/support/close.h"

namespace neura {
namespace {

TEST(SampleRow, IsComputedAndDifferentiated) {
  Tensor x = full({37}, 2.0, {.dtype = DType::float64}).requires_grad_();
  const Tensor y = log_shifted(x, {.shift = 3});
  y.backward(ones({37}, {.dtype = DType::float64}));
  test::expect_close(y.detach(), full({37}, std::log(5.0), {.dtype = DType::float64}));
  test::expect_close(x.grad(), full({37}, 0.2, {.dtype = DType::float64}));
}

TEST(SampleRow, ChecksItsOption) {
  EXPECT_EQ(test::error_of<ValueError>([] { log_shifted(ones({2}), {.shift = 0}); }),
            "log_shifted: expected shift > 0, got 0");
}

}  // namespace
}  // namespace neura
