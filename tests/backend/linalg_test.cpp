#include "neura/backend/kernels/linalg.h"

#include <cmath>

#include "tests/backend/kernels.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

struct LinalgKernels : Kernels<linalg_kernels> {
  void SetUp() override { NEURA_NEEDS_LAPACK(); }
  static void TearDownTestSuite() {
    if (lapack::library()) Kernels::TearDownTestSuite();
  }
};

using Ints = Array<std::int32_t>;

// a of [m, k] times b of [k, n].
template <class T> std::vector<double> product(Array<T>& a, Array<T>& b) {
  const std::int64_t m = a.spec().shape[0], k = a.spec().shape[1], n = b.spec().shape[1];
  std::vector<double> all;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += double(a(i, l)) * double(b(l, j));
      all.push_back(sum);
    }
  return all;
}
TEST_F(LinalgKernels, LuKeepsBothTrianglesAndTheRowsThatChangedPlaces) {
  Array<double> a({2, 2}, {1, 2, 4, 2}), lu({2, 2});
  Ints pivots({3});
  run(&linalg_kernels::lu, a, lu, pivots);
  EXPECT_EQ(lu.values(), (std::vector<double>{4, 2, 0.25, 1.5}));
  EXPECT_EQ(pivots.values(), (std::vector<std::int32_t>{2, 2, 0}));
  Array<std::int64_t> order({2});
  Ints swaps({2}, {2, 2});
  run(&linalg_kernels::permutation, swaps, order);
  EXPECT_EQ(order.values(), (std::vector<std::int64_t>{1, 0}));
  Array<double> det({1});
  run(&linalg_kernels::determinant, a, det, lu, pivots);
  EXPECT_EQ(det.values(), (std::vector<double>{-6}));
  Ints outside({2}, {3, 2});
  EXPECT_EQ(refused(&linalg_kernels::permutation, outside, order), (Index{2, 2}));
}
TEST_F(LinalgKernels, SolutionsAndInverses) {
  Array<double> a({2, 2}, {1, 2, 4, 2}), b({2, 1}, {5, 8}), x({2, 1}), lu({2, 2}), inverse({2, 2});
  Ints pivots({3}), info({1});
  run(&linalg_kernels::solve, a, b, x, lu, pivots);
  expect_near(x, {1, 2}, 1e-14);
  run(&linalg_kernels::inverse, a, inverse, info);
  expect_near(inverse, {-1.0 / 3, 1.0 / 3, 2.0 / 3, -1.0 / 6}, 1e-14);
  EXPECT_EQ(info.at(0), 0);
  Array<double> singular({2, 2}, {1, 2, 2, 4});
  run(&linalg_kernels::inverse, singular, inverse, info);
  EXPECT_EQ(info.at(0), 2);
}
TEST_F(LinalgKernels, TrianglesReadOneTriangle) {
  Array<double> a({2, 2}, {2, 77, 1, 3}), b({2, 1}, {4, 8}), x({2, 1});
  run(&linalg_kernels::triangular, false, false, a, b, x);
  expect_near(x, {2, 2}, 1e-14);
  run(&linalg_kernels::triangular, false, true, a, b, x);
  expect_near(x, {4, 4}, 1e-14);
  Array<double> u({2, 2}, {2, 1, 77, 4});
  run(&linalg_kernels::triangular, true, false, u, b, x);
  expect_near(x, {1, 2}, 1e-14);
}
TEST_F(LinalgKernels, CholeskyReadsOneTriangle) {
  Array<double> lower({2, 2}, {4, 77, 2, 10}), upper({2, 2}, {4, 2, 77, 10}), f({2, 2});
  Ints info({1});
  run(&linalg_kernels::cholesky, false, lower, f, info);
  expect_near(f, {2, 0, 1, 3}, 1e-14);
  run(&linalg_kernels::cholesky, true, upper, f, info);
  expect_near(f, {2, 1, 0, 3}, 1e-14);
  Array<double> indefinite({2, 2}, {4, 2, 2, -1});
  run(&linalg_kernels::cholesky, false, indefinite, f, info);
  EXPECT_EQ(info.at(0), 2);
}
TEST_F(LinalgKernels, LdlSolvesIndefiniteSystems) {
  Array<double> a({2, 2}, {0, 2, 2, 1}), ld({2, 2}), b({2, 1}, {4, 4}), x({2, 1});
  Ints pivots({3});
  run(&linalg_kernels::ldl, false, a, ld, pivots);
  Ints swaps({2}, {pivots.at(0), pivots.at(1)});
  run(&linalg_kernels::ldl_solve, false, ld, swaps, b, x);
  expect_near(x, {1, 2}, 1e-14);
  Ints outside({2}, {7, 1});
  EXPECT_EQ(refused(&linalg_kernels::ldl_solve, false, ld, outside, b, x), (Index{7, 2}));
}
TEST_F(LinalgKernels, ReflectorsAreTheQOfQr) {
  Array<double> a = eighths<double>({4, 3}), reflectors({4, 3}), tau({3}), q({4, 3}), direct({4, 3}), r({3, 3});
  run(&linalg_kernels::householder, a, reflectors, tau);
  run(&linalg_kernels::reflect, reflectors, tau, q);
  run(&linalg_kernels::qr, a, direct, r);
  expect_near(q, direct.values(), 1e-13);
  expect_near(a, product(direct, r), 1e-13);
  Array<double> whole({4, 4}), tall({4, 3}), none({0});
  run(&linalg_kernels::qr, a, whole, tall);
  expect_near(a, product(whole, tall), 1e-13);
  run(&linalg_kernels::qr, a, none, r);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_NEAR(r(i, i), tall(i, i), 1e-13);
}
TEST_F(LinalgKernels, EigenvaluesAndVectors) {
  Array<double> a({2, 2}, {2, 1, 1, 2}), values({2}), v({2, 2}), none({0});
  for (const bool upper : {false, true}) {
    run(&linalg_kernels::eigh, upper, a, values, v);
    expect_near(values, {1, 3}, 1e-14);
    EXPECT_NEAR(v(0, 0), -v(1, 0), 1e-14);
    EXPECT_NEAR(v(0, 1), v(1, 1), 1e-14);
  }
  run(&linalg_kernels::eigh, false, a, values, none);
  expect_near(values, {1, 3}, 1e-14);
  Array<float> turn({2, 2}, {0, -1, 1, 0});
  Array<std::complex<float>> w({2}), vectors({2, 2}), no_vectors({0});
  run(&linalg_kernels::eig, turn, w, vectors);
  EXPECT_NEAR(std::abs(w.at(0).imag()), 1, 1e-6);
  EXPECT_EQ(w.at(0), std::conj(w.at(1)));
  EXPECT_NEAR(std::abs(vectors(0, 0) * w.at(0) + vectors(1, 0)), 0, 1e-6);
  run(&linalg_kernels::eig, turn, w, no_vectors);
}
TEST_F(LinalgKernels, SingularValuesAndVectors) {
  Array<double> a = eighths<double>({3, 2}), u({3, 2}), s({2}), vh({2, 2}), none({0});
  run(&linalg_kernels::svd, a, u, s, vh);
  Array<double> scaled({2, 2});
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j) scaled(i, j) = s.at(i) * vh(i, j);
  expect_near(a, product(u, scaled), 1e-13);
  Array<double> whole({3, 3}), same({2}), alone({2});
  run(&linalg_kernels::svd, a, whole, same, vh);
  run(&linalg_kernels::svd, a, none, alone, none);
  expect_near(same, s.values(), 1e-13), expect_near(alone, s.values(), 1e-13);
}

TEST_F(LinalgKernels, OfNothing) {
  Array<double> a({0, 0}), l({0, 0}), b({0, 2}), x({0, 2}), det({1}), s({0}), tau({0}), batch({0, 2, 2}), c({0, 2, 2});
  Ints pivots({1}), info({1}), none({0}), many({0, 3}), swaps({0});
  run(&linalg_kernels::lu, a, l, pivots), run(&linalg_kernels::lu, batch, c, many);
  EXPECT_EQ(pivots.at(0), 0);
  run(&linalg_kernels::determinant, a, det, l, pivots);
  EXPECT_EQ(det.at(0), 1);
  run(&linalg_kernels::solve, a, b, x, l, pivots), run(&linalg_kernels::inverse, a, l, info);
  run(&linalg_kernels::cholesky, false, a, l, info), run(&linalg_kernels::cholesky, false, batch, c, none);
  run(&linalg_kernels::triangular, false, false, a, b, x), run(&linalg_kernels::ldl, false, a, l, pivots);
  run(&linalg_kernels::ldl_solve, false, l, swaps, b, x), run(&linalg_kernels::eigh, false, a, s, l);
  run(&linalg_kernels::householder, b, x, tau), run(&linalg_kernels::qr, a, l, a);
  Array<std::int64_t> order({0});
  run(&linalg_kernels::permutation, swaps, order);
  Array<double> tall({2, 0}), identity({2, 2}), nothing({0, 0});
  run(&linalg_kernels::svd, tall, identity, s, nothing), run(&linalg_kernels::reflect, tall, tau, tall);
  EXPECT_EQ(identity.values(), (std::vector<double>{1, 0, 0, 1}));
  Array<float> single({0, 0});
  Array<std::complex<float>> w({0}), v({0, 0});
  run(&linalg_kernels::eig, single, w, v);
}

TEST_F(LinalgKernels, SameOnAnyNumberOfThreads) {
  Array<double> a = eighths<double>({40, 9, 9}), b = eighths<double>({40, 9, 4}, 2);
  expect_same_on_any_threads([&] {
    Array<double> x({40, 9, 4}), lu({40, 9, 9}), u({40, 9, 9}), s({40, 9}), vh({40, 9, 9}), values({40, 9}),
        v({40, 9, 9});
    Ints pivots({40, 10});
    run(&linalg_kernels::solve, a, b, x, lu, pivots);
    run(&linalg_kernels::svd, a, u, s, vh);
    run(&linalg_kernels::eigh, false, a, values, v);
    return x.bytes() + lu.bytes() + pivots.bytes() + u.bytes() + s.bytes() + vh.bytes() + values.bytes() + v.bytes();
  });
}

}  // namespace
}  // namespace neura::test
