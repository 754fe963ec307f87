// A layer of a new family: result, parameter, state.
#include <gtest/gtest.h>

#include "neura/nn/nn.h"
#include "neura/op/pointwise/rows.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

TEST(SampleLayerFamily, ScalesChannels) {
  const nn::LayerScale layer(4, {.init = 0.5});
  const Tensor x = test::sample({3, 4});
  test::expect_close(layer(x).detach(), x * 0.5);
  EXPECT_EQ(layer.weight.shape(), (Shape{4}));
  EXPECT_TRUE(layer.weight.requires_grad());
}

}  // namespace
}  // namespace neura
