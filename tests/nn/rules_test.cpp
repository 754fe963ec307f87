// Rules that hold between layers, their functions and each other; extremes of activations and losses.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/nn/nn.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "neura/optim/optim.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::nn {
namespace {

using test::error_of;
using test::expect_close;
using test::sample;
constexpr DType f64 = DType::float64;

// ---- Containers reach all they hold

TEST(Containers, ReachAllTheirEntries) {
  ModuleList list(Linear(2, 2), Dropout(0.5));
  ModuleDict dict({{"norm", make<BatchNorm1d>(2)}, {"list", make<Linear>(2, 1)}});
  for (Module* m : {static_cast<Module*>(&list), static_cast<Module*>(&dict)}) {
    m->eval();
    for (const auto& c : m->modules()) EXPECT_FALSE(c->is_training());
    m->float64();
    for (const auto& [name, p] : m->named_parameters()) EXPECT_EQ(p.dtype(), f64) << name;
    m->state_dict().at(m->named_parameters()[0].first).detach().fill_(3);
    EXPECT_EQ(m->parameters()[0].detach().contiguous().to_vector<double>()[0], 3);
  }
  EXPECT_EQ(list.state_dict().keys(), (std::vector<std::string>{"0.weight", "0.bias"}));
  EXPECT_EQ(dict.state_dict().keys()[2], "norm.running_mean");
}

TEST(Containers, SwitchDropoutAndNormsToEvaluation) {
  Sequential net{BatchNorm1d(3), Dropout(0.5)};
  const Tensor x = sample({16, 3});
  net.eval();
  expect_close(net(x), x / std::sqrt(1 + 1e-5), {1e-6, 1e-5});
  net.train();
  EXPECT_GT(sum(abs(net(x) - x)).item<double>(), 1);
}

// ---- Layers and each other

TEST(Transposed, IsTheGradientOfTheConvolution) {
  for (std::int64_t groups : {1, 2}) {
    const Conv2d conv(4, 6, {3, 2}, {.stride = {2, 1}, .padding = 1, .groups = groups, .bias = false, .dtype = f64});
    ConvTranspose2d back(6, 4, {3, 2}, {.stride = {2, 1}, .padding = 1, .groups = groups, .bias = false, .dtype = f64});
    static_cast<Tensor&>(back.weight) = conv.weight;
    const Tensor x = sample({2, 4, 7, 5}, f64).requires_grad_(), y = conv(x), g = sample(y.shape(), f64, {.seed = 2});
    y.backward(g);
    expect_close(x.grad(), back(g).detach(), {1e-12, 1e-12});
  }
}

TEST(GroupNorm, OfOneGroupAndOfEachChannelIsKnown) {
  const Tensor x = sample({2, 6, 3, 2}, f64);
  expect_close(GroupNorm(1, 6, {.affine = false})(x), layer_norm(x, {6, 3, 2}), {1e-12, 1e-12});
  expect_close(GroupNorm(6, 6, {.affine = false})(x), instance_norm(x), {1e-12, 1e-12});
  const Tensor groups = layer_norm(x.reshape({2, 3, 2, 3, 2}), {2, 3, 2}).reshape(x.shape());
  expect_close(GroupNorm(3, 6, {.affine = false})(x), groups, {1e-12, 1e-12});
}

TEST(InstanceNorm, FollowsRunningStatisticsIfTold) {
  InstanceNorm2d m(3, {.affine = true, .track_running_stats = true});
  const Tensor x = sample({4, 3, 5, 5}) * 2 + 1;
  m(x);
  expect_close(m.running_mean, mean(x, {0, 2, 3}) * 0.1, {1e-6, 1e-5});
  m.eval();
  const Tensor y = m(x).detach();
  const Tensor mean3 = m.running_mean.view({1, 3, 1, 1}), var3 = m.running_var.view({1, 3, 1, 1});
  expect_close(y, (x - mean3) / sqrt(var3 + 1e-5), {1e-5, 1e-5});
}

TEST(Layers, ThatResetStartAgain) {
  LayerNorm layer({3});
  RMSNorm rms({3});
  GroupNorm group(1, 3);
  for (const Tensor& t : {Tensor(layer.weight), Tensor(layer.bias), Tensor(rms.weight), Tensor(group.bias)})
    init::constant_(t, 5);
  layer.reset_parameters(), rms.reset_parameters(), group.reset_parameters();
  EXPECT_EQ(sum(layer.weight + rms.weight).item<double>(), 6);
  EXPECT_EQ(sum(layer.bias + group.bias).item<double>(), 0);
}

// ---- A layer is its function

template <class M> void expect_equal(const M& layer, const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  SCOPED_TRACE(M::class_name());
  Tensor a = x.clone().requires_grad_(), b = x.clone().requires_grad_();
  const Tensor y = layer.forward(a), z = f(b);
  expect_close(y.detach(), z.detach(), {0, 0});
  const Tensor g = sample(y.shape(), y.dtype(), {.seed = 9});
  y.backward(g), z.backward(g);
  expect_close(a.grad(), b.grad(), {0, 0});
}

TEST(Functional, GivesWhatTheLayersGive) {
  const Tensor x = sample({2, 4, 6, 6}, f64, {.gap = 0.05});
  expect_equal(ReLU(), x, [](const Tensor& t) { return relu(t); });
  EXPECT_TRUE(ReLU().parameters().empty());
  expect_equal(GELU("tanh"), x, [](const Tensor& t) { return gelu(t, {"tanh"}); });
  expect_equal(Hardtanh(HardtanhOptions{-0.5, 0.5}), x, [](const Tensor& t) { return hardtanh(t, {-0.5, 0.5}); });
  const Conv2d conv(4, 2, 3, {.padding = "same", .dilation = 2, .dtype = f64});
  expect_equal(conv, x,
               [&](const Tensor& t) { return conv2d(t, conv.weight, conv.bias, {.padding = "same", .dilation = 2}); });
  expect_equal(MaxPool2d(3, {.stride = 2, .padding = 1}), x,
               [](const Tensor& t) { return max_pool2d(t, 3, {.stride = 2, .padding = 1}); });
  expect_equal(AvgPool2d(2, {.ceil_mode = true}), x, [](const Tensor& t) { return avg_pool2d(t, 2); });
  expect_equal(LPPool2d(2, 2), x, [](const Tensor& t) { return lp_pool2d(t, 2, 2); });
  expect_equal(Unfold(2), x, [](const Tensor& t) { return unfold(t, 2); });
  expect_equal(LayerNorm({6, 6}, {.dtype = f64}), x, [](const Tensor& t) { return layer_norm(t, {6, 6}); });
  const Linear linear_layer(6, 3, {.dtype = f64});
  expect_equal(linear_layer, x, [&](const Tensor& t) { return t.matmul(linear_layer.weight.t()) + linear_layer.bias; });
}

// ---- Activations at their extremes

TEST(Activations, StandExtremes) {
  const Tensor x = tensor({-1000.0, -30.0, 0.0, 30.0, 1000.0}, {.dtype = f64});
  expect_close(SiLU()(x), {0, -30 / (1 + std::exp(30.0)), 0, 30 / (1 + std::exp(-30.0)), 1000});
  expect_close(Sigmoid()(x), {0, 1 / (1 + std::exp(30.0)), 0.5, 1 / (1 + std::exp(-30.0)), 1});
  expect_close(Tanh()(x), {-1, std::tanh(-30.0), 0, std::tanh(30.0), 1});
  expect_close(Softplus()(x), {0, std::log1p(std::exp(-30.0)), std::log(2.0), 30, 1000});
  expect_close(LogSoftmax(0)(x), {-2000, -1030, -1000, -970, 0});
  expect_close(exp(LogSoftmax(0)(x / 100)), Softmax(0)(x / 100), {1e-15, 1e-14});
}

TEST(PReLU, LearnsItsSlope) {
  PReLU m({.dtype = f64});
  const Tensor x = sample({64}, f64), wanted = leaky_relu(x, {0.6});
  optim::SGD sgd(m.parameters(), {.lr = 0.3});
  for (int i = 0; i < 200; ++i) {
    sgd.zero_grad();
    MSELoss()(m(x), wanted).backward();
    sgd.step();
  }
  EXPECT_NEAR(m.weight.item<double>(), 0.6, 1e-6);
}

TEST(RReLU, DrawsSlopesInTrainingAndTakesTheirMeanOtherwise) {
  RReLU m(0.25, 0.5);
  const Tensor x = full({10000}, -2.0), y = m(x);
  EXPECT_GE(min(y).item<double>(), -1.0);
  EXPECT_LE(max(y).item<double>(), -0.5);
  EXPECT_NEAR(mean(y).item<double>(), -0.75, 0.01);
  EXPECT_NEAR(std::sqrt(mean(square(y + 0.75)).item<double>()), 0.5 / std::sqrt(12.0), 0.01);
  m.eval();
  EXPECT_EQ(mean(m(x)).item<double>(), -0.75);
  EXPECT_EQ(error_of<ValueError>([&] { RReLU(0.5, 0.25)(x); }), "rrelu: expected lower <= upper, got 0.5 and 0.25");
}

// ---- Dropout and embedding

TEST(Dropout, HasTheGradientOfWhatItKept) {
  Tensor x = sample({1000}, f64, {.gap = 0.1}).requires_grad_();
  const Tensor y = Dropout(0.25)(x);
  y.backward(ones_like(y));
  expect_close(x.grad(), y.detach() / x.detach(), {1e-12, 1e-12});  // 0 or 1 / 0.75
}

TEST(Dropout, DropsWholeChannelsInOneAndThreeDimensions) {
  for (const auto& [layer, shape] : {std::pair<Ref<Module>, Shape>{make<Dropout1d>(0.5), {16, 8, 4}},
                                     std::pair<Ref<Module>, Shape>{make<Dropout3d>(0.5), {16, 8, 2, 2, 1}}}) {
    const Tensor x = ones(shape), y = unbox<Tensor>(layer->call({{x}, {}})).reshape({128, 4});
    int dropped = 0;
    for (std::int64_t c = 0; c < 128; ++c) {
      const double s = sum(y[c]).item<double>();
      EXPECT_TRUE(s == 0 || s == 8) << s;
      dropped += s == 0;
    }
    EXPECT_NEAR(dropped, 64, 30);
    layer->eval();
    EXPECT_TRUE(unbox<Tensor>(layer->call({{x}, {}})).is_same(x));
  }
}

TEST(Embedding, LooksUpAnyShapeInBothIntegerTypes) {
  const Embedding m(5, 3, {.dtype = f64});
  for (DType dtype : {DType::int32, DType::int64})
    for (const Shape& s : {Shape{4}, Shape{2, 2}, Shape{1, 2, 2}}) {
      const Tensor y = m(tensor({4, 0, 2, 4}, {.dtype = dtype}).reshape(s));
      EXPECT_EQ(y.dim(), int(s.size()) + 1);
      test::expect_same(y.reshape({4, 3})[3].detach(), m.weight.detach()[4]);
    }
}

TEST(Embedding, BringsRowsDownToTheNormThatIsAllowed) {
  for (double p : {1.0, 2.0}) {
    Embedding m(4, 3, {.max_norm = 0.5, .norm_type = p, .dtype = f64});
    const Tensor y = m(tensor({0, 2})).detach();
    for (int i : {0, 1}) EXPECT_LE(vector_norm(y[i], p).item<double>(), 0.5 + 1e-6);
  }
}

TEST(Embedding, DividesGradientsByCountsIfTold) {
  Embedding m(3, 1, {.scale_grad_by_freq = true, .dtype = f64});
  const Tensor index = tensor({0, 2, 0, 0});
  (m(index).squeeze(-1) * tensor({1.0, 5.0, 2.0, 6.0}, {.dtype = f64})).backward(ones({4}, {.dtype = f64}));
  expect_close(m.weight.grad().squeeze(-1), {3, 0, 5});
}

TEST(Identity, PassesGradientsThrough) {
  Tensor x = sample({3}, f64).requires_grad_();
  const Tensor g = sample({3}, f64, {.seed = 4});
  (Identity()(x) * 1.0).backward(g);
  test::expect_same(x.grad(), g);
  EXPECT_TRUE(Identity().parameters().empty());
}

// ---- Attention and transformers

TEST(MultiheadAttention, HidesWhatIsMasked) {
  MultiheadAttention m(4, 2, {.batch_first = true, .dtype = f64});
  const Tensor x = sample({1, 3, 4}, f64), hidden = tensor({0, 0, 1}).to(DType::boolean).unsqueeze(0);
  const auto [y, w] = m(x, x, x, hidden);
  expect_close(w->detach().select(-1, 2), zeros({1, 3}, {.dtype = f64}));
  const Tensor less = x.narrow(1, 0, 2);
  const auto [z, v] = m(x, less, less);
  expect_close(y.detach(), z.detach(), {1e-12, 1e-12});
  const Tensor causal = Transformer::generate_square_subsequent_mask(3, {}, f64);
  const auto [c, u] = m(x, x, x, Tensor(), true, causal);
  EXPECT_EQ(u->detach()[0][0][1].item<double>(), 0);
  const auto [fast, none] = m(x, x, x, Tensor(), false, causal, true, true);
  expect_close(fast.detach(), c.detach(), {1e-12, 1e-12});
}

TEST(MultiheadAttention, HasGradientsOfEveryInput) {
  MultiheadAttention m(4, 2, {.add_bias_kv = true, .add_zero_attn = true, .kdim = 3, .vdim = 2, .dtype = f64});
  test::expect_gradients(
      [&](const std::vector<Tensor>& x) -> std::vector<Tensor> { return {std::get<0>(m.forward(x[0], x[1], x[2]))}; },
      {sample({2, 1, 4}, f64), sample({3, 1, 3}, f64, {.seed = 2}), sample({3, 1, 2}, f64, {.seed = 3})});
}

TEST(Transformer, SeesNoFutureUnderACausalMask) {
  Transformer m(8, 2, {{.dim_feedforward = 16, .dropout = 0, .batch_first = true, .dtype = f64}, 1, 2});
  const Tensor src = sample({2, 4, 8}, f64), tgt = sample({2, 3, 8}, f64, {.seed = 2});
  const Tensor mask = Transformer::generate_square_subsequent_mask(3, {}, f64), y = m(src, tgt, Tensor(), mask);
  Tensor other = tgt.clone();
  other.select(1, 2).fill_(1);
  const Tensor z = m(src, other, Tensor(), mask);
  expect_close(z.narrow(1, 0, 2).detach(), y.narrow(1, 0, 2).detach(), {1e-12, 1e-12});
  EXPECT_GT(sum(abs(z - y)).item<double>(), 0.1);
  EXPECT_EQ(error_of<ShapeError>([&] {
              m(src, sample({2, 3, 4}, f64));
            }),
            "Transformer: expected src and tgt of width 8, got [2, 4, 8] and [2, 3, 4]");
  EXPECT_EQ(m.clone()->str(), m.str());
}

TEST(Transformer, LearnsToCopy) {
  manual_seed(5);
  Embedding table(6, 16);
  TransformerEncoder encoder({make<TransformerEncoderLayer>(
      16, 2, TransformerLayerOptions{.dim_feedforward = 32, .dropout = 0, .batch_first = true, .norm_first = true})});
  Linear head(16, 6);
  std::vector<Tensor> all = table.parameters();
  for (const auto& more : {encoder.parameters(), head.parameters()}) all.insert(all.end(), more.begin(), more.end());
  optim::Adam adam(all, {.lr = 0.01});
  double loss = 0;
  for (int i = 0; i < 60; ++i) {
    const Tensor words = randint(6, {8, 5});
    const Tensor l = CrossEntropyLoss()(head(encoder(table(words))).reshape({40, 6}), words.reshape({40}));
    adam.zero_grad();
    l.backward();
    adam.step();
    loss = l.item<double>();
  }
  EXPECT_LT(loss, 0.2);  // log(6) = 1.8 at first
}

// ---- Losses

struct LossCase {
  std::string name;
  std::function<Tensor(Reduction, const Tensor&)> loss;
  Tensor input;
};
std::vector<LossCase> losses() {
  const Tensor scores = sample({4, 3}, f64), chances = sample({4, 3}, f64, {.low = 0.1, .high = 0.9});
  const Tensor y = sample({4, 3}, f64, {.seed = 5}), share = sample({4, 3}, f64, {.low = 0.1, .high = 0.9, .seed = 6});
  const Tensor classes = tensor({0, 2, 1, 1}), signs = where(y > 0, ones_like(y), ones_like(y) * -1.0);
  const Tensor row = signs.select(1, 0);
  using R = Reduction;
  return {
      {"l1", [=](R r, const Tensor& x) { return L1Loss({r})(x, y); }, scores},
      {"mse", [=](R r, const Tensor& x) { return MSELoss({r})(x, y); }, scores},
      {"smooth_l1",
       [=](R r, const Tensor& x) {
         return SmoothL1Loss({r, 0.5})(x, y);
       },
       scores},
      {"huber",
       [=](R r, const Tensor& x) {
         return HuberLoss({r, 0.5})(x, y);
       },
       scores},
      {"cross_entropy", [=](R r, const Tensor& x) { return CrossEntropyLoss({.reduction = r})(x, classes); }, scores},
      {"nll", [=](R r, const Tensor& x) { return NLLLoss({.reduction = r})(x, classes); }, scores},
      {"bce", [=](R r, const Tensor& x) { return BCELoss({.reduction = r})(x, share); }, chances},
      {"bce_logits", [=](R r, const Tensor& x) { return BCEWithLogitsLoss({.reduction = r})(x, share); }, scores},
      {"kl_div", [=](R r, const Tensor& x) { return KLDivLoss({.reduction = r})(x, share); }, scores},
      {"poisson", [=](R r, const Tensor& x) { return PoissonNLLLoss({.reduction = r})(x, share); }, scores},
      {"gaussian", [=](R r, const Tensor& x) { return GaussianNLLLoss({.reduction = r})(x, y, share); }, scores},
      {"hinge",
       [=](R r, const Tensor& x) {
         return HingeEmbeddingLoss({1, r})(x, signs);
       },
       chances},
      {"soft_margin", [=](R r, const Tensor& x) { return SoftMarginLoss({r})(x, signs); }, scores},
      {"multi_margin", [=](R r, const Tensor& x) { return MultiMarginLoss({.reduction = r})(x, classes); }, scores},
      {"multilabel_soft", [=](R r, const Tensor& x) { return MultiLabelSoftMarginLoss({.reduction = r})(x, share); },
       scores},
      {"ranking",
       [=](R r, const Tensor& x) {
         return MarginRankingLoss({5, r})(x, y, signs);
       },
       scores},
      {"cosine",
       [=](R r, const Tensor& x) {
         return CosineEmbeddingLoss({-0.9, r})(x, y, row);
       },
       scores},
      {"triplet", [=](R r, const Tensor& x) { return TripletMarginLoss({.margin = 5, .reduction = r})(x, y, y * 0.5); },
       scores},
  };
}

TEST(Losses, ReduceWhatTheyGiveForEachElement) {
  for (const LossCase& c : losses()) {
    SCOPED_TRACE(c.name);
    const Tensor each = c.loss(Reduction::none, c.input);
    EXPECT_GT(each.numel(), 1);
    EXPECT_EQ(each.device(), c.input.device());
    expect_close(c.loss(Reduction::sum, c.input), sum(each), {1e-12, 1e-12});
    expect_close(c.loss(Reduction::mean, c.input), mean(each), {1e-12, 1e-12});
    test::expect_gradients([&](const Tensor& x) { return c.loss(Reduction::none, x); }, c.input, {.second = false});
  }
}

TEST(Losses, StandExtremes) {
  const Tensor p = tensor({0.0, 1.0, 0.0, 1.0}, {.dtype = f64}), y = tensor({0.0, 1.0, 1.0, 0.0}, {.dtype = f64});
  expect_close(BCELoss({.reduction = Reduction::none})(p, y), {0, 0, 100, 100});
  const Tensor logits = p * 2000.0 - 1000.0;
  expect_close(BCEWithLogitsLoss({.reduction = Reduction::none})(logits, y), {0, 0, 1000, 1000});
  const Tensor twice = full({4}, 2.0, {.dtype = f64});
  expect_close(BCEWithLogitsLoss({.reduction = Reduction::none, .pos_weight = twice})(logits, y), {0, 0, 2000, 1000});
  const Tensor scores = tensor({1000.0, 0.0, -1000.0}, {.dtype = f64});
  expect_close(CrossEntropyLoss()(scores, tensor(2)), {2000});
  expect_close(
      KLDivLoss({.reduction = Reduction::none})(zeros({2}, {.dtype = f64}), tensor({0.0, 1.0}, {.dtype = f64})),
      {0, 0});
}

TEST(Losses, OfLogarithmsAndScoresAgreeUnderWeights) {
  const Tensor x = sample({5, 3}, f64), y = tensor({0, 2, 1, 2, 0}), w = tensor({0.5, 2.0, 1.0}, {.dtype = f64});
  expect_close(CrossEntropyLoss({.weight = w, .ignore_index = 1})(x, y),
               NLLLoss({.weight = w, .ignore_index = 1})(LogSoftmax(1)(x), y), {1e-12, 1e-12});
}

// ---- First values

TEST(Init, StaysWithinTheBoundOfEitherFan) {
  const Tensor w = empty({20, 50, 3, 3});
  for (const char* mode : {"fan_in", "fan_out"}) {
    init::kaiming_uniform_(w, {.mode = mode, .nonlinearity = "relu"});
    const double fan = std::string(mode) == "fan_in" ? 450 : 180, bound = std::sqrt(6 / fan);
    EXPECT_LE(max(abs(w)).item<double>(), bound);
    EXPECT_GT(max(abs(w)).item<double>(), 0.98 * bound);
    EXPECT_NEAR(mean(square(w)).item<double>(), 2 / fan, 0.05 * 2 / fan);
  }
}

}  // namespace
}  // namespace neura::nn
