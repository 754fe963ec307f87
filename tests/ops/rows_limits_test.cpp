// Rows whose attributes are checked (LIMITED): by `apply`, before anything is written, on the flat path and beside it.
#include <gtest/gtest.h>

#include <limits>

#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"

namespace neura {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(RowLimits, AreCheckedInEveryFormAndLayoutBeforeAnythingIsWritten) {
  for (const bool flat : {true, false}) {
    Tensor x = flat ? full({3}, 2.0) : permute(full({300, 200}, 2.0), {1, 0}), out = zeros(x.shape());
    for (const double wrong : {-1.0, kNan}) {
      const _softshrink_options o{wrong};
      const std::string text = std::string("softshrink: expected lambd >= 0, got ") + (wrong < 0 ? "-1" : "nan");
      EXPECT_EQ(test::error_of<ValueError>([&] { softshrink(x, o); }), text);
      EXPECT_EQ(test::error_of<ValueError>([&] { _softshrink_(x, o); }), text);
      EXPECT_EQ(test::error_of<ValueError>([&] { _softshrink_out(out, x, o); }), text);
      Operand operand(x);
      Call call{&rows::_softshrink, &o, &operand, 1, &out, Destination::out};
      EXPECT_EQ(test::error_of<ValueError>([&] { apply(call); }), text);
    }
    EXPECT_TRUE(equal(x, full(x.shape(), 2.0)) && equal(out, zeros(x.shape())));
    EXPECT_TRUE(equal(softshrink(x, {0}), x));  // the limit itself is within
    EXPECT_TRUE(equal(_softshrink_out(out, x, {0.5}), full(x.shape(), 1.5)));
  }
}

}  // namespace
}  // namespace neura
