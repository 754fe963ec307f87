// Norms of numbers whose squares leave the range of their dtype, and what is made of norms.
#include <gtest/gtest.h>

#include <cmath>

#include "neura/nn/clip.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/statistics.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

constexpr DType f32 = DType::float32, f64 = DType::float64;

Tensor numbers(const Shape& shape, DType d, std::uint64_t seed = 5) {
  manual_seed(seed);
  return randn(shape, {.dtype = f64}).to(d);
}
double worst(const Tensor& got, const Tensor& right) {
  return max(abs(got.to(f64) / right.to(f64) - 1.0)).item<double>();
}

struct Size {
  DType dtype;
  double by, most;
};
// The p-th root of a sum of 10^37 multiplies the rounding of 1 / p by 85, the sum's logarithm; of 10^300 by 690.
constexpr Size kSizes[] = {{f32, 1e25, 3e-6},   {f32, 1e-30, 3e-6},   {f32, 1e-21, 3e-6},  {f32, 1, 3e-6},
                           {f64, 1e200, 5e-14}, {f64, 1e-200, 5e-14}, {f64, 1e-160, 5e-14}};

// Norms are homogeneous: of numbers `by` as large they are `by` as large, and the derivative is the same one.
template <class F> void expect_homogeneous(const F& norm, int degree, const char* what) {
  for (const Size& s : kSizes) {
    SCOPED_TRACE(s.by);
    Tensor x = (numbers({3, 7, 40}, s.dtype) * s.by).requires_grad_();
    Tensor wide = (x.detach().to(f64) / s.by).requires_grad_();
    const Tensor y = norm(x), right = norm(wide), g = numbers(y.shape(), f64, 6);
    EXPECT_LT(worst(y.detach(), right.detach() * (degree ? s.by : 1)), s.most) << what;
    const double scale = degree ? 1 : s.by;  // of the gradient, so that it does not leave the range itself
    y.backward((g * scale).to(s.dtype)), right.backward(g);
    const double error = max(abs(x.grad().to(f64) - wide.grad())).item<double>();
    EXPECT_LT(error, 4 * s.most * max(abs(wide.grad())).item<double>()) << what << ": gradient";
  }
}

TEST(NormRange, VectorNormsOfHugeAndTinyNumbersAreRight) {
  for (const double p : {2.0, 3.0, 1.5, 0.5, 1.0, -1.0, -2.0, std::numeric_limits<double>::infinity()}) {
    SCOPED_TRACE(p);
    expect_homogeneous([&](const Tensor& x) { return vector_norm(x, p, 2); }, 1, "last dimension");
    expect_homogeneous([&](const Tensor& x) { return vector_norm(x, p, {0, 2}, true); }, 1, "two dimensions");
    expect_homogeneous([&](const Tensor& x) { return vector_norm(x.transpose(0, 2), p, 1); }, 1, "transposed");
    expect_homogeneous([&](const Tensor& x) { return norm(x, p); }, 1, "all");
  }
}
TEST(NormRange, OfMixedSizesEachResultIsRight) {
  const Tensor x = tensor({{3e25, 4e25}, {3e-30, 4e-30}, {0.0, 0.0}, {3.0, 4.0}, {1e-45, 0.0}}, {.dtype = f32});
  const Tensor right = tensor({5e25, 5e-30, 0.0, 5.0, 1e-45}, {.dtype = f32});
  for (const Tensor& v : {x, x.t().contiguous().t()})
    for (int i = 0; i < 5; ++i) EXPECT_FLOAT_EQ(vector_norm(v, 2, 1)[i].item<float>(), right[i].item<float>()) << i;
  EXPECT_TRUE(std::isnan(vector_norm(tensor({1e25, double(NAN)}, {.dtype = f32}), 2).item<double>()));
  EXPECT_EQ(vector_norm(tensor({1e25, -double(INFINITY)}, {.dtype = f32}), 2).item<double>(), INFINITY);
  EXPECT_EQ(vector_norm(zeros({0}), 2).item<double>(), 0);
  EXPECT_EQ(vector_norm(tensor({3e25, 4e25}, {.dtype = f32}).to(DType::bfloat16), 2).to(f32).item<float>(),
            tensor({5e25}, {.dtype = f32}).to(DType::bfloat16).to(f32)[0].item<float>());
}
TEST(NormRange, DirectionsOfHugeAndTinyNumbersAreRight) {
  expect_homogeneous([](const Tensor& x) { return normalize(x, 2, 2, 0); }, 0, "normalize");
  expect_homogeneous([](const Tensor& x) { return cosine_similarity(x, flip(x, {1}), 2, 0); }, 0, "cosine_similarity");
  expect_homogeneous([](const Tensor& x) { return pairwise_distance(x, flip(x, {1}) * 2.0, 2, 0); }, 1, "distance");
  expect_homogeneous([](const Tensor& x) { return cdist(x, flip(x, {1}) * 2.0); }, 1, "cdist");
}
TEST(NormRange, DistancesByAProductOfHugeAndTinyNumbersAreRight) {
  for (const double by : {1e25, 1e-30, 1.0}) {
    const Tensor a = numbers({30, 4}, f32), b = numbers({40, 4}, f32) * 2.0;
    Tensor x = (a * by).requires_grad_(), wide = (x.detach().to(f64)).requires_grad_();
    const Tensor y = cdist(x, b * by), right = cdist(wide, (b * by).to(f64));
    EXPECT_LT(max(abs(y.detach().to(f64) - right.detach())).item<double>(), 1e-3 * by);
    y.sum().backward(), right.sum().backward();
    EXPECT_LT(max(abs(x.grad().to(f64) - wide.grad())).item<double>(), 1e-3);
  }
}
TEST(NormRange, CosinesStayWithinTheirEnds) {
  const Tensor x = numbers({2000, 3}, f32), same = cosine_similarity(x, x), other = cosine_similarity(x, -x);
  EXPECT_LE(max(same).item<double>(), 1);
  EXPECT_GE(min(other).item<double>(), -1);
  EXPECT_GT(min(same).item<double>(), 1 - 1e-6);
}
TEST(NormRange, ACosineLossOfHugeAndTinyNumbersIsRight) {
  const Tensor x = numbers({6, 5}, f32), y = flip(x, {0});
  const double right = cosine_embedding_loss(x.to(f64), y.to(f64), ones({6})).item<double>();
  EXPECT_NEAR(cosine_embedding_loss(x * 1e25, y * 1e22, ones({6})).item<double>(), right, 1e-6);
}
TEST(NormRange, ClippingAndRenormOfHugeAndTinyNumbers) {
  for (const Size& s : kSizes) {
    Tensor p = zeros({2}, {.dtype = s.dtype}).requires_grad_(), q = zeros({1}, {.dtype = s.dtype}).requires_grad_();
    p.set_grad((tensor({2.0, 3.0}, {.dtype = f64}) * s.by).to(s.dtype));
    q.set_grad((tensor({6.0}, {.dtype = f64}) * s.by).to(s.dtype));
    EXPECT_NEAR(nn::utils::clip_grad_norm_({p, q}, 1).to(f64).item<double>() / s.by, 7, 7 * s.most);
    if (s.by > 1) EXPECT_NEAR(q.grad()[0].item<double>(), 6.0 / 7, 1e-6);
    if (s.by > 1) {
      const Tensor rows = (tensor({{3.0, 4.0}, {0.0, 0.0}}, {.dtype = f64}) * s.by).to(s.dtype);
      EXPECT_NEAR(renorm(rows, 2, 0, 1).to(f64)[0][1].item<double>(), 0.8, 1e-6);
    }
  }
}

}  // namespace
}  // namespace neura
