// What the stored cases do not show: statistics, modes, printing, and one rule for all layers.
#include <gtest/gtest.h>

#include <thread>

#include "neura/autograd/autograd.h"
#include "neura/nn/nn.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::nn {
namespace {

using test::error_of;
using test::sample;

struct SimpleCNN : Module {
  Sequential features{Conv2d(1, 4, 3, {.padding = 1}),
                      ReLU({.inplace = true}),
                      MaxPool2d(2),
                      Conv2d(4, 8, {3, 5}, {.stride = 2, .groups = 2, .bias = false}),
                      BatchNorm2d(8),
                      Dropout(0.25)};
  Sequential classifier{AdaptiveAvgPool2d({2, 2}), Flatten(), Linear(32, 10)};
  NEURA_MODULE(SimpleCNN, features, classifier)
  Tensor forward(const Tensor& x) { return classifier(features(x)); }
};

TEST(Layers, PrintAsInTorch) {
  EXPECT_EQ(SimpleCNN().str(), R"(SimpleCNN(
  (features): Sequential(
    (0): Conv2d(1, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    (1): ReLU(inplace=True)
    (2): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    (3): Conv2d(4, 8, kernel_size=(3, 5), stride=(2, 2), groups=2, bias=False)
    (4): BatchNorm2d(8, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    (5): Dropout(p=0.25, inplace=False)
  )
  (classifier): Sequential(
    (0): AdaptiveAvgPool2d(output_size=(2, 2))
    (1): Flatten(start_dim=1, end_dim=-1)
    (2): Linear(in_features=32, out_features=10, bias=True)
  )
))");
  EXPECT_EQ(Conv1d(2, 2, 3, {.padding = "same"}).str(), "Conv1d(2, 2, kernel_size=(3,), stride=(1,), padding=same)");
  EXPECT_EQ(LayerNorm({4}).str(), "LayerNorm((4,), eps=1e-05, elementwise_affine=True)");
  EXPECT_EQ(GroupNorm(2, 4).str(), "GroupNorm(2, 4, eps=1e-05, affine=True)");
  EXPECT_EQ(Embedding(10, 3, {.padding_idx = -1}).str(), "Embedding(10, 3, padding_idx=9)");
  EXPECT_EQ(ConstantPad1d({1, 2}, 3.5).str(), "ConstantPad1d(padding=(1, 2), value=3.5)");
  EXPECT_EQ(ZeroPad2d(1).str(), "ZeroPad2d((1, 1, 1, 1))");
  EXPECT_EQ(Threshold(0.1, 20).str(), "Threshold(threshold=0.1, value=20)");
  EXPECT_EQ(CrossEntropyLoss().str(), "CrossEntropyLoss()");
}

TEST(Layers, OfOneNetworkCloneAndRunAlike) {
  SimpleCNN net;
  net.eval();
  const Tensor x = sample({2, 1, 16, 20});
  const auto copy = net.clone();
  EXPECT_EQ(copy->str(), net.str());
  test::expect_same((*copy)(x).detach(), net(x).detach());
  net.train();
  sum(net(x)).backward();
  for (const auto& [name, p] : net.named_parameters()) EXPECT_TRUE(p.grad().defined()) << name;
}

TEST(Layers, RunInSeveralThreadsInEvalMode) {
  SimpleCNN net;
  net.eval();
  const Tensor x = sample({2, 1, 16, 20}), y = net(x).detach();
  std::vector<Tensor> got(4);
  std::vector<std::thread> threads;
  for (Tensor& g : got)
    threads.emplace_back([&] {
      NoGrad guard;
      for (int i = 0; i < 5; ++i) g = net(x), (void)net.named_parameters();
    });
  for (std::thread& t : threads) t.join();
  for (const Tensor& g : got) test::expect_same(g, y);
}

TEST(Linear, StartsLikeTorch) {
  const Linear m(100, 50, {.dtype = DType::float64});
  EXPECT_EQ(m.weight.dtype(), DType::float64);
  for (const Tensor& p : m.parameters())
    for (double x : p.detach().contiguous().to_vector<double>()) EXPECT_LE(std::abs(x), 0.1);
  EXPECT_EQ(Linear(3, 2, {.bias = false}).parameters().size(), 1u);
}

TEST(BatchNorm, FollowsTheBatchesAndThenStands) {
  BatchNorm1d m(3);
  const Tensor x = sample({16, 3}) * 2 + 1;
  m(x);
  EXPECT_EQ(m.num_batches_tracked.item<int>(), 1);
  test::expect_close(m.running_mean, mean(x, 0) * 0.1, {1e-6, 1e-5});
  const Tensor before = m.running_mean.clone();
  m.eval();
  m(x * 5);
  test::expect_same(m.running_mean, before);
  EXPECT_EQ(m.num_batches_tracked.item<int>(), 1);
  m.reset_running_stats();
  EXPECT_EQ(sum(m.running_var).item<double>(), 3);
  BatchNorm1d average(3, {.momentum = std::nullopt});
  average(x), average(x + 1);
  test::expect_close(average.running_mean, mean(x, 0) + 0.5, {1e-5, 1e-5});
  EXPECT_EQ(error_of<ShapeError>([] {
              BatchNorm2d(3)(sample({2, 3}));
            }),
            "BatchNorm2d: expected an input of 4 dimensions, got [2, 3]");
}

TEST(Dropout, ScalesInTrainingAndPassesInEval) {
  Dropout m(0.25);
  const Tensor x = ones({200, 100}), y = m(x);
  std::int64_t kept = 0;
  for (float v : y.to_vector<float>()) {
    EXPECT_TRUE(v == 0 || std::abs(v - 1 / 0.75f) < 1e-6);
    kept += v != 0;
  }
  EXPECT_NEAR(double(kept) / 20000, 0.75, 0.02);
  m.eval();
  EXPECT_TRUE(m(x).is_same(x));
  Tensor z = x.clone();
  EXPECT_TRUE(Dropout(0.5, true)(z).is_same(z));
  EXPECT_LT(sum(z).item<double>() + 1, 2 * 20000.0);
  const Tensor planes = Dropout2d(0.5)(ones({8, 16, 3, 3}));
  for (std::int64_t n = 0; n < 8; ++n)
    for (std::int64_t c = 0; c < 16; ++c) {
      const double s = sum(planes[n][c]).item<double>();
      EXPECT_TRUE(s == 0 || std::abs(s - 18) < 1e-4);
    }
  EXPECT_EQ(error_of<ValueError>([] { Dropout(1.5); }), "Dropout: expected a probability in [0, 1], got 1.5");
}

TEST(Embedding, KeepsThePaddingRowAtZero) {
  Embedding m(5, 3, {.padding_idx = 1});
  const Tensor index = tensor({{0, 1}, {4, 1}});
  const Tensor y = m(index);
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(sum(abs(y.select(1, 1))).item<double>(), 0);
  sum(y).backward();
  test::expect_close(m.weight.grad().select(1, 0), {1, 0, 0, 0, 1});
  EXPECT_THROW(m(tensor({5})), IndexError);
  const auto frozen = Embedding::from_pretrained(sample({4, 2}));
  EXPECT_FALSE(frozen->weight.requires_grad());
}

TEST(Embedding, TakesATableInThePlaceOfADrawnOne) {
  const Tensor table = sample({5, 3});
  const Embedding given(5, 3, {._weight = table}), frozen(5, 3, {._weight = table, ._freeze = true});
  test::expect_same(given.weight.detach(), table);
  EXPECT_TRUE(given.weight.requires_grad());
  EXPECT_FALSE(frozen.weight.requires_grad());
  test::expect_same(EmbeddingBag(5, 3, {._weight = table}).weight.detach(), table);
  EXPECT_EQ(error_of<ShapeError>([&] { Embedding(4, 3, {._weight = table}); }),
            "Embedding: expected a _weight of shape [4, 3], got [5, 3]");
}

TEST(ConvTranspose, PadsWithZerosAlone) {
  EXPECT_EQ(error_of<ValueError>([] { ConvTranspose1d(1, 1, 2, {.padding_mode = "reflect"}); }),
            "ConvTranspose1d: expected padding_mode zeros, got reflect");
}

TEST(Upsample, TakesASizeOrAFactor) {
  EXPECT_EQ(error_of<ValueError>([] { Upsample({.size = 2, .scale_factor = {2}}); }),
            "Upsample: expected size or scale_factor, got both");
  EXPECT_THROW(UpsamplingNearest2d(2, {2}), ValueError);
}

TEST(Flatten, AndUnflattenAreInverse) {
  const Tensor x = sample({2, 3, 4});
  test::expect_same(Unflatten(1, {3, -1})(Flatten()(x)), x);
  EXPECT_TRUE(Identity()(x).is_same(x));
}

TEST(MaxPool, GivesIndicesIfWanted) {
  MaxPool2d m(2, {.return_indices = true});
  const Value v = m.call({{sample({1, 1, 4, 4})}, {}});
  EXPECT_EQ(v.get<List>()->items.size(), 2u);
  EXPECT_EQ(std::get<1>(m.forward_with_indices(sample({1, 1, 4, 4}))).dtype(), DType::int64);
}

TEST(Conv2d, PadsInOtherModes) {
  const Tensor x = sample({1, 2, 5, 5});
  Conv2d m(2, 3, 3, {.padding = 1, .padding_mode = "circular"});
  EXPECT_EQ(m(x).shape(), (Shape{1, 3, 5, 5}));
  EXPECT_EQ(error_of<ValueError>([] { Conv2d(3, 4, 3, {.groups = 2}); }),
            "Conv2d: expected in_channels and out_channels divisible by groups, got 3, 4 and 2");
}

TEST(Losses, ReduceConsistently) {
  const Tensor x = sample({4, 5}), y = sample({4, 5}, DType::float32, {.seed = 2});
  const Tensor each = MSELoss({.reduction = Reduction::none})(x, y);
  test::expect_close(MSELoss({Reduction::sum})(x, y), sum(each));
  test::expect_close(MSELoss()(x, y), mean(each));
  const Tensor classes = tensor({0, 3, 4, 1});
  test::expect_close(CrossEntropyLoss()(x, classes), NLLLoss()(LogSoftmax(1)(x), classes));
}

TEST(MultiheadAttention, WeighsAndSumsToOne) {
  MultiheadAttention m(8, 2, {.batch_first = true});
  m.eval();
  const Tensor x = sample({3, 5, 8});
  const auto [y, w] = m(x, x, x);
  EXPECT_EQ(y.shape(), x.shape());
  test::expect_close(sum(*w, -1), ones({3, 5}), {1e-5, 1e-5});
  const auto [fast, none] = m.forward(x, x, x, {}, false);
  EXPECT_FALSE(none.has_value());
  test::expect_close(fast.detach(), y.detach(), {1e-5, 1e-5});
}

TEST(AdaptiveSoftmax, ClassesSumToOneAndTheTargetsAreAmongThem) {
  AdaptiveLogSoftmaxWithLoss m(6, 12, {3, 7}, {.div_value = 2, .head_bias = true});
  const Tensor x = sample({5, 6}), target = tensor({0, 2, 4, 7, 11});
  const Tensor all = m.log_prob(x);
  const auto [output, loss] = m(x, target);
  test::expect_close(sum(exp(all), 1), ones({5}), {1e-5, 1e-5});
  test::expect_close(output.detach(), squeeze(gather(all, 1, unsqueeze(target, 1)), 1).detach(), {1e-5, 1e-5});
  test::expect_close(loss.detach(), -mean(output).detach(), {1e-6, 1e-6});
  EXPECT_EQ(m.predict(x * 20).to_vector<std::int64_t>(), argmax(m.log_prob(x * 20), 1).to_vector<std::int64_t>());
  EXPECT_EQ(error_of<IndexError>([&] { m(x, target + 1); }),
            "AdaptiveLogSoftmaxWithLoss: expected targets from 0 to 11, got 12");
}

TEST(CTCLossLayer, TakesLengthsAsNumbers) {
  const Tensor x = LogSoftmax(2)(sample({5, 2, 4})), targets = tensor({{1, 2}, {3, 3}});
  test::expect_close(CTCLoss()(x, targets, Lengths{5, 4}, Lengths{2, 1}),
                     ctc_loss(x, targets, tensor({5, 4}), tensor({2, 1})));
}

TEST(LocalResponseNorm, ASizeBeyond32BitsIsRefused) {
  EXPECT_EQ(error_of<ValueError>([] {
              LocalResponseNorm((std::int64_t(1) << 32) + 1)(ones({1, 2, 2}));
            }),
            "LocalResponseNorm: expected size within 32 bits, got 4294967297");
}
TEST(CrossMapLRN2d, OfAnEvenSizeHasAMiddle) {
  const Tensor x = sample({1, 5, 2, 2});
  test::expect_close(CrossMapLRN2d(4, 0.4)(x), LocalResponseNorm(3, 0.3)(x));
  test::expect_close(CrossMapLRN2d(3, 0.4)(x), LocalResponseNorm(3, 0.4)(x));
}

}  // namespace
}  // namespace neura::nn
