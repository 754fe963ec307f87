// How exactly devices multiply float32: a switch of the process.
#include "neura/core/precision.h"

#include "tests/support/close.h"

namespace neura::test {
namespace {

TEST(Precision, ProductsKeepFloat32UnlessToldAndConvolutionsNeedNot) {
  EXPECT_STREQ(get_float32_matmul_precision(), "highest");
  EXPECT_EQ(detail::precision().matmul, 0);
  EXPECT_TRUE(get_cudnn_allow_tf32());
  for (const char* word : {"medium", "high"}) {
    set_float32_matmul_precision(word);
    EXPECT_STREQ(get_float32_matmul_precision(), word);
    EXPECT_NE(detail::precision().matmul, 0);
  }
  EXPECT_EQ(error_of<ValueError>([] { set_float32_matmul_precision("highes"); }),
            "set_float32_matmul_precision: expected \"highest\", \"high\" or \"medium\", got \"highes\"");
  EXPECT_STREQ(get_float32_matmul_precision(), "high");
  set_float32_matmul_precision("highest");
  set_cudnn_allow_tf32(false);
  EXPECT_FALSE(get_cudnn_allow_tf32() || detail::precision().convolution_tf32);
  set_cudnn_allow_tf32(true);
}

TEST(Precision, SumsMayHaveAnyOrderUnlessToldOtherwise) {
  EXPECT_FALSE(are_deterministic_algorithms_enabled());
  use_deterministic_algorithms(true);
  EXPECT_TRUE(are_deterministic_algorithms_enabled() && detail::precision().deterministic);
  use_deterministic_algorithms(false);
  EXPECT_FALSE(are_deterministic_algorithms_enabled() || detail::precision().deterministic);
}

}  // namespace
}  // namespace neura::test
