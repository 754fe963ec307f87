// A row that is no part of the library: one line in a table makes an operation with all that the library's have.
#include <gtest/gtest.h>

#include "neura/backend/backend.h"
#include "neura/ops/shape/view.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"
#include "tests/tables/test_only.h"

namespace neura {
const void* cpu_rows_test_only();
static const void* kernels_of_test_only(const Backend&) { return cpu_rows_test_only(); }
}  // namespace neura
#define NEURA_OWN kernels_of_test_only
#define NEURA_TABLE "tests/tables/test_only.def"
#include "neura/op/pointwise/define_table.h"

namespace neura::test {
namespace {

TEST(CustomRow, ComputesInEveryDType) {
  for (int d = 0; d < kDTypes; ++d) {
    const DType dtype = DType(d);
    if (!rows::cube.types.accepts(dtype)) continue;
    for (const Tensor& x : layouts(sample({3, 5}, dtype, {.low = -3, .high = 3}))) {
      const Tensor y = cube(x);
      EXPECT_EQ(y.dtype(), dtype);
      if (is_floating(dtype))
        expect_close(y, from_loop({3, 5}, dtype, [&](const Shape& i) { return at(x, i) * at(x, i) * at(x, i); }));
    }
  }
  EXPECT_EQ(error_of<DTypeError>([] { cube(sample({2}, DType::boolean)); }).substr(0, 21), "cube: expected one of");
  expect_close(scaled_tanh(sample({4}, DType::int32, {.low = 0, .high = 1}), {.scale = 3}), {0, 0, 0, 0});
  EXPECT_EQ(scaled_tanh(sample({4}, DType::int32), 2.0).dtype(), DType::float32);
}
TEST(CustomRow, WritesInPlaceAndIntoADestination) {
  Tensor x = sample({7}), expected = cube(x), out = Tensor::empty(x.spec());
  cube_out(out, x);
  expect_same(out, expected);
  cube_(x);
  expect_same(x, expected);
}
TEST(CustomRow, DifferentiatesTwice) {
  expect_gradients([](const Tensor& x) { return cube(x); }, sample({2, 3}, DType::float64));
  expect_gradients([](const Tensor& x) { return cube(x); }, sample({2, 3}, DType::complex128));
  expect_gradients([](const Tensor& x) { return scaled_tanh(x, {.scale = 0.7}); }, sample({3}, DType::float64));
  expect_gradients([](const Tensor& a, const Tensor& b) { return cube(saxpy(a, b)); }, sample({2, 3}, DType::float64),
                   sample({3}, DType::float64));
}
TEST(CustomRow, SaysWhatItIs) {
  EXPECT_STREQ(rows::cube.name, "cube");
  EXPECT_STREQ(rows::cube.formula, "x * x * x");
  EXPECT_STREQ(rows::scaled_tanh.attributes.name[0], "scale");
  EXPECT_TRUE(rows::saxpy.slopes[1].passes && !rows::saxpy.slopes[0].passes && rows::saxpy.differentiable);
  EXPECT_EQ(rows::scaled_tanh.reads_of(0), 1 << 8);  // the result alone
}

}  // namespace
}  // namespace neura::test
