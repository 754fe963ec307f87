// What holds for every loss of the list: its reductions, its dtype, and that its gradient is the reduced one's.
#include <gtest/gtest.h>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/reduce/reduce.h"
#include "tests/nn/every_layer.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

// Sets the reduction of a loss; false where the layer has none.
bool reduce_by(nn::Module& loss, Reduction how) {
  return loss.find("reduction", [&](nn::Member& m) { *static_cast<Reduction*>(m.data) = how; });
}
std::vector<LayerCase> losses() {
  std::vector<LayerCase> some;
  for (const LayerCase& c : layer_cases())
    if (reduce_by(*c.make(), Reduction::none)) some.push_back(c);
  return some;
}
class EveryLoss : public testing::TestWithParam<LayerCase> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryLoss, testing::ValuesIn(losses()), [](const auto& i) { return i.param.name; });

TEST(Losses, AreFoundByTheirReduction) { EXPECT_GE(losses().size(), 20u); }

TEST_P(EveryLoss, ReducesWhatItGivesForEachSample) {
  const LayerCase& c = GetParam();
  const auto run = [&](Reduction how) {
    const Ref<nn::Module> loss = c.make();
    reduce_by(*loss, how);
    std::vector<Tensor> in = c.batch(6);
    in[0].requires_grad_();
    const Tensor y = results_of(*loss, in)[0];
    EXPECT_EQ(y.dtype(), in[0].dtype());
    sum(y).backward();
    return std::pair{y.detach(), in[0].grad()};
  };
  const auto [each, gradient_of_each] = run(Reduction::none);
  const auto [total, gradient_of_total] = run(Reduction::sum);
  const auto [average, gradient_of_average] = run(Reduction::mean);
  EXPECT_GE(each.numel(), 6);
  EXPECT_EQ(total.dim() + average.dim(), 0);
  expect_close(total, sum(each));
  expect_close(gradient_of_total, gradient_of_each);
  // CTC's mean is also over the labels of each target: two.
  const double n = double(each.numel()) * (c.name == "CTCLoss" ? 2 : 1);
  expect_close(average, sum(each) / n);
  expect_close(gradient_of_average, gradient_of_each / n);
}

// The functions are compared with PyTorch's stored answers.
TEST(Losses, GiveWhatTheirFunctionsGive) {
#define LOSS(Name, function, Options, ...)                                    \
  {                                                                           \
    SCOPED_TRACE(#Name);                                                      \
    const std::vector<Tensor> in = layers::batch_of_loss(#Name, 4);           \
    expect_same(nn::Name()(in[0], in[1]), function(in[0], in[1], Options{})); \
  }
#define LOSS3(Name, function, a, b, c, Options, ...)                                        \
  {                                                                                         \
    SCOPED_TRACE(#Name);                                                                    \
    const std::vector<Tensor> in = layers::batch_of_loss(#Name, 4);                         \
    expect_same(nn::Name()(in[0], in[1], in[2]), function(in[0], in[1], in[2], Options{})); \
  }
#include "neura/nn/losses.def"
  const std::vector<Tensor> in = layers::batch_of_loss("TripletMarginLoss", 4);
  for (const bool swap : {false, true}) {
    const TripletMarginLossOptions o{.margin = 0.3, .p = 1, .eps = 1e-3, .swap = swap, .reduction = Reduction::sum};
    expect_same(nn::TripletMarginLoss(o)(in[0], in[1], in[2]), triplet_margin_loss(in[0], in[1], in[2], o));
  }
}

}  // namespace
}  // namespace neura::test
