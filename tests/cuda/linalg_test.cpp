// Linear algebra on CUDA by what factors mean: their products give the matrix back, for matrices by warps, in batches
// of the libraries and one by one.
#include "neura/ops/linalg/linalg.h"

#include <cmath>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/cuda/graph.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/linalg/matrix_functions.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"

namespace neura::test {
namespace {

using namespace linalg;
using CudaLinalg = CudaTest;

const std::vector<DType> kNumbers = {float32, float64, complex64, complex128};
// By warps; a batch of a library's; one by one, small and large.
const std::vector<Shape> kSquare = {{1, 1},        {4, 4},         {3, 5, 5}, {20, 100, 100},
                                    {4, 150, 150}, {2, 2, 40, 40}, {300, 300}};
const std::vector<Shape> kAny = {{1, 1},       {3, 5},       {5, 3},         {7, 4, 2},    {6, 2, 9},
                                 {20, 90, 40}, {20, 40, 90}, {3, 150, 60},   {3, 60, 150}, {200, 1},
                                 {1, 200},     {2, 513, 70}, {2, 3, 20, 31}, {300, 400}};

Tensor adjoint(const Tensor& x) { return conj(mT(x)); }
Tensor random(const Shape& s, DType d) { return there(randn(s, {.dtype = d})); }
Tensor unit(const Tensor& like, std::int64_t n) {
  return expand(eye(n, {.dtype = like.dtype(), .device = kCuda}), like.shape());
}
Tensor positive(const Shape& s, DType d) {
  const Tensor a = random(s, d);
  return matmul(a, adjoint(a)) + eye(a.size(-1), {.dtype = d, .device = kCuda});
}
Tolerance of_sums(DType d, const Shape& s) {
  return tolerance(d).times(30 * double(s[s.size() - 1] + s[s.size() - 2]));
}
void expect_like(const Tensor& got, const Tensor& want, Tolerance t) { expect_close(back(got), back(want), t); }
void expect_orthogonal(const Tensor& q, bool columns, Tolerance t) {
  const Tensor p = columns ? matmul(adjoint(q), q) : matmul(q, adjoint(q));
  expect_like(p, unit(p, p.size(-1)), t);
}
Tensor pivots(const std::vector<int>& p) {
  return from_loop({std::int64_t(p.size())}, int32, [&](const Shape& at) { return Scalar(p[std::size_t(at[0])]); });
}
template <class F> void for_matrices(const std::vector<Shape>& shapes, F&& f) {
  for (const Shape& s : shapes)
    for (const DType d : kNumbers) {
      SCOPED_TRACE(s.str() + " " + name(d));
      try {
        f(s, d, of_sums(d, s));
      } catch (const Error& e) {
        ADD_FAILURE() << e.what();
      }
    }
}

TEST_F(CudaLinalg, LuGivesTheMatrixBack) {
  for_matrices(kAny, [](const Shape& s, DType d, Tolerance t) {
    const Tensor a = random(s, d);
    const auto [p, l, u] = lu(a);
    expect_like(matmul(p, matmul(l, u)), a, t);
    EXPECT_LE(amax(abs(l)).item<double>(), 1.5);  // rows were exchanged: |re| + |im| of a pivot is the largest
  });
}
TEST_F(CudaLinalg, CholeskyGivesTheMatrixBack) {
  for_matrices(kSquare, [](const Shape& s, DType d, Tolerance t) {
    const Tensor a = positive(s, d), l = cholesky(a), u = cholesky(a, true);
    expect_like(matmul(l, adjoint(l)), a, t.times(10));
    expect_like(matmul(adjoint(u), u), a, t.times(10));
    expect_like(l, tril(l), {});
    expect_like(u, triu(u), {});
    expect_like(cholesky(tril(a)), l, {});  // one triangle is read
  });
}
TEST_F(CudaLinalg, SystemsAreSolved) {
  for_matrices(kSquare, [](const Shape& s, DType d, Tolerance t) {
    const Tensor a = random(s, d) + double(s.back()) * eye(s.back(), {.dtype = d, .device = kCuda});
    Shape sides = s;
    sides[sides.size() - 1] = 3;
    const Tensor b = random(sides, d);
    expect_like(matmul(a, solve(a, b)), b, t);
    expect_like(matmul(solve(a, mT(b), false), a), mT(b), t);
    expect_like(matmul(a, inv(a)), unit(a, s.back()), t);
    const auto f = lu_factor(a);
    expect_like(matmul(a, lu_solve(f.LU, f.pivots, b)), b, t);
    expect_like(matmul(adjoint(a), lu_solve(f.LU, f.pivots, b, true, true)), b, t);
    expect_like(matmul(triu(a), solve_triangular(a, b, true)), b, t);
    expect_like(matmul(tril(a), solve_triangular(a, b, false)), b, t);
    const Tensor unit_lower = tril(a, -1) * 0.01 + eye(s.back(), {.dtype = d, .device = kCuda});
    expect_like(matmul(unit_lower, solve_triangular(tril(a, -1) * 0.01, b, false, true, true)), b, t);
  });
}
TEST_F(CudaLinalg, DeterminantsAreProductsOfFactors) {
  for_matrices({{1, 1}, {3, 3}, {5, 4, 4}, {40, 40}, {2, 150, 150}}, [](const Shape& s, DType d, Tolerance t) {
    const Tensor a = random(s, d) * (1.5 / std::sqrt(double(s.back()))),
                 b = random(s, d) * (1.5 / std::sqrt(double(s.back())));
    const auto product = slogdet(matmul(a, b)), one = slogdet(a), other = slogdet(b);
    expect_like(product.sign, one.sign * other.sign, t.times(30));
    expect_like(product.logabsdet, one.logabsdet + other.logabsdet, t.times(30));
    if (s.back() < 10) expect_like(det(matmul(a, b)), det(a) * det(b), t.times(10));
  });
}
TEST_F(CudaLinalg, QrGivesTheMatrixBack) {
  for_matrices(kAny, [](const Shape& s, DType d, Tolerance t) {
    const Tensor a = random(s, d);
    for (const char* mode : {"reduced", "complete"}) {
      const auto [q, r] = qr(a, mode);
      expect_like(matmul(q, r), a, t);
      expect_orthogonal(q, true, t);
      expect_like(r, triu(r), {});
      if (*mode == 'r') expect_like(qr(a, "r").R, r, t);
    }
    const auto [reflectors, tau] = geqrf(a);
    if (s[s.size() - 2] >= s.back())
      expect_like(matmul(householder_product(reflectors, tau), triu(narrow(reflectors, -2, 0, s.back()))), a, t);
  });
}
TEST_F(CudaLinalg, EigenvectorsOfSymmetricMatrices) {
  for_matrices(kSquare, [](const Shape& s, DType d, Tolerance t) {
    const Tensor half = random(s, d), a = half + adjoint(half);
    for (const char side : {'L', 'U'}) {
      const auto [values, vectors] = eigh(side == 'L' ? tril(a) : triu(a), side);
      expect_like(matmul(a, vectors), vectors * unsqueeze(values, -2), t.times(10));
      expect_orthogonal(vectors, true, t);
      expect_like(eigvalsh(a, side), values, t.times(10));
      expect_like(sort(values).values, values, {});
    }
  });
}
TEST_F(CudaLinalg, EigenvectorsOfAnyMatrix) {
  for_matrices({{1, 1}, {4, 4}, {3, 5, 5}, {2, 40, 40}}, [](const Shape& s, DType d, Tolerance t) {
    const Tensor a = random(s, d);
    const auto [values, vectors] = eig(a);
    expect_like(matmul(a.to(vectors.dtype()), vectors), vectors * unsqueeze(values, -2), t.times(30));
    const Tensor lengths = sum(abs(vectors) * abs(vectors), -2);
    expect_like(lengths, ones_like(lengths), t);
    expect_like(sort(abs(eigvals(a)), -1).values, sort(abs(values), -1).values, t.times(30));
    if (!is_complex(d)) expect_like(sort(imag(values)).values, sort(neg(imag(values))).values, {});  // conjugates
  });
}
TEST_F(CudaLinalg, SingularValuesGiveTheMatrixBack) {
  for_matrices(kAny, [](const Shape& s, DType d, Tolerance t) {
    const Tensor a = random(s, d);
    const std::int64_t k = std::min(s[s.size() - 2], s.back());
    for (const bool full : {false, true}) {
      const auto [u, values, vh] = svd(a, full);
      expect_like(matmul(narrow(u, -1, 0, k) * unsqueeze(values, -2), narrow(vh, -2, 0, k)), a, t);
      expect_orthogonal(u, true, t), expect_orthogonal(vh, false, t);
      expect_like(sort(values, -1, true).values, values, {});
      expect_like(svdvals(a), values, t);
    }
  });
}
TEST_F(CudaLinalg, LdlSolves) {
  for_matrices({{1, 1}, {5, 5}, {4, 6, 6}, {2, 90, 90}}, [](const Shape& s, DType d, Tolerance t) {
    for (const bool hermitian : {false, true}) {
      const Tensor half = random(s, d), a = half + (hermitian ? adjoint(half) : mT(half));
      Shape sides = s;
      sides[sides.size() - 1] = 3;
      const Tensor b = random(sides, d);
      const auto [ld, pivots, info] = ldl_factor(tril(a), hermitian);
      expect_like(matmul(a, ldl_solve(ld, pivots, b, hermitian)), b, t.times(300));
    }
  });
}

TEST_F(CudaLinalg, ManySmallMatrices) {
  const Tensor a = random({100000, 4, 4}, float32) + 4.0 * eye(4, {.device = kCuda}),
               b = random({100000, 4, 2}, float32);
  const Tensor spd = matmul(a, mT(a)) + eye(4, {.device = kCuda});
  const Tolerance t = tolerance(float32).times(1000);
  expect_like(matmul(a, solve(a, b)), b, t);
  expect_like(matmul(a, inv(a)), unit(a, 4), t);
  const auto [q, r] = qr(a);
  expect_like(matmul(q, r), a, t);
  const Tensor l = cholesky(spd);
  expect_like(matmul(l, mT(l)), spd, t.times(10));
  const auto [values, vectors] = eigh(spd);
  expect_like(matmul(spd, vectors), vectors * unsqueeze(values, -2), t.times(10));
  const auto [u, s, vh] = svd(a, false);
  expect_like(matmul(u * unsqueeze(s, -2), vh), a, t);
}
TEST_F(CudaLinalg, BatchesOfTinyMatricesGiveWhatTheCpuGives) {
  for (std::int64_t n = 1; n <= 9; ++n)
    for (const DType d : kNumbers) {
      SCOPED_TRACE(std::to_string(n) + " " + name(d));
      const Shape sizes{50, n, n};
      const Tensor a = random(sizes, d), spd = positive(sizes, d), sides = random({50, n, 3}, d);
      const Tolerance t = of_sums(d, sizes).times(100);
      const auto here = lu_factor(back(a)), there = lu_factor(a);
      expect_close(back(there.LU), here.LU, t);
      expect_same(back(there.pivots), here.pivots);
      expect_like(matmul(a, solve(a, sides)), sides, t.times(100));
      expect_like(matmul(a, inv(a)), unit(a, n), t.times(100));
      expect_close(back(det(a)), det(back(a)), t);
      for (const bool upper : {false, true}) expect_close(back(cholesky(spd, upper)), cholesky(back(spd), upper), t);
      Tensor bad = a.clone();
      bad.select(0, 7).fill_(0.0);
      const std::vector<int> infos = back(inv_ex(bad).info).to_vector<int>();
      EXPECT_EQ(infos[7], 1);
      EXPECT_EQ(infos[8], 0);
      EXPECT_EQ(back(cholesky_ex(bad - spd).info).to_vector<int>()[7], 1);
    }
}
TEST_F(CudaLinalg, LargeMatrices) {
  const Tensor a = random({3000, 3000}, float64), b = random({3000, 10}, float64),
               spd = matmul(a, mT(a)) * 1e-3 + eye(3000, {.dtype = float64, .device = kCuda});
  const Tolerance t{1e-8, 1e-8};
  expect_like(matmul(a, solve(a, b)), b, t);
  const Tensor l = cholesky(spd);
  expect_like(matmul(l, mT(l)), spd, t);
  const auto [q, r] = qr(narrow(a, 1, 0, 500));
  expect_like(matmul(q, r), narrow(a, 1, 0, 500), t);
  const auto [values, vectors] = eigh(narrow(narrow(spd, 0, 0, 1000), 1, 0, 1000));
  expect_like(matmul(narrow(narrow(spd, 0, 0, 1000), 1, 0, 1000), vectors), vectors * values, t);
  const Tensor wide = narrow(narrow(a, 0, 0, 600), 1, 0, 1000);
  const auto [u, s, vh] = svd(wide, false);
  expect_like(matmul(u * s, vh), wide, t);
}

TEST_F(CudaLinalg, SingularMatricesAreNamed) {
  for (const std::int64_t n : {3, 40, 150}) {
    SCOPED_TRACE(n);
    Tensor host = randn({2, n, n}, {.dtype = float64});
    host.select(0, 1).select(1, 1).fill_(0.0);  // a column of matrix 1
    const Tensor a = there(host), b = there(ones({n, 1}, {.dtype = float64}));
    EXPECT_NE(error_of<LinAlgError>([&] { inv(a); }).find("matrix 1 of the batch"), std::string::npos);
    EXPECT_NE(error_of<LinAlgError>([&] { solve(a, b); }).find("matrix 1 of the batch"), std::string::npos);
    EXPECT_EQ(back(inv_ex(a).info).to_vector<int>()[0], 0);
    EXPECT_GT(back(inv_ex(a).info).to_vector<int>()[1], 0);
    EXPECT_EQ(back(det(a)).to_vector<double>()[1], 0);
    const Tensor spd = matmul(a, mT(a));
    EXPECT_THROW(cholesky(spd - 1e3 * eye(n, {.dtype = float64, .device = kCuda})), LinAlgError);
    EXPECT_EQ(back(cholesky_ex(neg(eye(n, {.dtype = float64, .device = kCuda}))).info).item<int>(), 1);
  }
}
TEST_F(CudaLinalg, ElementsThatAreNotFiniteAreNamed) {
  for (const std::int64_t n : {3, 40}) {
    Tensor host = randn({3, n, n});
    host.select(0, 2).select(0, 1).select(0, 0).fill_(std::numeric_limits<double>::quiet_NaN());
    const Tensor a = there(host);
    const std::string text = "expected finite elements, got inf or nan in matrix 2 of the batch";
    EXPECT_NE(error_of<LinAlgError>([&] { eigh(a); }).find(text), std::string::npos);
    EXPECT_NE(error_of<LinAlgError>([&] { eig(a); }).find(text), std::string::npos);
    EXPECT_NE(error_of<LinAlgError>([&] { svd(a); }).find(text), std::string::npos);
    EXPECT_TRUE(eigh(a, 'U').eigenvalues.defined());  // the other triangle is not read
  }
}
TEST_F(CudaLinalg, PivotsOutsideAreReported) {
  const Tensor lu = random({3, 3}, float64), b = random({3, 1}, float64);
  EXPECT_THROW(back(lu_solve(lu, there(pivots({1, 2, 4})), b)), IndexError);
  EXPECT_THROW(back(ldl_solve(lu, there(pivots({1, -2, 3})), b)), IndexError);
}
TEST_F(CudaLinalg, OfNothing) {
  const Tensor none = there(zeros({0, 3, 3})), flat = there(zeros({2, 0, 3})), empty = there(zeros({2, 0, 0}));
  EXPECT_EQ(inv(none).shape(), (Shape{0, 3, 3}));
  expect_close(back(det(empty)), ones({2}));
  EXPECT_EQ(qr(flat).Q.shape(), (Shape{2, 0, 0}));
  EXPECT_EQ(eigvalsh(none).shape(), (Shape{0, 3}));
  expect_close(back(svd(flat).Vh), expand(eye(3), {2, 3, 3}));
  EXPECT_EQ(cholesky(empty).shape(), (Shape{2, 0, 0}));
}
TEST_F(CudaLinalg, AGraphHoldsWhatDoesNotWait) {
  Tensor a = positive({8, 4, 4}, float64), b = random({8, 4, 2}, float64), x, l;
  const auto run = [&] { x = solve_ex(a, b).result, l = cholesky_ex(a).L; };
  run();
  cuda::Graph graph;
  graph.capture(run);
  a.copy_(positive({8, 4, 4}, float64)), graph.replay();
  expect_like(matmul(a, x), b, tolerance(float64).times(1000));
  expect_like(matmul(l, mT(l)), a, tolerance(float64).times(1000));
}

}  // namespace
}  // namespace neura::test
