// What other languages' constructors of layers take: the arguments that C++ declares, under their names, in their
// order.
#include <gtest/gtest.h>

#include "neura/nn/nn.h"
#include "neura/surface/layer.h"

namespace neura {
namespace {

using surface::layer;

TEST(Layer, TakesWhatItsConstructorAndItsOptionsDeclare) {
  EXPECT_EQ(layer<nn::Linear>().signature(), "(in_features, out_features, bias=True, device=None, dtype=None)");
  EXPECT_EQ(layer<nn::Conv2d>().signature(),
            "(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, "
            "padding_mode='zeros', device=None, dtype=None)");
  EXPECT_EQ(layer<nn::Flatten>().signature(), "(start_dim=1, end_dim=-1)");
  EXPECT_EQ(layer<nn::LayerNorm>().signature(),
            "(normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None)");
  EXPECT_EQ(layer<nn::CTCLoss>().signature(), "(blank=0, reduction='mean', zero_infinity=False)");
  EXPECT_EQ(layer<nn::Softmax2d>().signature(), "()");
}

TEST(Layer, SaysDefaultsAsPythonDoes) {
  EXPECT_EQ(layer<nn::RReLU>().signature(), "(lower=0.125, upper=0.3333333333333333, inplace=False)");
  EXPECT_EQ(layer<nn::CrossMapLRN2d>().signature(), "(size, alpha=0.0001, beta=0.75, k=1)");
  EXPECT_EQ(layer<nn::LocalResponseNorm>().signature(), "(size, alpha=0.0001, beta=0.75, k=1.0)");
  EXPECT_EQ(layer<nn::PairwiseDistance>().signature(), "(p=2.0, eps=1e-06, keepdim=False)");
  EXPECT_EQ(layer<nn::MaxPool2d>().signature(),
            "(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False)");
  EXPECT_EQ(layer<nn::Softmax>().signature(), "(dim=None)");
  EXPECT_EQ(layer<nn::Hardtanh>().signature(), "(min_val=-1.0, max_val=1.0, inplace=False)");
}

TEST(Layer, MayDoWithoutSomeOptions) {
  surface::Layer gru = layer<nn::GRU>();
  gru.without("nonlinearity, proj_size");
  EXPECT_EQ(gru.signature(),
            "(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, "
            "device=None, dtype=None)");
  gru.with_exact("bias, batch_first");
  EXPECT_EQ(gru.exact, 3u << 3);
  EXPECT_THROW(gru.without("nonlinearity"), ValueError);
}

TEST(Layer, MayBeMadeByAFunction) {
  const auto make = [](std::optional<std::int64_t> rows, bool deep) {
    return nn::make<nn::Linear>(rows.value_or(1), deep);
  };
  EXPECT_EQ(layer<nn::Linear>("rows?, *, deep=False", make).signature(), "(rows, *, deep=False)");
  EXPECT_THROW(layer<nn::Linear>("rows", make), ValueError);
}

TEST(Layer, KnowsWhatMayBeNoneAndWhatFits) {
  const surface::Layer linear = layer<nn::Linear>();
  EXPECT_STREQ(linear.parameters[0].words, "an integer");
  EXPECT_FALSE(linear.parameters[0].may_be_none);
  EXPECT_TRUE(linear.parameters[2].may_be_none);  // bias=None is no bias
  EXPECT_TRUE(linear.parameters[3].may_be_none);  // the default device
  EXPECT_FALSE(layer<nn::Flatten>().parameters[0].may_be_none);
}

}  // namespace
}  // namespace neura
