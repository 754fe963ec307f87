#include "neura/ops/linalg/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/matrix_functions.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "tests/support/close.h"
#include "tests/support/gradients.h"
#include "tests/support/lapack.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura {
namespace {

using namespace linalg;
using test::error_of;
using test::expect_close;
using test::expect_gradients;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
Tensor h(const Tensor& x) { return conj(mT(x)); }
Tensor one(const Tensor& like) { return eye(like.size(-1), {.dtype = like.dtype()}).expand(like.shape()); }
Tensor matrices(const Shape& s, DType d, std::uint64_t seed = 1) { return test::sample(s, d, {.seed = seed}); }
const DType kDTypes4[] = {float32, float64, complex64, complex128};
test::Tolerance loose(DType d) { return test::tolerance(d).times(100); }

struct Linalg : testing::Test {
  void SetUp() override { NEURA_NEEDS_LAPACK(); }
};

// In a batch each matrix has a lane of a register; a pivot of 0 and a NaN are no other's concern.
TEST_F(Linalg, SmallMatricesOfABatchAreWhatEachIsAlone) {
  for (const DType d : {float32, float64})
    for (const std::int64_t n : {1, 2, 3, 4, 7, 16}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(n));
      Tensor a = matrices({37, n, n}, d);
      a[5].fill_(0), a[20].fill_(nan), a[21].select(-1, n / 2).fill_(0);
      const Tensor b = matrices({37, n, 3}, d, 2);
      const auto inverse = inv_ex(a);
      const auto x = solve_ex(a, b);
      const auto factors = lu_factor_ex(a);
      EXPECT_EQ(inverse.info[5].item<int>(), 1);
      EXPECT_EQ(inverse.info[21].item<int>(), int(n / 2 + 1));
      for (std::int64_t i = 0; i < 37; ++i) {
        SCOPED_TRACE(i);
        const auto alone = lu_factor_ex(a[i]);
        test::expect_same(factors.LU[i], alone.LU);
        test::expect_same(factors.pivots[i], alone.pivots);
        test::expect_same(factors.info[i], alone.info);
        test::expect_same(x.result[i], solve_ex(a[i], b[i]).result);
        const auto own = inv_ex(a[i]);
        test::expect_same(inverse.inverse[i], own.inverse);
        test::expect_same(inverse.info[i], own.info);
      }
    }
}
TEST_F(Linalg, FactorsGiveTheMatrixBackInEveryDType) {
  for (const DType d : kDTypes4)
    for (const Shape& s : {Shape{5, 5}, Shape{2, 3, 6, 4}, Shape{3, 4, 6}, Shape{70, 33}}) {
      SCOPED_TRACE(std::string(name(d)) + " " + s.str());
      const Tensor a = matrices(s, d);
      const auto [p, l, u] = lu(a);
      expect_close(matmul(p, matmul(l, u)), a, loose(d));
      for (const char* mode : {"reduced", "complete"}) {
        const auto [q, r] = qr(a, mode);
        expect_close(matmul(q, r), a, loose(d));
        expect_close(matmul(h(q), q), one(matmul(h(q), q)), loose(d));
      }
      const auto thin = svd(a, false);
      expect_close(matmul(thin.U * thin.S.unsqueeze(-2), thin.Vh), a, loose(d));
      const auto full = svd(a);
      expect_close(matmul(h(full.U), full.U), one(full.U.narrow(-2, 0, 1).expand(matmul(h(full.U), full.U).shape())),
                   loose(d));
      expect_close(svdvals(a), thin.S, loose(d));
      expect_close(matmul(a, matmul(pinv(a), a)), a, loose(d));
    }
}
TEST_F(Linalg, SymmetricMatricesHaveRealEigenvalues) {
  for (const DType d : kDTypes4) {
    const Tensor x = matrices({2, 5, 5}, d), a = matmul(x, h(x)) + one(x);
    const Tensor garbage = triu(full({5, 5}, 9.0, {.dtype = d}), 1);
    const auto [w, v] = eigh(tril(a) + garbage);
    expect_close(matmul(a, v), v * w.unsqueeze(-2), loose(d));
    expect_close(eigvalsh(triu(a) + mT(garbage), 'U'), w, loose(d));
    const Tensor l = cholesky(a), u = cholesky(a, true);
    expect_close(matmul(l, h(l)), a, loose(d)), expect_close(u, h(l), loose(d));
    const auto f = ldl_factor(a, true);
    const Tensor b = matrices({2, 5, 3}, d, 2);
    expect_close(matmul(a, ldl_solve(f.LD, f.pivots, b, true)), b, loose(d));
    expect_close(matmul(a, cholesky_solve(b, l)), b, loose(d));
    expect_close(matmul(a, cholesky_inverse(u, true)), one(a), loose(d));
  }
}
TEST_F(Linalg, SystemsOfEverySideAndForm) {
  for (const DType d : kDTypes4) {
    const Tensor a = matrices({2, 4, 4}, d) + one(matrices({2, 4, 4}, d)) * 3.0, b = matrices({4, 3}, d, 2);
    expect_close(matmul(a, solve(a, b)), b.expand({2, 4, 3}), loose(d));
    expect_close(matmul(solve(a, mT(b), false), a), mT(b).expand({2, 3, 4}), loose(d));
    const Tensor vectors = matrices({2, 4}, d, 3);
    expect_close(matmul(a, solve(a, vectors).unsqueeze(-1)).squeeze(-1), vectors, loose(d));
    expect_close(matmul(a, inv(a)), one(a), loose(d));
    const auto f = lu_factor(a);
    expect_close(matmul(h(a), lu_solve(f.LU, f.pivots, b, true, true)), b.expand({2, 4, 3}), loose(d));
    expect_close(matmul(lu_solve(f.LU, f.pivots, mT(b), false), a), mT(b).expand({2, 3, 4}), loose(d));
    const auto [w, v] = eig(a);
    expect_close(matmul(a.to(w.dtype()), v), v * w.unsqueeze(-2), loose(d));
    expect_close(prod(w, -1), det(a).to(w.dtype()), loose(d));
    const auto [sign, log] = slogdet(a);
    expect_close(sign * exp(log), det(a), loose(d));
  }
}
TEST_F(Linalg, LeastSquaresByEveryDriver) {
  const Tensor a = matrices({5, 2}, float64), b = matrices({5, 3}, float64, 2);
  for (const char* driver : {"", "gels", "gelsy", "gelsd", "gelss"}) {
    const auto r = lstsq(a, b, {}, driver);
    expect_close(matmul(mT(a), matmul(a, r.solution) - b), zeros({2, 3}, {.dtype = float64}));
    const bool by_values = std::string(driver) == "gelsd" || std::string(driver) == "gelss";
    EXPECT_EQ(r.singular_values.numel(), by_values ? 2 : 0);
    EXPECT_EQ(r.rank.dim(), std::string(driver) == "gels" ? 1 : 0);
  }
  const Tensor deficient = tensor({{1., 2.}, {2., 4.}, {3., 6.}}, {.dtype = float64});
  EXPECT_EQ(lstsq(deficient, b.narrow(0, 0, 3)).rank.item<int>(), 1);
  EXPECT_EQ(matrix_rank(deficient).item<int>(), 1);
  EXPECT_EQ(lstsq(a, b.select(1, 0)).solution.shape(), (Shape{2}));
}

TEST_F(Linalg, SingularMatricesAreNamed) {
  const Tensor a = stack({eye(2, {.dtype = float64}), ones({2, 2}, {.dtype = float64})});
  EXPECT_EQ(error_of<LinAlgError>([&] { inv(a); }),
            "inv: expected A to be invertible, got matrix 1 of the batch that is singular (info 2)");
  EXPECT_EQ(error_of<LinAlgError>([&] { solve(a[1], ones({2}, {.dtype = float64})); }),
            "solve: expected A to be invertible, got a matrix that is singular (info 2)");
  EXPECT_EQ(error_of<LinAlgError>([&] { cholesky(-a); }),
            "cholesky: expected A to be positive-definite, got matrix 0 of the batch that is not (info 1)");
  EXPECT_EQ(error_of<LinAlgError>([&] { lu_factor(a); }),
            "lu_factor: expected U without a 0 on its diagonal, got matrix 1 of the batch that is not (info 2)");
  EXPECT_EQ(inv_ex(a).info.to_vector<int>(), (std::vector<int>{0, 2}));
  EXPECT_EQ(cholesky_ex(a).info.to_vector<int>(), (std::vector<int>{0, 2}));
  EXPECT_EQ(error_of<LinAlgError>([&] { svd(a * nan); }),
            "svd: expected finite elements, got inf or nan in matrix 0 of the batch");
  EXPECT_EQ(error_of<LinAlgError>([&] { eigvals(a[0] / 0.0); }),
            "eig: expected finite elements, got inf or nan in matrix 0 of the batch");
  EXPECT_EQ(det(a).to_vector<double>(), (std::vector<double>{1, 0}));
  EXPECT_EQ(slogdet(a).logabsdet.to_vector<double>()[1], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(cond(a, 1.0).to_vector<double>()[1]));
}
TEST_F(Linalg, MistakesAreNamed) {
  const Tensor a = zeros({2, 3}), square = eye(3), whole = ones({2, 2}, {.dtype = int64});
  EXPECT_EQ(error_of<ShapeError>([&] { inv(a); }),
            "inv: expected A to be square matrices [..., n, n], got float32 [2, 3]");
  EXPECT_EQ(error_of<ShapeError>([&] { svd(ones({3})); }),
            "svd: expected A to be matrices [..., m, n], got float32 [3]");
  EXPECT_EQ(error_of<DTypeError>([&] { det(whole); }),
            "det: expected float32, float64, complex64 or complex128, got int64 [2, 2]; convert with to(dtype)");
  EXPECT_EQ(error_of<DTypeError>([&] { solve(square, ones({3}, {.dtype = float64})); }),
            "solve: expected operands of one dtype, got float32 [3, 3] and float64 [3]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              solve(square, ones({2, 2}));
            }),
            "solve: expected B [..., n, k] for A [..., n, n], got A float32 [3, 3] and B float32 [2, 2]");
  EXPECT_EQ(error_of<ValueError>([&] { qr(a, "thin"); }), "qr: expected mode 'reduced', 'complete' or 'r', got 'thin'");
  EXPECT_EQ(error_of<ValueError>([&] { eigh(square, 'M'); }), "eigh: expected UPLO to be 'L' or 'U', got 'M'");
  EXPECT_EQ(error_of<NotImplementedError>([&] { lu(square, false); }), "lu_factor: expected pivot=True, got False");
  EXPECT_EQ(error_of<IndexError>([&] {
              lu_solve(square, tensor({1, 2, 9}).to(int32), ones({3, 1}));
            }).substr(0, 55),
            "lu_unpack: expected indices from 0 to 2, got 8 (int32 [");
}
TEST_F(Linalg, DerivativesThatAreNotThere) {
  const auto error = [](const Tensor& x, auto f) {
    Tensor leaf = x.clone().requires_grad_();
    return error_of<AutogradError>([&] { sum(real(f(leaf))).backward(); });
  };
  const Tensor a = matrices({4, 2}, complex128), s = matrices({3, 3}, complex128);
  EXPECT_NE(error(a, [](const Tensor& x) { return qr(x, "r").R; }).find("which has no Q"), std::string::npos);
  EXPECT_NE(error(a, [](const Tensor& x) { return qr(x, "complete").Q; }).find("use mode 'reduced'"),
            std::string::npos);
  const char* phase = "that does not depend on their phase";
  EXPECT_NE(error(s, [](const Tensor& x) { return eigh(x).eigenvectors; }).find(phase), std::string::npos);
  EXPECT_NE(error(s, [](const Tensor& x) { return svd(x).U; }).find(phase), std::string::npos);
}
TEST_F(Linalg, TheDeterminantOfASingularMatrixHasADerivative) {
  const Tensor a = tensor({{1., 2., 3.}, {2., 4., 6.}, {1., 0., 1.}}, {.dtype = float64});
  Tensor x = a.clone().requires_grad_();
  det(x).backward();
  expect_close(x.grad(), {4, 4, -4, -2, -2, 2, 0, 0, 0});
}
TEST_F(Linalg, TheDeterminantsOfABatchOfSingularAndRegularMatricesHaveTwo) {
  const Tensor a = tensor({1., 2., 2., 4., 0., 1., 0., 0., 3., 1., 1., 2.}, {.dtype = float64}).view({3, 2, 2});
  Tensor x = a.clone().requires_grad_();
  const std::vector<double> cofactors = {4, -2, -2, 1, 0, 0, -1, 0, 2, -1, -1, 3};
  expect_close(grad(sum(det(x)), x), cofactors);
  const Tensor first = grad(sum(det(x)), x, {}, {.create_graph = true});
  expect_close(first.detach(), cofactors);
  const Tensor w = matrices({2, 2}, float64);
  const Tensor second = grad(sum(first * w), x), signs = tensor({{1., -1.}, {-1., 1.}}, {.dtype = float64});
  expect_close(second, (flip(w, {0, 1}) * signs).expand({3, 2, 2}));
}
TEST_F(Linalg, PowersAndNormsThatNeedFactors) {
  const Tensor a = matrices({2, 3, 3}, float64) + 2.0 * one(matrices({2, 3, 3}, float64));
  expect_close(matmul(matrix_power(a, -2), matrix_power(a, 2)), one(a));
  expect_close(matrix_power(one(a), INT64_MIN), one(a));  // whose negative is no number of 64 bits
  const Tensor s = svdvals(a);
  expect_close(matrix_norm(a, {.ord = 2}), s.select(1, 0));
  expect_close(matrix_norm(a, {.ord = -2, .keepdim = true}), s.select(1, 2).view({2, 1, 1}));
  expect_close(nuclear_norm(a), sum(s, 1));
  expect_gradients([](const Tensor& t) { return matrix_norm(t, {.ord = 2}); }, a);
  expect_gradients([](const Tensor& t) { return matrix_power(t, -3); }, a);
}
TEST_F(Linalg, OfNothing) {
  const Tensor none = zeros({0, 0}, {.dtype = float64}), flat = zeros({2, 3, 0}, {.dtype = float64});
  EXPECT_EQ(inv(none).shape(), (Shape{0, 0}));
  EXPECT_EQ(det(none).item<double>(), 1);
  EXPECT_EQ(svd(flat).U.shape(), (Shape{2, 3, 3}));
  expect_close(svd(flat).U, one(zeros({2, 3, 3}, {.dtype = float64})));
  EXPECT_EQ(pinv(flat).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(matrix_rank(flat).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(qr(flat, "complete").Q.shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(eigh(none).eigenvalues.numel() + eig(none).eigenvalues.numel(), 0);
  EXPECT_EQ(lstsq(flat, ones({2, 3, 1}, {.dtype = float64})).solution.shape(), (Shape{2, 0, 1}));
}

}  // namespace
}  // namespace neura
