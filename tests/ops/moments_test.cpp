// Moments of numbers far from 0, against plain loops in double: what a float32 holds of a mean of 10^6 is no more exact
// than 0.03, and no result may show it.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

struct Far {
  double mean, deviation;
};
constexpr Far kFar[] = {{1e6, 1}, {1e7, 2}, {-1e7, 2}, {1e20, 1e15}, {0, 1}};

Tensor far_numbers(const Shape& shape, Far f) {
  manual_seed(7);
  return (randn(shape, {.dtype = DType::float64}) * f.deviation + f.mean).to(DType::float32);
}
Tensor in_double(const Tensor& x) { return x.to(DType::float64); }

// Mean and mean of squared distances, by plain sums about the first number.
struct Oracle {
  double mean = 0, variance = 0;
  explicit Oracle(const std::vector<double>& x) {
    const double n = double(x.size()), pilot = x[0];
    double sum = 0;
    for (const double v : x) sum += v - pilot;
    mean = pilot + sum / n;
    for (const double v : x) variance += (v - mean) * (v - mean);
    variance /= n;
  }
};
double relative(double got, double right) { return std::abs(got / right - 1); }

void expect_moments(const Tensor& x, const Dims& dims, int kept, const char* what) {
  const auto [variance, mean] = var_mean(x, dims, 0);
  const Tensor deviation = std(x, dims, 0), lines = kept < 0 ? x : x.transpose(0, kept);
  const std::int64_t results = kept < 0 ? 1 : x.size(kept);
  ASSERT_EQ(variance.numel(), results) << what;
  for (std::int64_t i = 0; i < results; ++i) {
    const Oracle right(in_double(kept < 0 ? x : lines[i]).to_vector<double>());
    EXPECT_LT(relative(in_double(variance).to_vector<double>()[std::size_t(i)], right.variance), 1e-6) << what;
    EXPECT_LT(relative(in_double(deviation).to_vector<double>()[std::size_t(i)], std::sqrt(right.variance)), 1e-6)
        << what;
    EXPECT_EQ(in_double(mean).to_vector<double>()[std::size_t(i)], double(float(right.mean))) << what;
  }
}

TEST(Moments, OfNumbersFarFromZeroAreThoseOfFloat64InEveryLayout) {
  for (const Far& f : kFar) {
    if (f.mean == 0) continue;  // the mean itself is then no float's neighbour
    SCOPED_TRACE(f.mean);
    expect_moments(far_numbers({3, 4096}, f), {1}, 0, "rows");
    expect_moments(far_numbers({4096, 3}, f), {0}, 1, "narrow columns");
    expect_moments(far_numbers({1024, 70}, f), {0}, 1, "columns");
    expect_moments(far_numbers({16, 5, 256}, f), {0, 2}, 1, "both sides");
    expect_moments(far_numbers({6, 512}, f).transpose(0, 1), {0}, 1, "transposed");
    expect_moments(far_numbers({4, 2048}, f).slice(1, 1, 2048, 3), {1}, 0, "steps");
    expect_moments(far_numbers({300, 7}, f), {1}, 0, "short rows");
    expect_moments(far_numbers({1 << 20}, f), {}, -1, "all");
  }
}
TEST(Moments, AnUnusualFirstNumberIsNoHarm) {
  for (const double first : {1e17, -1e12, 3e37, std::numeric_limits<double>::infinity()}) {
    const Tensor x = far_numbers({4096}, {1e6, 1});
    x[0].fill_(first);
    const Oracle right(in_double(x).to_vector<double>());
    const auto [variance, mean] = var_mean(x, {0}, 0);
    if (!std::isfinite(first)) {
      EXPECT_TRUE(std::isnan(variance.item<double>()));
      EXPECT_EQ(mean.item<double>(), first);
    } else if (double(float(right.variance)) == std::numeric_limits<double>::infinity()) {
      EXPECT_EQ(variance.item<double>(), std::numeric_limits<double>::infinity());
    } else {
      EXPECT_LT(relative(variance.item<double>(), right.variance), 2e-6) << first;
    }
    EXPECT_EQ(var(full({5}, first), {0}, 0).item<double>() == 0, std::isfinite(first));
  }
}
TEST(Moments, GradientOfTheVarianceOfNumbersFarFromZeroIsThatOfFloat64) {
  for (const Far& f : kFar) {
    if (f.mean > 1e7) continue;
    Tensor x = far_numbers({4, 1024}, f), wide = in_double(x);
    const Tensor g = randn({4});
    x.requires_grad_(), wide.requires_grad_();
    std(x, {1}).backward(g), std(wide, {1}).backward(in_double(g));
    const double worst = max(abs(in_double(x.grad()) - wide.grad())).item<double>();
    EXPECT_LT(worst, 1e-6 * max(abs(wide.grad())).item<double>()) << f.mean;
  }
}

// What a normalisation gives in float32, forward and backward, beside what it gives of the same numbers in float64.
template <class F>
void expect_as_in_double(const Tensor& x, int channels, const F& norm, double most, const char* what) {
  manual_seed(3);
  Tensor x1 = x.clone(), w1 = rand({channels}) + 0.5, b1 = randn({channels});
  Tensor x2 = in_double(x), w2 = in_double(w1), b2 = in_double(b1);
  const Tensor g = randn(x.shape());
  for (Tensor* t : {&x1, &w1, &b1, &x2, &w2, &b2}) t->requires_grad_();
  const Tensor y1 = norm(x1, w1, b1), y2 = norm(x2, w2, b2);
  y1.backward(g), y2.backward(in_double(g));
  const auto error = [](const Tensor& a, const Tensor& b) {
    return max(abs(in_double(a) - b)).item<double>() / max(abs(b)).item<double>();
  };
  EXPECT_LT(error(y1.detach(), y2.detach()), most) << what;
  EXPECT_LT(error(x1.grad(), x2.grad()), most) << what << ": input's gradient";
  EXPECT_LT(error(w1.grad(), w2.grad()), most) << what << ": weight's gradient";
  EXPECT_LT(error(b1.grad(), b2.grad()), most) << what << ": bias' gradient";
}

TEST(Moments, NormalisationsOfNumbersFarFromZeroAreThoseOfFloat64) {
  for (const Far& f : kFar) {
    SCOPED_TRACE(f.mean);
    const auto layer = [](const Tensor& x, const Tensor& w, const Tensor& b) { return layer_norm(x, w.shape(), w, b); };
    expect_as_in_double(far_numbers({8, 4096}, f), 4096, layer, 2e-6, "layer_norm");
    expect_as_in_double(far_numbers({40, 10}, f), 10, layer, 2e-6, "layer_norm of short rows");
    const auto batch = [](const Tensor& x, const Tensor& w, const Tensor& b) {
      return batch_norm(x, {}, {}, w, b, {.training = true});
    };
    expect_as_in_double(far_numbers({4, 3, 32, 32}, f), 3, batch, 2e-6, "batch_norm");
    expect_as_in_double(far_numbers({4096, 5}, f), 5, batch, 2e-6, "batch_norm of features");
    expect_as_in_double(
        far_numbers({2, 6, 64, 32}, f), 6,
        [](const Tensor& x, const Tensor& w, const Tensor& b) { return group_norm(x, 2, w, b); }, 2e-6, "group_norm");
    expect_as_in_double(
        far_numbers({2, 6, 64, 32}, f), 6,
        [](const Tensor& x, const Tensor& w, const Tensor& b) { return instance_norm(x, {}, {}, w, b); }, 2e-6,
        "instance_norm");
  }
}
TEST(Moments, RunningStatisticsOfNumbersFarFromZero) {
  const Tensor x = far_numbers({64, 2, 64}, {1e7, 2}), mean = zeros({2}), variance = ones({2});
  batch_norm(x, mean, variance, {}, {}, {.training = true, .momentum = 1});
  for (int k = 0; k < 2; ++k) {
    const Oracle right(in_double(x.select(1, k)).to_vector<double>());
    EXPECT_EQ(mean[k].item<double>(), double(float(right.mean)));
    EXPECT_LT(relative(variance[k].item<double>(), right.variance * 4096 / 4095), 1e-6);
  }
}
TEST(Moments, SecondDerivativesOfALayerNormFarFromZeroAreThoseOfFloat64) {
  const Tensor x = far_numbers({2, 512}, {1e6, 1}), g = randn({2, 512}), h = randn({2, 512});
  const auto second = [&](const Tensor& from) {
    Tensor v = from.clone().requires_grad_();
    const DType d = from.dtype();
    const Tensor first = grad(layer_norm(v, {512}), v, g.to(d), {.create_graph = true});
    return grad(first, v, h.to(d));
  };
  const Tensor right = second(in_double(x));
  EXPECT_LT(max(abs(in_double(second(x)) - right)).item<double>(), 2e-6 * max(abs(right)).item<double>());
}

}  // namespace
}  // namespace neura
