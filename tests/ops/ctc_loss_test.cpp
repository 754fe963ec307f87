#include "neura/ops/loss/ctc_loss.h"

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

using Labels = std::vector<std::int64_t>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Labels spelled(const Labels& path, std::int64_t blank) {
  Labels out;
  for (std::size_t t = 0; t < path.size(); ++t)
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) out.push_back(path[t]);
  return out;
}
// Of one sample of x [T, N, C]: every path of `times` classes, one after the other.
double plain_loss(const Tensor& x, std::int64_t sample, std::int64_t times, const Labels& target, std::int64_t blank) {
  const std::int64_t classes = x.size(2);
  double sum = 0;
  Labels path(std::size_t(times), 0);
  for (bool more = true; more;) {
    if (spelled(path, blank) == target) {
      double p = 0;
      for (std::int64_t t = 0; t < times; ++t) p += at(x, Shape{t, sample, path[std::size_t(t)]});
      sum += std::exp(p);
    }
    more = false;
    for (std::size_t t = 0; t < path.size() && !more; ++t)
      if (++path[t] < classes) more = true;
      else path[t] = 0;
  }
  return -std::log(sum);
}

Tensor probabilities(const Shape& sizes, DType d = float64, std::uint64_t seed = 1) {
  return log_softmax(sample(sizes, d, {.seed = seed}) * 2, -1);
}
const std::vector<Labels> kTargets = {{1, 2}, {1, 1}, {}, {2}, {2, 1, 2}};
const Labels kTimes = {5, 4, 3, 5, 3}, kCounts = {2, 2, 0, 1, 3};
Tensor in_a_row() { return tensor(Labels{1, 2, 1, 1, 2, 2, 1, 2}); }
Tensor side_by_side() {  // what stands after a target is never looked at
  return tensor(Labels{1, 2, 99, 1, 1, -7, 5, 5, 5, 2, 9, 9, 2, 1, 2}, {5, 3});
}
Tensor loss_of(const Tensor& x, CtcLossOptions o = {.reduction = Reduction::none}) {
  return ctc_loss(x, side_by_side(), tensor(kTimes), tensor(kCounts), o);
}

TEST(CtcLoss, EqualsTheSumOverAllPaths) {
  on_every_target([] {
    for (const DType d : {float32, float64})
      for (const Tensor& x : layouts(probabilities({5, 5, 3}, d))) {
        const Tensor each = loss_of(x),
                     row = ctc_loss(x, to(in_a_row(), DType::int32), to(tensor(kTimes), DType::int32), tensor(kCounts),
                                    {.reduction = Reduction::none});
        double total = 0, mean = 0;
        for (std::int64_t n = 0; n < 5; ++n) {
          const double want = plain_loss(x, n, kTimes[std::size_t(n)], kTargets[std::size_t(n)], 0);
          EXPECT_NEAR(at(each, n), want, d == float64 ? 1e-12 : 1e-5) << n;
          EXPECT_EQ(at(row, n), at(each, n));
          total += want, mean += want / double(std::max<std::int64_t>(kCounts[std::size_t(n)], 1)) / 5;
        }
        EXPECT_NEAR(loss_of(x, {.reduction = Reduction::sum}).item<double>(), total, 1e-4);
        EXPECT_NEAR(loss_of(x, {}).item<double>(), mean, 1e-4);
      }
  });
}
TEST(CtcLoss, OfOneSampleAndAnotherBlank) {
  const Tensor x = probabilities({4, 3});
  const Tensor got = ctc_loss(x, tensor(Labels{0, 1}), full({}, 4), full({}, 2), {2, Reduction::none});
  EXPECT_EQ(got.shape(), Shape{});
  EXPECT_NEAR(got.item<double>(), plain_loss(unsqueeze(x, 1), 0, 4, {0, 1}, 2), 1e-12);
}
TEST(CtcLoss, WithoutTimesOrLabels) {
  const Tensor x = probabilities({3, 2, 3});
  const Tensor none = zeros({2, 0}, {.dtype = DType::int64});
  const Tensor loss = ctc_loss(x, none, tensor(Labels{0, 3}), tensor(Labels{0, 0}), {.reduction = Reduction::none});
  EXPECT_EQ(at(loss, 0), 0);
  EXPECT_NEAR(at(loss, 1), plain_loss(x, 1, 3, {}, 0), 1e-12);
  const Tensor endless =
      ctc_loss(x, full({2, 1}, 1), tensor(Labels{0, 0}), tensor(Labels{1, 0}), {.reduction = Reduction::none});
  EXPECT_EQ(at(endless, 0), kInfinity);
  EXPECT_EQ(at(endless, 1), 0);
}

TEST(CtcLoss, GradientsOfBothOrders) {
  on_every_target([] {
    for (const Reduction r : {Reduction::none, Reduction::mean, Reduction::sum})
      expect_gradients([&](const Tensor& v) { return loss_of(log_softmax(v, 2), {0, r}); }, sample({5, 5, 3}, float64));
    expect_gradients(
        [](const Tensor& v) {
          return ctc_loss(log_softmax(v, 1), tensor(Labels{0, 1, 1}), full({}, 5), full({}, 3), {2});
        },
        sample({5, 3}, float64));
  });
}
Tensor slope_of(const Tensor& y, const Tensor& x, bool create_graph) {
  return grad(std::vector{y}, std::vector{x}, {}, {.create_graph = create_graph})[0];
}
TEST(CtcLoss, DefinitionHasTheKernelsGradient) {
  const Tensor x = probabilities({5, 5, 3}), weights = sample({5}, float64);
  const auto slope = [&](bool create_graph) {
    const Tensor leaf = x.detach().requires_grad_();
    return slope_of(sum(loss_of(leaf) * weights), leaf, create_graph).detach();
  };
  expect_close(slope(true), slope(false), {1e-12, 1e-12});
}
TEST(CtcLoss, NoPathIsInfiniteOrNothing) {
  const Tensor targets = tensor(Labels{1, 1, 1, 2}, {2, 2}), times = tensor(Labels{2, 2}),
               counts = tensor(Labels{2, 2});
  for (const bool zero : {false, true})
    for (const bool create_graph : {false, true}) {
      Tensor x = probabilities({3, 2, 3}).detach().requires_grad_();
      const Tensor loss = ctc_loss(x, targets, times, counts, {0, Reduction::none, zero});
      EXPECT_EQ(at(loss, 0), zero ? 0 : kInfinity);
      EXPECT_NEAR(at(loss, 1), plain_loss(x, 1, 2, {1, 2}, 0), 1e-12);
      const Tensor g = slope_of(sum(loss), x, create_graph);
      ASSERT_EQ(g.shape(), x.shape());
      if (!zero && create_graph) EXPECT_FALSE(std::isfinite(at(sum(g), 0)));
      for (std::int64_t t = 0; t < 3; ++t)
        for (std::int64_t c = 0; c < 3; ++c) {
          if (zero || t == 2) EXPECT_EQ(at(g, Shape{t, 0, c}), 0);
          else if (!create_graph) EXPECT_TRUE(std::isnan(at(g, Shape{t, 0, c})));
          EXPECT_TRUE(std::isfinite(at(g, Shape{t, 1, c})));
        }
    }
}
TEST(CtcLoss, ClassesThatCannotBe) {
  Tensor x = probabilities({4, 1, 3}).detach();
  x.select(0, 1).select(0, 0).select(0, 2).fill_(-kInfinity);
  x = x.requires_grad_();
  const Tensor loss = ctc_loss(x, full({1, 1}, 2), full({1}, 4), full({1}, 1), {.reduction = Reduction::sum});
  EXPECT_NEAR(loss.item<double>(), plain_loss(x, 0, 4, {2}, 0), 1e-12);
  loss.backward();
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_TRUE(std::isfinite(at(x.grad(), i))) << i;
  EXPECT_EQ(at(x.grad(), Shape{1, 0, 2}), 0);
}
TEST(CtcLoss, LongSequencesInFloatAreThoseOfDouble) {
  const Tensor wide = probabilities({300, 3, 40}, float64, 5), targets = sample({3, 60}, int64, {.low = 1, .high = 40});
  const Tensor times = tensor(Labels{300, 250, 200}), counts = tensor(Labels{60, 60, 13});
  Tensor x = to(wide, float32).detach().requires_grad_(), y = wide.detach().requires_grad_();
  const Tensor a = ctc_loss(x, targets, times, counts), b = ctc_loss(y, targets, times, counts);
  EXPECT_NEAR(a.item<double>(), b.item<double>(), 1e-4);
  a.backward(), b.backward();
  expect_close(to(x.grad(), float64), y.grad(), {1e-5, 1e-3});
}
TEST(CtcLoss, ThreadsGiveTheSameBits) {
  const int before = get_num_threads();
  const Tensor x = probabilities({60, 40, 30}, float32), targets = sample({40, 20}, int64, {.low = 1, .high = 30});
  const auto both = [&](int threads) {
    set_num_threads(threads);
    Tensor leaf = x.detach().requires_grad_();
    const Tensor loss = ctc_loss(leaf, targets, full({40}, 60), full({40}, 20));
    loss.backward();
    return std::pair(loss.item<double>(), leaf.grad().to_vector<float>());
  };
  const auto alone = both(1);
  EXPECT_TRUE(both(2) == alone && both(3) == alone);
  set_num_threads(before);
}

TEST(CtcLoss, Errors) {
  const Tensor x = probabilities({4, 2, 3}), t = full({2, 2}, 1), four = full({2}, 4), two = full({2}, 2);
  EXPECT_ERROR(IndexError, "ctc_loss: expected indices from 0 to 2, got 3", ctc_loss(x, full({2, 2}, 3), four, two));
  EXPECT_ERROR(IndexError, "got -1", ctc_loss(x, full({4}, -1), four, two));
  EXPECT_ERROR(DTypeError, "expected log_probs of dtype float32 or float64, got float16",
               ctc_loss(to(x, float16), t, four, two));
  EXPECT_ERROR(ShapeError, "expected log_probs [T, N, C] or [T, C] with elements, got [0, 2, 3]",
               ctc_loss(zeros({0, 2, 3}), t, full({2}, 0), two));
  EXPECT_ERROR(ShapeError, "got [3]", ctc_loss(zeros({3}), t, four, two));
  EXPECT_ERROR(ValueError, "expected blank within the 3 classes, got 3", ctc_loss(x, t, four, two, {3}));
  EXPECT_ERROR(ShapeError, "one number for each sample [2], got [3] and [2]", ctc_loss(x, t, full({3}, 4), two));
  EXPECT_ERROR(ValueError, "expected input_lengths from 0 to 4, got 5", ctc_loss(x, t, full({2}, 5), two));
  EXPECT_ERROR(ValueError, "expected target_lengths from 0 to 2, got 3", ctc_loss(x, t, four, full({2}, 3)));
  EXPECT_ERROR(ValueError, "got -1", ctc_loss(x, t, four, full({2}, -1)));
  EXPECT_ERROR(ShapeError, "as many targets as target_lengths say, 4, got 5", ctc_loss(x, full({5}, 1), four, two));
  EXPECT_ERROR(ShapeError, "expected targets [2, S] or all in a row, got [3, 2]",
               ctc_loss(x, full({3, 2}, 1), four, two));
  EXPECT_ERROR(ShapeError, "got [2, 2, 1]", ctc_loss(x, full({2, 2, 1}, 1), four, two));
  EXPECT_ERROR(DTypeError, "expected targets of dtype int64 or int32", ctc_loss(x, full({2, 2}, 1.0), four, two));
  EXPECT_ERROR(DTypeError, "expected input_lengths of integers", ctc_loss(x, t, full({2}, 4.0), two));
  EXPECT_ERROR(ValueError, "expected a tensor as targets", ctc_loss(x, Tensor(), four, two));
}

}  // namespace
}  // namespace neura::test
