// Nothing in, nothing out: layers and losses of batches without samples and of no features, forward and backward.
#include <gtest/gtest.h>

#include <set>

#include "neura/autograd/autograd.h"
#include "neura/ops/create/create.h"
#include "tests/nn/every_layer.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

// Forward, and backward to the parameters and to what goes in: gradients have the sizes of what they belong to.
void expect_derivatives(nn::Module& layer, std::vector<Tensor> in) {
  std::vector<Tensor> wanted = layer.parameters();
  for (Tensor& t : in)
    if (is_floating(t.dtype())) wanted.push_back(t.requires_grad_());
  const std::vector<Tensor> results = differentiable_of(results_of(layer, in));
  if (results.empty()) return;
  std::vector<Tensor> seeds;
  for (const Tensor& t : results) seeds.push_back(ones_like(t));
  const std::vector<Tensor> gradients = grad(results, wanted, seeds, {.allow_unused = true});
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (gradients[i]) EXPECT_EQ(gradients[i].shape(), wanted[i].shape()) << i;
}

struct EmptyBatch : testing::TestWithParam<LayerCase> {};
TEST_P(EmptyBatch, GoesThroughForwardAndBackward) {
  const Ref<nn::Module> layer = GetParam().make();
  if (GetParam().name == "CTCLoss") {  // as in torch
    EXPECT_THROW(results_of(*layer, GetParam().batch(0)), ShapeError);
    return;
  }
  expect_derivatives(*layer, GetParam().batch(0));
  layer->eval();
  results_of(*layer, GetParam().batch(0));
}
INSTANTIATE_TEST_SUITE_P(Layers, EmptyBatch, testing::ValuesIn(layer_cases()),
                         [](const auto& i) { return i.param.name + "_" + std::to_string(i.index); });

std::vector<LayerCase> without_features() {
  using namespace nn;
  using layers::some, layers::whole;
  using Batch = std::vector<Tensor>;
#define OF(name, layer, ...)                                                                   \
  LayerCase {                                                                                  \
    name, [] { return Ref<Module>(layer); }, [](std::int64_t n) { return Batch{__VA_ARGS__}; } \
  }
  return {OF("LinearFromNothing", make<Linear>(0, 3), some({n, 0})),
          OF("LinearFromNothingOfMore", make<Linear>(0, 3), some({2, n, 0})),
          OF("LinearToNothing", make<Linear>(3, 0), some({n, 3})),
          OF("BilinearFromNothing", make<Bilinear>(0, 3, 2), some({n, 0}), some({n, 3})),
          OF("BilinearToNothing", make<Bilinear>(2, 3, 0), some({n, 2}), some({n, 3})),
          OF("EmbeddingOfNothing", make<Embedding>(3, 0), whole({n, 2}, 3)),
          OF("EmbeddingBagOfNothing", make<EmbeddingBag>(3, 0), whole({n, 2}, 3)),
          OF("EmbeddingBagOfNoNumbers", make<EmbeddingBag>(3, 2), whole({n, 0}, 3)),
          OF("RNNFromNothing", make<RNN>(0, 3), some({2, n, 0})),
          OF("GRUFromNothing", make<GRU>(0, 3), some({2, n, 0})),
          OF("LSTMFromNothing", make<LSTM>(0, 3), some({2, n, 0})),
          OF("LSTMCellFromNothing", make<LSTMCell>(0, 3), some({n, 0})),
          OF("LayerNormOfNothing", make<LayerNorm>(Dims(0)), some({n, 0})),
          OF("RMSNormOfNothing", make<RMSNorm>(Dims(0)), some({n, 0})),
          OF("SoftmaxOfNothing", make<Softmax>(1), some({n, 0})),
          OF("ReLUOfNothing", make<ReLU>(), some({n, 0})),
          OF("DropoutOfNothing", make<Dropout>(), some({n, 0})),
          OF("FlattenOfNothing", make<Flatten>(), some({n, 0, 3})),
          OF("MSELossOfNothing", make<MSELoss>(), some({n, 0}), some({n, 0})),
          OF("TransformerEncoderLayerOfNoTimes", make<TransformerEncoderLayer>(4, 2, layers::tiny()), some({0, n, 4}))};
#undef OF
}
struct NoFeatures : testing::TestWithParam<LayerCase> {};
TEST_P(NoFeatures, GoThroughForwardAndBackward) {
  const Ref<nn::Module> layer = GetParam().make();
  expect_derivatives(*layer, GetParam().batch(2));
  expect_derivatives(*layer, GetParam().batch(0));
}
INSTANTIATE_TEST_SUITE_P(Layers, NoFeatures, testing::ValuesIn(without_features()),
                         [](const auto& i) { return i.param.name; });

TEST(NoFeatures, ALinearLayerGivesItsBiasAndItsGradient) {
  nn::Linear layer(0, 3);
  const Tensor y = layer(zeros({2, 0}));
  expect_same(y.detach(), layer.bias.detach().expand({2, 3}));
  y.backward(ones({2, 3}));
  EXPECT_EQ(layer.weight.grad().shape(), (Shape{3, 0}));
}

}  // namespace
}  // namespace neura::test
