// Eigenvalues of general matrices that are large enough for blocked::schur: spread, on a circle, repeated, isolated by
// permutation, unbalanced, tiny or huge.
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>

#include "tests/backend/matrices.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

template <class T> class LinalgEig : public Kernels<linalg_kernels> {
 public:
  static void TearDownTestSuite() {}  // not the family's suite
  void SetUp() override { NEURA_NEEDS_LAPACK(); }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LinalgEig, Reals);

struct Example {
  const char* name;
  double (*element)(std::int64_t i, std::int64_t j, std::int64_t n, double random);
};
constexpr Example kExamples[] = {
    {"random", [](std::int64_t, std::int64_t, std::int64_t, double x) { return x; }},
    {"zero", [](std::int64_t, std::int64_t, std::int64_t, double) { return 0.0; }},
    {"identity", [](std::int64_t i, std::int64_t j, std::int64_t, double) { return double(i == j); }},
    {"a cycle", [](std::int64_t i, std::int64_t j, std::int64_t n, double) { return double((i + 1) % n == j); }},
    {"turns",
     [](std::int64_t i, std::int64_t j, std::int64_t, double) { return i / 2 == j / 2 ? double(j - i) : 0.0; }},
    {"a permuted triangle",
     [](std::int64_t i, std::int64_t j, std::int64_t n, double x) { return i * 7 % n <= j * 7 % n ? x : 0.0; }},
    {"companion",
     [](std::int64_t i, std::int64_t j, std::int64_t, double) { return i       ? double(i == j + 1)
                                                                       : j % 3 ? 0.5
                                                                               : -0.25; }},
    {"unbalanced", [](std::int64_t i, std::int64_t j, std::int64_t n,
                      double x) { return x * std::exp2(double(i - j) * 12 / double(n)); }},
};

template <class T> Array<T> made(const Example& e, std::int64_t n, double scale = 1) {
  Array<T> a = uniform<T>({n, n});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) a(i, j) = T(e.element(i, j, n, double(a(i, j))) * scale);
  return a;
}

// Of what both hold, in any order: each of x has one of y beside it.
template <class C> double apart(std::vector<C> x, std::vector<C> y) {
  double most = 0;
  for (const C& value : x) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < y.size(); ++i)
      if (std::abs(y[i] - value) < std::abs(y[best] - value)) best = i;
    most = std::max(most, double(std::abs(y[best] - value)));
    y.erase(y.begin() + std::ptrdiff_t(best));
  }
  return most;
}

template <class T, class Run> void expect_eig(const Array<T>& a, bool normal, Run&& run) {
  using C = std::complex<T>;
  const std::int64_t n = a.spec().shape[0];
  Array<C> w({n}), v({n, n}), alone({n}), none({0});
  Array<T> given = a;
  expect_same_on_any_threads([&] {
    run(given, w, v), run(given, alone, none);
    return w.bytes() + v.bytes() + alone.bytes();
  });
  const Rows<T> rows(a);
  double norm = std::numeric_limits<double>::min();
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) norm = std::max(norm, std::abs(rows(i, j)));
  const double most = (64 + double(n)) * eps<T>();
  const std::vector<C> x = v.values();
  for (const bool imaginary : {false, true}) {
    const auto part = [&](const std::complex<double>& z) { return imaginary ? z.imag() : z.real(); };
    const auto element = [&](std::int64_t i, std::int64_t j) {
      return part(std::complex<double>(x[std::size_t(i * n + j)]));
    };
    const auto wanted = [&](std::int64_t i, std::int64_t j) {
      return part(std::complex<double>(x[std::size_t(i * n + j)]) * (std::complex<double>(w.at(j)) / norm));
    };
    EXPECT_LE(difference(
                  n, n, n, [&](std::int64_t i, std::int64_t k) { return rows(i, k) / norm; }, element, wanted),
              most);
  }
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::norm(std::complex<double>(x[std::size_t(i * n + j)]));
    ASSERT_NEAR(sum, 1, most);
    if (w.at(j).imag() <= 0) continue;
    ASSERT_EQ(w.at(j + 1), std::conj(w.at(j)));
    ASSERT_EQ(v(0, j + 1), std::conj(v(0, j)));
  }
  if (normal) EXPECT_LE(apart(w.values(), alone.values()), norm * double(n) * eps<T>());
}

TYPED_TEST(LinalgEig, OfManySizesAndMatrices) {
  using T = TypeParam;
  const auto run = [&](Array<T>& a, Array<std::complex<T>>& w, Array<std::complex<T>>& v) {
    this->run(&linalg_kernels::eig, a, w, v);
  };
  for (const std::int64_t n : {33, 64, 75, 76, 77, 129, 191, 257, 400})
    for (const Example& e : kExamples) {
      if (n > 200 && &e != kExamples) continue;
      SCOPED_TRACE(std::to_string(n) + ", " + e.name);
      const std::string name = e.name;
      expect_eig(made<T>(e, n), name == "a cycle" || name == "turns" || name == "identity", run);
    }
  for (const double scale : {64 * double(std::numeric_limits<T>::min()), double(std::numeric_limits<T>::max()) / 4096})
    expect_eig(made<T>(kExamples[0], 90, scale), false, run);
}

TYPED_TEST(LinalgEig, ValuesOfATriangleAreItsDiagonal) {
  using T = TypeParam;
  const std::int64_t n = 100;
  Array<T> a = uniform<T>({n, n});
  std::vector<std::complex<T>> diagonal;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) a(i, j) = 0;
    diagonal.push_back(a(i, i));
  }
  Array<std::complex<T>> w({n}), none({0});
  this->run(&linalg_kernels::eig, a, w, none);
  EXPECT_EQ(apart(w.values(), diagonal), 0);
}

TYPED_TEST(LinalgEig, WhatIsNotFiniteIsRefused) {
  using T = TypeParam;
  const std::int64_t n = 90;
  Array<T> a = uniform<T>({n, n});
  a(n - 1, 3) = std::numeric_limits<T>::quiet_NaN();
  Array<std::complex<T>> w({n}), v({n, n});
  Context c(cpu_backend(), Device(), "test");
  cpu_backend().linalg->eig(c, a, w, v);
  EXPECT_TRUE(c.failure && std::strstr(c.failure->text, "expected finite elements"));
}

}  // namespace
}  // namespace neura::test
