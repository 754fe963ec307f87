#include "neura/ops/linalg/matrix_functions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/lapack.h"
#include "tests/support/loop.h"

namespace neura {
namespace {

using test::at;
using test::error_of;
using test::expect_close;
using test::expect_gradients;

constexpr double inf = std::numeric_limits<double>::infinity();
Tensor uniform(const Shape& s) { return rand(s, {.dtype = float64}) + 0.5; }

TEST(MatrixNorm, OfEachOrder) {
  const Tensor x = tensor({{1., -2.}, {3., 4.}}, {.dtype = float64});
  EXPECT_EQ(matrix_norm(x, {.ord = 1}).item<double>(), 6);
  EXPECT_EQ(matrix_norm(x, {.ord = -1}).item<double>(), 4);
  EXPECT_EQ(matrix_norm(x, {.ord = inf}).item<double>(), 7);
  EXPECT_EQ(matrix_norm(x, {.ord = -inf}).item<double>(), 3);
  EXPECT_NEAR(matrix_norm(x).item<double>(), std::sqrt(30), 1e-12);
  EXPECT_EQ(matrix_norm(uniform({2, 3, 4}), {.ord = 1, .dim = {2, 0}, .keepdim = true}).shape(), (Shape{1, 3, 1}));
  expect_gradients([](const Tensor& t) { return matrix_norm(t, {.ord = inf}); }, uniform({2, 3, 4}));
  EXPECT_EQ(error_of<ValueError>([&] { matrix_norm(x, {.ord = 3}); }),
            "matrix_norm: expected ord to be 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc', got 3.000000");
}

TEST(MatrixNorm, OfNothingIsNought) {
  for (const double ord : {1.0, 2.0, inf})
    for (const Shape& sizes : {Shape{0, 0}, Shape{0, 3}, Shape{3, 0}}) {
      if (ord == 2 && !lapack::library()) continue;
      EXPECT_EQ(matrix_norm(zeros(sizes), {.ord = ord}).item<double>(), 0) << ord << sizes.str();
      EXPECT_EQ(matrix_norm(zeros(sizes), {.ord = ord, .keepdim = true}).shape(), (Shape{1, 1}));
    }
  EXPECT_THROW(matrix_norm(zeros({0, 3}), {.ord = -inf}), IndexError);
}

TEST(MatrixPower, IsARepeatedProduct) {
  const Tensor x = uniform({2, 3, 3});
  Tensor want = eye(3, {.dtype = float64}).expand({2, 3, 3});
  for (std::int64_t n = 0; n <= 7; ++n) {
    expect_close(matrix_power(x, n), want);
    want = matmul(want, x);
  }
  expect_gradients([](const Tensor& t) { return matrix_power(t, 5); }, uniform({3, 3}));
  EXPECT_EQ(error_of<ShapeError>([] {
              matrix_power(zeros({2, 3}), 2);
            }),
            "matrix_power: expected square matrices [..., n, n], got float32 [2, 3]");
}

TEST(MatrixExp, OfDiagonalAndNilpotentMatricesAndOfRotations) {
  const Tensor d = tensor({0.5, -3., 12.}, {.dtype = float64});
  const Tensor wide = matrix_exp(d.unsqueeze(1) * eye(3, {.dtype = float64}));
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_NEAR(at(wide, {i, i}) / std::exp(at(d, {i})), 1, 1e-12);
  const Tensor nilpotent = tensor({{0., 2., 1.}, {0., 0., 3.}, {0., 0., 0.}}, {.dtype = float64});
  expect_close(matrix_exp(nilpotent), {1, 2, 4, 0, 1, 3, 0, 0, 1});
  const double angle = 20;
  expect_close(matrix_exp(tensor({{0., -angle}, {angle, 0.}}, {.dtype = float64})),
               {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)});
  expect_gradients([](const Tensor& t) { return matrix_exp(t); }, uniform({2, 3, 3}));
}

}  // namespace
}  // namespace neura
