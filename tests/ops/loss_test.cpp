#include "neura/ops/loss/loss.h"

#include <cmath>

#include "neura/core/parallel.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "tests/ops/arguments.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

Tensor classes(const Shape& sizes, int n, std::uint64_t seed = 7) {
  return sample(sizes, int64, {.low = 0, .high = double(n), .seed = seed});
}

// The definition, sample by sample, of scores [N, C, inner].
struct Plain {
  double sum = 0, total = 0;
  Plain(const Tensor& x, const Tensor& target, const Tensor& weight, std::int64_t ignore, double smoothing) {
    const std::int64_t c = x.shape()[1];
    for_each_index(target.shape(), [&](const Shape& i) {
      const std::int64_t t = scalar_at(target, i).integer();
      if (t == ignore) return;
      const auto score = [&](std::int64_t k) { return at(x, Shape{i[0], k, i[1]}); };
      const auto w = [&](std::int64_t k) { return weight ? at(weight, Shape{k}) : 1; };
      double s = 0, smooth = 0;
      for (std::int64_t k = 0; k < c; ++k) s += std::exp(score(k));
      for (std::int64_t k = 0; k < c; ++k) smooth += w(k) * (std::log(s) - score(k));
      sum += (1 - smoothing) * w(t) * (std::log(s) - score(t)) + smoothing / double(c) * smooth, total += w(t);
    });
  }
};

TEST(CrossEntropy, EqualsTheDefinition) {
  on_every_target([] {
    for (DType d : {float32, float64, bfloat16})
      for (std::int64_t c : {1, 7, 8, 9, 31, 33, 130})
        for (std::int64_t inner : {1, 5, 64, 70}) {
          const Tensor target = classes({3, inner}, int(c));
          const Tensor w = sample({c}, d, {.low = 0.5, .high = 2});
          for (const Tensor& x : layouts(sample({3, c, inner}, d)))
            for (double smoothing : {0., 0.1})
              for (const Tensor& weight : {Tensor(), w}) {
                const Plain plain(x, target, weight, 2, smoothing);
                const CrossEntropyOptions o{
                    .weight = weight, .ignore_index = 2, .reduction = Reduction::sum, .label_smoothing = smoothing};
                const Tolerance t = tolerance(d).times(10);
                EXPECT_TRUE(close(cross_entropy(x, target, o), full({}, plain.sum, {.dtype = d}), t))
                    << c << ' ' << inner;
                const CrossEntropyOptions m{.weight = weight, .ignore_index = 2, .label_smoothing = smoothing};
                if (plain.total > 0)
                  EXPECT_TRUE(close(cross_entropy(x, target, m), full({}, plain.sum / plain.total, {.dtype = d}), t))
                      << c << ' ' << inner;
              }
        }
  });
}
TEST(CrossEntropy, Gradients) {
  on_every_target([] {
    const Tensor w = sample({5}, float64, {.low = 0.5, .high = 2});
    for (const Shape& sizes : {Shape{4, 5}, Shape{2, 5, 3}, Shape{5}}) {
      Shape spots = sizes;
      spots.erase(sizes.size() > 1 ? 1 : 0);
      const Tensor target = classes(spots, 5), x = sample(sizes, float64);
      for (Reduction r : {Reduction::none, Reduction::mean, Reduction::sum})
        for (double smoothing : {0., 0.2})
          for (const Tensor& weight : {Tensor(), w}) {
            const CrossEntropyOptions o{
                .weight = weight, .ignore_index = 1, .reduction = r, .label_smoothing = smoothing};
            if (sizes.size() == 1 && target.item<std::int64_t>() == 1) continue;
            expect_gradients([&](const Tensor& v) { return cross_entropy(v, target, o); }, x);
            expect_gradients(
                [&](const Tensor& v) {
                  return nll_loss(v, target, {weight, 1, r});
                },
                x, {.second = false});
          }
      expect_gradients(
          [&](const Tensor& a, const Tensor& p) { return cross_entropy(a, softmax(p, 0), {.label_smoothing = 0.1}); },
          x, x * 0.3);
    }
  });
}
TEST(CrossEntropy, FloatGradientOfManyClassesIsThatOfFloat64) {
  for (const Shape& sizes : {Shape{65, 1000}, Shape{3, 21, 130}}) {
    Shape spots = sizes;
    spots.erase(1);
    const Tensor target = classes(spots, int(sizes[1]));
    Tensor x = (sample(sizes, float32) + 100).requires_grad_(), y = to(x.detach(), float64).requires_grad_();
    cross_entropy(x, target, {.label_smoothing = 0.1}).backward();
    cross_entropy(y, target, {.label_smoothing = 0.1}).backward();
    expect_close(to(x.grad(), float64), y.grad(), {1e-8, 1e-5});
  }
}
TEST(CrossEntropy, NothingToAverageIsNaN) {
  EXPECT_TRUE(std::isnan(cross_entropy(full({2, 3}, 1.0), full({2}, -100)).item<double>()));
  EXPECT_TRUE(std::isnan(nll_loss(full({0, 3}, 1.0), full({0}, 1)).item<double>()));
  EXPECT_EQ(cross_entropy(full({0, 3}, 1.0), full({0}, 1), {.reduction = Reduction::sum}).item<double>(), 0);
}
TEST(CrossEntropy, Errors) {
  EXPECT_ERROR(IndexError, "cross_entropy: expected indices from 0 to 2, got 3",
               cross_entropy(full({2, 3}, 1.0), full({2}, 3)));
  EXPECT_ERROR(IndexError, "got -1", nll_loss(full({2, 3}, 1.0), full({2}, -1)));
  EXPECT_ERROR(ShapeError, "expected a target of sizes [2] for an input [2, 3], got [3]",
               cross_entropy(full({2, 3}, 1.0), full({3}, 1)));
  EXPECT_ERROR(ShapeError, "one value per class [3], got [2]",
               cross_entropy(full({2, 3}, 1.0), full({2}, 1), {.weight = full({2}, 1.0)}));
  EXPECT_ERROR(DTypeError, "expected a target of integers", cross_entropy(full({2, 3}, 1.0), full({2}, 1.0)));
  EXPECT_ERROR(ValueError, "label_smoothing", cross_entropy(full({2, 3}, 1.0), full({2}, 1), {.label_smoothing = 2}));
  EXPECT_ERROR(ValueError, "got \"abc\"", to_reduction("abc"));
}

using Loss = Tensor (*)(const Tensor&, const Tensor&, Reduction);
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
TEST(ElementLoss, EqualsTheDefinitionAndItsGradients) {
  on_every_target([] {
    struct {
      Loss loss;
      double (*plain)(double x, double t);
      bool probabilities;
    } all[] = {
        {[](const Tensor& x, const Tensor& t, Reduction r) { return mse_loss(x, t, {r}); },
         [](double x, double t) { return (x - t) * (x - t); }, false},
        {[](const Tensor& x, const Tensor& t, Reduction r) { return l1_loss(x, t, {r}); },
         [](double x, double t) { return std::abs(x - t); }, false},
        {[](const Tensor& x, const Tensor& t, Reduction r) {
           return smooth_l1_loss(x, t, {r, 0.5});
         },
         [](double x, double t) {
           const double d = std::abs(x - t);
           return d < 0.5 ? d * d : d - 0.25;
         },
         false},
        {[](const Tensor& x, const Tensor& t, Reduction r) {
           return huber_loss(x, t, {r, 0.5});
         },
         [](double x, double t) {
           const double d = std::abs(x - t);
           return d < 0.5 ? d * d / 2 : 0.5 * (d - 0.25);
         },
         false},
        {[](const Tensor& x, const Tensor& t, Reduction r) {
           return binary_cross_entropy(x, t, {{}, r});
         },
         [](double x, double t) { return -t * std::log(x) - (1 - t) * std::log(1 - x); }, true},
        {[](const Tensor& x, const Tensor& t, Reduction r) {
           return binary_cross_entropy_with_logits(x, t, {{}, r});
         },
         [](double x, double t) { return -t * std::log(logistic(x)) - (1 - t) * std::log(logistic(-x)); }, false},
    };
    for (const auto& f : all)
      for (DType d : {float32, float64, bfloat16})
        for (std::int64_t n : {1, 7, 8, 9, 31, 33, 4096, 9001}) {
          const Sample range{.low = f.probabilities ? 0.1 : -2, .high = f.probabilities ? 0.9 : 2};
          const Tensor x = sample({n}, d, range), t = sample({n}, d, {.low = 0.1, .high = 0.9, .seed = 1});
          const Tensor want = from_loop({n}, d, [&](const Shape& i) { return f.plain(at(x, i), at(t, i)); });
          double sum = 0;
          for (std::int64_t i = 0; i < n; ++i) sum += f.plain(at(x, Shape{i}), at(t, Shape{i}));
          const Tolerance tol = tolerance(d).times(4);
          expect_close(f.loss(x, t, Reduction::none), want, tol);
          expect_close(f.loss(x, t, Reduction::sum), full({}, sum, {.dtype = d}), tol);
          expect_close(f.loss(x, t, Reduction::mean), full({}, sum / double(n), {.dtype = d}), tol);
          if (d == float64 && n < 40)
            for (Reduction r : {Reduction::none, Reduction::mean, Reduction::sum})
              expect_gradients([&](const Tensor& a, const Tensor& b) { return f.loss(a, b, r) * 2; }, x, t,
                               {.second = f.plain(1, 0) != 1 && n > 7});
        }
  });
}
TEST(ElementLoss, EdgesAreTorchs) {
  EXPECT_TRUE(
      is_near(binary_cross_entropy(from({0, 1}, {2}), from({1, 0}, {2}), {.reduction = Reduction::none}), {100, 100}));
  EXPECT_TRUE(std::isnan(mse_loss(full({0}, 1.0), full({0}, 1.0)).item<double>()));
  EXPECT_ERROR(ValueError, "between 0 and 1", binary_cross_entropy(full({2}, 1.5), full({2}, 1.0)));
  EXPECT_ERROR(ValueError, "a target between 0 and 1, got elements from 2 to 2",
               binary_cross_entropy(full({2}, 0.5), full({2}, 2.0)));
  EXPECT_TRUE(is_near(
      binary_cross_entropy_with_logits(from({-1000, 1000}, {2}), from({0, 0}, {2}), {.reduction = Reduction::none}),
      {0, 1000}));
  EXPECT_EQ(kl_div(full({0, 3}, 0.0), full({0, 3}, 0.0), {.batchmean = true}).item<double>(), 0);
}
TEST(ElementLoss, WhatTorchBroadcastsOrKeepsOfOneSample) {
  const Tensor x = full({2, 3}, 0.5), wide = full({2, 1}, 0.25), one = full({}, -1.0), half = full({}, 0.5);
  EXPECT_TRUE(equal(gaussian_nll_loss(x, wide, x), gaussian_nll_loss(x, expand(wide, {2, 3}), x)));
  EXPECT_EQ(kl_div(one, half, {.batchmean = true}).item<double>(), kl_div(one, half, {Reduction::sum}).item<double>());
  const Tensor row = full({3}, 0.5);
  const MultiMarginLossOptions each{.reduction = Reduction::none};
  EXPECT_EQ(multi_margin_loss(row, full({1}, 2, {.dtype = int64}), each).shape(), Shape{1});
  EXPECT_EQ(multi_margin_loss(row, full({}, 2, {.dtype = int64}), each).shape(), Shape{});
}

TEST(ElementLoss, SizesThatDifferBroadcastWithAWarning) {
  const Tensor x = full({3, 1}, 0.5), t = full({3}, 0.25), one = full({1}, 0.25), four = full({4}, 0.25);
  testing::internal::CaptureStderr();
  EXPECT_EQ(mse_loss(x, t, {Reduction::none}).shape(), (Shape{3, 3}));
  EXPECT_EQ(mse_loss(x, t).item<double>(), 0.0625);
  EXPECT_EQ(l1_loss(t, x).item<double>(), 0.25);
  EXPECT_EQ(smooth_l1_loss(x, t).item<double>(), 0.03125);
  EXPECT_EQ(huber_loss(x, t).item<double>(), 0.03125);
  EXPECT_EQ(kl_div(x, t, {Reduction::none}).shape(), (Shape{3, 3}));
  EXPECT_EQ(poisson_nll_loss(x, t, {.reduction = Reduction::none}).shape(), (Shape{3, 3}));
  EXPECT_EQ(gaussian_nll_loss(x, t, x, {.reduction = Reduction::none}).shape(), (Shape{3, 3}));
  EXPECT_EQ(hinge_embedding_loss(x, t, {.reduction = Reduction::none}).shape(), (Shape{3, 3}));
  EXPECT_EQ(multilabel_soft_margin_loss(x, t, {.reduction = Reduction::none}).shape(), Shape{3});
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string first = "warning: Using a target size ([3]) that is different to the input size ([3, 1]): mse_loss";
  EXPECT_EQ(said.find(first), 0u) << said;
  EXPECT_EQ(said.find(first, 1), std::string::npos);  // each text once
  for (const char* name : {"l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "gaussian_nll_loss",
                           "hinge_embedding_loss", "multilabel_soft_margin_loss"})
    EXPECT_NE(said.find(std::string(": ") + name + " broadcasts them to [3, 3]"), std::string::npos) << name;
  EXPECT_ERROR(ShapeError, "mse_loss: expected shapes that broadcast, got [3] and [4]", mse_loss(t, four));
  EXPECT_ERROR(ShapeError, "soft_margin_loss: expected a target that broadcasts to the input's sizes [3, 1], got [3]",
               soft_margin_loss(x, t));
  EXPECT_EQ(mse_loss(x, expand(t, {3, 3}).narrow(1, 0, 1), {Reduction::none}).shape(), (Shape{3, 1}));
  EXPECT_EQ(mse_loss(t, one).item<double>(), 0);  // a number beside many
}

Tensor weight_of(const Arguments& a) { return a.tensor(1, "weight"); }
const std::vector<std::pair<std::string, CaseFunction>> cases = {
    {"nn.functional.cross_entropy", one([](const Tensor& x, const Arguments& a) {
       return cross_entropy(x, a.tensor(0, "target"),
                            {weight_of(a), std::int64_t(a.number(9, "ignore_index", -100)), a.reduction(),
                             a.number(9, "label_smoothing", 0)});
     })},
    {"nn.functional.nll_loss", one([](const Tensor& x, const Arguments& a) {
       return nll_loss(x, a.tensor(0, "target"),
                       {weight_of(a), std::int64_t(a.number(9, "ignore_index", -100)), a.reduction()});
     })},
    {"nn.functional.mse_loss", one([](const Tensor& x, const Arguments& a) {
       return mse_loss(x, a.tensor(0, "target"), {a.reduction()}, a.c.kwarg("weight").data);
     })},
    {"nn.functional.l1_loss", one([](const Tensor& x, const Arguments& a) {
       return l1_loss(x, a.tensor(0, "target"), {a.reduction()}, a.c.kwarg("weight").data);
     })},
    {"nn.functional.smooth_l1_loss", one([](const Tensor& x, const Arguments& a) {
       return smooth_l1_loss(x, a.tensor(0, "target"), {a.reduction(), a.number(9, "beta", 1)});
     })},
    {"nn.functional.huber_loss", one([](const Tensor& x, const Arguments& a) {
       return huber_loss(x, a.tensor(0, "target"), {a.reduction(), a.number(9, "delta", 1), a.c.kwarg("weight").data});
     })},
    {"nn.functional.binary_cross_entropy", one([](const Tensor& x, const Arguments& a) {
       return binary_cross_entropy(x, a.tensor(0, "target"), {weight_of(a), a.reduction()});
     })},
    {"nn.functional.binary_cross_entropy_with_logits", one([](const Tensor& x, const Arguments& a) {
       return binary_cross_entropy_with_logits(x, a.tensor(0, "target"),
                                               {weight_of(a), a.reduction(), a.c.kwarg("pos_weight").data});
     })},
    {"nn.functional.kl_div", one([](const Tensor& x, const Arguments& a) {
       const bool batch = a.c.kwarg("reduction").word == "batchmean";
       return kl_div(x, a.tensor(0, "target"),
                     {batch ? Reduction::mean : a.reduction(), a.flag(9, "log_target", false), batch});
     })},
    {"nn.functional.poisson_nll_loss", one([](const Tensor& x, const Arguments& a) {
       return poisson_nll_loss(
           x, a.tensor(0, "target"),
           {a.flag(1, "log_input", true), a.flag(2, "full", false), a.number(9, "eps", 1e-8), a.reduction()});
     })},
    {"nn.functional.gaussian_nll_loss", one([](const Tensor& x, const Arguments& a) {
       const Value& v = a.at(1, "var");
       const Tensor var = v.is_number() ? full({}, v.scalar, {.dtype = x.dtype()}) : v.data;
       return gaussian_nll_loss(x, a.tensor(0, "target"), var,
                                {a.flag(2, "full", false), a.number(9, "eps", 1e-6), a.reduction()});
     })},
    {"nn.functional.hinge_embedding_loss", one([](const Tensor& x, const Arguments& a) {
       return hinge_embedding_loss(x, a.tensor(0, "target"), {a.number(1, "margin", 1), a.reduction()});
     })},
    {"nn.functional.margin_ranking_loss", one([](const Tensor& x, const Arguments& a) {
       return margin_ranking_loss(x, a.tensor(0, "input2"), a.tensor(1, "target"),
                                  {a.number(2, "margin", 0), a.reduction()});
     })},
    {"nn.functional.cosine_embedding_loss", one([](const Tensor& x, const Arguments& a) {
       return cosine_embedding_loss(x, a.tensor(0, "input2"), a.tensor(1, "target"),
                                    {a.number(2, "margin", 0), a.reduction()});
     })},
    {"nn.functional.triplet_margin_loss", one([](const Tensor& x, const Arguments& a) {
       return triplet_margin_loss(x, a.tensor(0, "positive"), a.tensor(1, "negative"),
                                  {a.number(2, "margin", 1), a.number(3, "p", 2), a.number(4, "eps", 1e-6),
                                   a.flag(5, "swap", false), a.reduction()});
     })},
    {"nn.functional.soft_margin_loss", one([](const Tensor& x, const Arguments& a) {
       return soft_margin_loss(x, a.tensor(0, "target"), {a.reduction()});
     })},
    {"nn.functional.multi_margin_loss", one([](const Tensor& x, const Arguments& a) {
       return multi_margin_loss(x, a.tensor(0, "target"),
                                {a.integer(1, "p", 1), a.number(2, "margin", 1), a.tensor(3, "weight"), a.reduction()});
     })},
    {"nn.functional.multilabel_margin_loss", one([](const Tensor& x, const Arguments& a) {
       return multilabel_margin_loss(x, a.tensor(0, "target"), {a.reduction()});
     })},
    {"nn.functional.multilabel_soft_margin_loss", one([](const Tensor& x, const Arguments& a) {
       return multilabel_soft_margin_loss(x, a.tensor(0, "target"), {weight_of(a), a.reduction()});
     })},
    {"nn.functional.cosine_similarity", one([](const Tensor& x, const Arguments& a) {
       return cosine_similarity(x, a.tensor(0, "x2"), a.integer(1, "dim", 1), a.number(2, "eps", 1e-8));
     })},
    {"nn.functional.pairwise_distance", one([](const Tensor& x, const Arguments& a) {
       return pairwise_distance(x, a.tensor(0, "x2"), a.number(1, "p", 2), a.number(2, "eps", 1e-6),
                                a.flag(3, "keepdim", false));
     })},
    {"nn.functional.normalize", one([](const Tensor& x, const Arguments& a) {
       return normalize(x, a.number(0, "p", 2), a.integer(1, "dim", 1), a.number(2, "eps", 1e-12));
     })},
};
TEST(Loss, MultilabelMarginCountsEveryPairOfALabelAndAnother) {
  constexpr std::int64_t kRows = 5, kClasses = 40;
  const Tensor x = sample({kRows, kClasses}, float64), y = from_loop({kRows, kClasses}, int64, [](const Shape&at) {
                                                         return at[1] < 3 * at[0]    ? std::int64_t(at[1] * 7 % 11)
                                                                : at[1] == 3 * at[0] ? -1
                                                                                     : 5;  // some of them twice
                                                       });
  std::vector<double> want;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const auto label = [&](std::int64_t j) { return y[i][j].item<std::int64_t>(); };
    std::int64_t labels = 0;
    while (label(labels) >= 0) ++labels;
    double loss = 0;
    for (std::int64_t k = 0; k < kClasses; ++k) {
      bool named = false;
      for (std::int64_t j = 0; j < labels; ++j) named |= label(j) == k;
      for (std::int64_t j = 0; j < labels && !named; ++j)
        loss += std::max(0.0, 1 + x[i][k].item<double>() - x[i][label(j)].item<double>());
    }
    want.push_back(loss / kClasses);
  }
  expect_close(multilabel_margin_loss(x, y, {Reduction::none}), want);
  const Tensor bad = tensor({1., double(NAN), 3.}), at = tensor({1, -1, 0});
  EXPECT_TRUE(std::isnan(multilabel_margin_loss(bad, at).item<double>()));
}
TEST(Loss, StoredAnswers) { expect_conformance("loss", cases); }

}  // namespace
}  // namespace neura::test
