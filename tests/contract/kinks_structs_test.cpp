// Kinks and singularities of reductions, scans, pooling, softmax and losses: PyTorch's answers, exactly.
#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/sort/sort.h"
#include "neura/ops/spatial/pool.h"
#include "tests/support/close.h"

namespace neura::test {
namespace {

const double inf = INFINITY, nan = NAN;

Tensor of(const std::vector<double>& v) { return tensor(v); }
template <class F> Tensor slope(F f, Tensor x) {
  x.requires_grad_();
  const Tensor y = f(x), g = grad(y, x, ones_like(y)), again = grad(f(x), x, ones_like(y), {.create_graph = true});
  expect_close(again.detach(), g);
  return g;
}

TEST(Kinks, TiesOfReductions) {
  const Tensor x = of({1, 3, 3, 2});
  expect_close(slope([](const Tensor& t) { return amax(t); }, x), {0, 0.5, 0.5, 0});
  expect_close(slope([](const Tensor& t) { return amin(neg(t)); }, x), {0, -0.5, -0.5, 0});
  expect_close(slope([](const Tensor& t) { return max(t); }, x), {0, 0.5, 0.5, 0});
  expect_close(slope([](const Tensor& t) { return max(t, 0).values; }, x), {0, 1, 0, 0});
  expect_close(slope([](const Tensor& t) { return min(neg(t), 0).values; }, x), {0, -1, 0, 0});
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(argmin(of({2, 1, 1})).item<std::int64_t>(), 1);
  EXPECT_EQ(cummax(of({1, 1, 0}), 0).indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 1}));
}

TEST(Kinks, NanWinsReductions) {
  const Tensor x = of({1, nan, 2});
  for (const Tensor& y : {amax(x), amin(x), max(x), min(x), sum(x), median(x)})
    EXPECT_TRUE(std::isnan(y.item<double>()));
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(nansum(x).item<double>(), 3);
  EXPECT_EQ(nanmedian(x).item<double>(), 1);
  expect_close(sort(x).values, {1, 2, nan});
}

TEST(Kinks, ReductionsOfNothing) {
  const Tensor none = of({});
  EXPECT_EQ(sum(none).item<double>(), 0);
  EXPECT_EQ(prod(none).item<double>(), 1);
  EXPECT_TRUE(std::isnan(mean(none).item<double>()));
  EXPECT_TRUE(std::isnan(var(none).item<double>()));
  EXPECT_EQ(norm(none).item<double>(), 0);
  EXPECT_EQ(logsumexp(none, 0).item<double>(), -inf);
  EXPECT_THROW(amax(none), IndexError);
  EXPECT_THROW(argmax(none), Error);
  EXPECT_TRUE(all(none).item<bool>() && !any(none).item<bool>());
  EXPECT_TRUE(std::isnan(var(of({3})).item<double>()));  // one element, divided by n - 1
}

TEST(Kinks, NormsOfZeros) {
  const Tensor zero = of({0, 0});
  for (const double p : {1., 2., 3., inf}) {
    SCOPED_TRACE(p);
    EXPECT_EQ(norm(zero, p).item<double>(), 0);
    expect_close(slope([&](const Tensor& t) { return norm(t, p); }, zero), {0, 0});
  }
  expect_close(slope([](const Tensor& t) { return norm(t, INFINITY); }, of({2, -2, 1})), {0.5, -0.5, 0});
  expect_close(slope([](const Tensor& t) { return std(t, {}, 0); }, of({2, 2})), {0, 0});
}

TEST(Kinks, ProductsWithZeros) {
  expect_close(slope([](const Tensor& t) { return prod(t); }, of({2, 0, 3})), {0, 6, 0});
  expect_close(slope([](const Tensor& t) { return prod(t); }, of({2, 0, 0})), {0, 0, 0});
  expect_close(slope([](const Tensor& t) { return cumprod(t, 0); }, of({2, 0, 3})), {1, 8, 0});
}

TEST(Kinks, SoftmaxOfInfinities) {
  expect_close(softmax(of({-inf, -inf}), 0), {nan, nan});
  expect_close(log_softmax(of({-inf, -inf}), 0), {nan, nan});
  expect_close(softmax(of({-inf, 0}), 0), {0, 1});
  expect_close(log_softmax(of({-inf, 0}), 0), {-inf, 0});
  expect_close(softmax(of({inf, 0}), 0), {nan, nan});
  expect_close(_safe_softmax(of({-inf, -inf}), 0), {0, 0});
  EXPECT_EQ(logsumexp(of({-inf, -inf}), 0).item<double>(), -inf);
  EXPECT_EQ(logsumexp(of({inf, 0}), 0).item<double>(), inf);
}

TEST(Kinks, QuantilesHaveASlopeInQ) {
  const Tensor x = of({0, 1, 3});
  expect_close(slope([&](const Tensor& q) { return quantile(x, q); }, of({0.25, 0.75})), {2, 4});
  EXPECT_TRUE(std::isnan(nanquantile(of({nan, nan}), 0.5).item<double>()));
  EXPECT_EQ(error_of<DTypeError>([] { logsumexp(of({1}).to(float8_e5m2), 0); }).find("logsumexp: expected"), 0u);
}

TEST(Kinks, PoolingGivesTheFirstOfEquals) {
  const Tensor x = of({1, 1, 2, 2}).view({1, 1, 2, 2});
  expect_close(slope([](const Tensor& t) { return max_pool2d(t, 2); }, x), {0, 0, 1, 0});
  EXPECT_EQ(max_pool2d_with_indices(x, 2)[1].item<std::int64_t>(), 2);
  expect_close(max_pool1d(of({1, nan, 3}).view({1, 1, 3}), 2, {.stride = 1}).view({2}), {nan, nan});
}

TEST(Kinks, LossesAtTheirBends) {
  const Tensor zero = of({0, 0, 0, 0, 0}), x = of({-2, -1, 0, 1, 2});
  const ReductionOptions none{Reduction::none};
  expect_close(slope([&](const Tensor& t) { return l1_loss(t, zero, none); }, x), {-1, -1, 0, 1, 1});
  expect_close(slope([&](const Tensor& t) { return smooth_l1_loss(t, zero, {.reduction = Reduction::none}); }, x),
               {-1, -1, 0, 1, 1});
  expect_close(smooth_l1_loss(x, zero, {.reduction = Reduction::none}), {1.5, 0.5, 0, 0.5, 1.5});
  expect_close(
      slope([&](const Tensor& t) { return smooth_l1_loss(t, zero, {.reduction = Reduction::none, .beta = 0}); }, x),
      {-1, -1, 0, 1, 1});
  expect_close(
      slope([&](const Tensor& t) { return huber_loss(t, zero, {.reduction = Reduction::none, .delta = 2}); }, x),
      {-2, -1, 0, 1, 2});
  expect_close(huber_loss(x, zero, {.reduction = Reduction::none, .delta = 1}), {1.5, 0.5, 0, 0.5, 1.5});
  // Logarithms are at least -100, and the slope's denominator at least 1e-12.
  expect_close(binary_cross_entropy(of({0, 1}), of({1, 1}), {.reduction = Reduction::none}), {100, 0});
  expect_close(slope(
                   [](const Tensor& t) {
                     return binary_cross_entropy(t, of({1, 1}), {.reduction = Reduction::none});
                   },
                   of({0, 1})),
               {-1e12, 0});
  EXPECT_EQ(kl_div(of({-1}), of({0}), {.reduction = Reduction::sum}).item<double>(), 0);
}

TEST(Kinks, LossesOfNothing) {
  const Tensor ignored = full({2}, -100, {.dtype = int64}), scores = of({1, 2, 3, 4}).view({2, 2});
  EXPECT_TRUE(std::isnan(cross_entropy(scores, ignored).item<double>()));
  EXPECT_EQ(cross_entropy(scores, ignored, {.reduction = Reduction::sum}).item<double>(), 0);
  EXPECT_TRUE(std::isnan(mse_loss(of({}), of({})).item<double>()));
}

}  // namespace
}  // namespace neura::test
