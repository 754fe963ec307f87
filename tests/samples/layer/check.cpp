// A layer of a known family: it is its function, and says its name.
#include <gtest/gtest.h>

#include "neura/nn/nn.h"
#include "neura/op/pointwise/rows.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

TEST(SampleLayer, IsItsFunction) {
  const nn::Sinc layer;
  const Tensor x = test::sample({3, 4});
  test::expect_close(layer(x), sinc(x));
  EXPECT_EQ(layer.type_name(), "Sinc");
}

}  // namespace
}  // namespace neura
