// Eigenvalues and singular values of matrices that are reduced by blocks: sizes around those of tiles, panels and
// tasks, spectra that are spread, repeated, graded, tiny or huge.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>

#include "tests/backend/matrices.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

template <class T> class LinalgSpectra : public Kernels<linalg_kernels> {
 public:
  static void TearDownTestSuite() {}  // not the family's suite
  void SetUp() override { NEURA_NEEDS_LAPACK(); }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LinalgSpectra, Reals);

constexpr std::int64_t kSizes[] = {1, 2, 3, 31, 32, 33, 41, 63, 64, 65, 129, 257, 600};

struct Spectrum {
  const char* name;
  double (*value)(std::int64_t i, std::int64_t n);  // element i of the diagonal
};
constexpr Spectrum kSpectra[] = {
    {"two values", [](std::int64_t i, std::int64_t) { return i % 2 ? 1.0 : -3.0; }},
    {"graded", [](std::int64_t i, std::int64_t n) { return std::pow(10.0, -12.0 * double(i) / double(n)); }},
    {"nearly equal", [](std::int64_t i, std::int64_t) { return 1 + 1e-7 * double(i % 3); }},
    {"of rank two", [](std::int64_t i, std::int64_t) { return i < 2 ? double(i + 1) : 0.0; }},
};

// H D G of the reflectors that x and y give, or H D H.
template <class T> Array<T> turned(std::int64_t m, std::int64_t n, const Spectrum& s, bool symmetric) {
  const auto unit = [](std::int64_t size, std::uint64_t seed) {
    const Array<double> random = uniform<double>({size}, seed);
    std::vector<double> x = random.values();
    double sum = 0;
    for (const double i : x) sum += i * i;
    for (double& i : x) i *= std::numbers::sqrt2 / std::sqrt(sum);
    return x;
  };
  const std::vector<double> x = unit(m, 5), y = symmetric ? x : unit(n, 6);
  const std::int64_t least = std::min(m, n);
  double inner = 0;  // x^T D y
  for (std::int64_t i = 0; i < least; ++i) inner += x[std::size_t(i)] * s.value(i, least) * y[std::size_t(i)];
  Array<T> a({m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double p = x[std::size_t(i)], q = y[std::size_t(j)];
      double sum = p * inner * q + (i == j ? s.value(i, least) : 0);
      if (j < least) sum -= p * x[std::size_t(j)] * s.value(j, least);
      if (i < least) sum -= s.value(i, least) * y[std::size_t(i)] * q;
      a(i, j) = T(sum);
    }
  return a;
}
template <class T> Array<T> symmetric(std::int64_t n, double scale) {
  const Array<T> random = uniform<T>({n, n});
  Array<T> a({n, n});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) a(i, j) = T(double(random.at(std::min(i, j) * n + std::max(i, j))) * scale);
  return a;
}
template <class T> Array<T> wilkinson(std::int64_t n) {  // pairs of values that agree to all digits
  Array<T> a = filled<T>({n, n}, 0);
  for (std::int64_t i = 0; i < n; ++i) {
    a(i, i) = T(std::abs(double(i - n / 2)));
    if (i) a(i, i - 1) = a(i - 1, i) = 1;
  }
  return a;
}
double one(std::int64_t i, std::int64_t j) { return i == j; }
template <class T> double bound(std::int64_t n) { return (32 + double(n) / 4) * eps<T>(); }

template <class T, class Run> void expect_eigh(const Array<T>& a, Run&& run) {
  const std::int64_t n = a.spec().shape[0];
  const Rows<T> rows(a);
  for (const bool upper : {false, true}) {
    Array<T> half = a;  // the other triangle is not read
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        if (i != j && upper != (i < j)) half(i, j) = std::numeric_limits<T>::quiet_NaN();
    Array<T> w({n}), v({n, n}), alone({n}), none({0});
    expect_same_on_any_threads([&] {
      run(upper, half, w, v), run(upper, half, alone, none);
      return w.bytes() + v.bytes() + alone.bytes();
    });
    double norm = std::numeric_limits<double>::min();
    for (std::int64_t i = 0; i < n; ++i) norm = std::max(norm, std::abs(double(w.at(i))));
    for (std::int64_t i = 0; i < n; ++i) {
      if (i) ASSERT_LE(w.at(i - 1), w.at(i));
      ASSERT_LE(std::abs(double(w.at(i)) - double(alone.at(i))), norm * bound<T>(n));
    }
    if (n > 300 && upper) continue;
    const Rows<T> x(v);
    const auto scaled = [&](std::int64_t i, std::int64_t k) { return rows(i, k) / norm; };
    EXPECT_LE(difference(n, n, n, scaled, x,
                         [&](std::int64_t i, std::int64_t j) { return x(i, j) * (double(w.at(j)) / norm); }),
              bound<T>(n));
    EXPECT_LE(difference(
                  n, n, n, [&](std::int64_t i, std::int64_t k) { return x(k, i); }, x, one),
              bound<T>(n));
  }
}

TYPED_TEST(LinalgSpectra, EighOfManySizesAndSpectra) {
  using T = TypeParam;
  const auto run = [&](bool upper, Array<T>& a, Array<T>& w, Array<T>& v) {
    this->run(&linalg_kernels::eigh, upper, a, w, v);
  };
  for (const std::int64_t n : kSizes) {
    SCOPED_TRACE(n);
    for (const double scale :
         {1.0, 64 * double(std::numeric_limits<T>::min()), double(std::numeric_limits<T>::max()) / 4096}) {
      SCOPED_TRACE(scale);
      if (n < 300 || scale == 1) expect_eigh(symmetric<T>(n, scale), run);
    }
    for (const Spectrum& s : kSpectra) {
      SCOPED_TRACE(s.name);
      if (n < 300 || &s == kSpectra) expect_eigh(turned<T>(n, n, s, true), run);
    }
    if (n > 300) continue;
    expect_eigh(wilkinson<T>(n), run);
    expect_eigh(filled<T>({n, n}, 0), run);
    expect_eigh(filled<T>({n, n}, 1), run);
  }
}

template <class T, class Run> void expect_svd(const Array<T>& a, bool full, Run&& run) {
  const std::int64_t m = a.spec().shape[0], n = a.spec().shape[1], least = std::min(m, n);
  const std::int64_t width = full ? m : least, height = full ? n : least;
  Array<T> u({m, width}), s({least}), vh({height, n}), alone({least}), none({0}), given = a;
  expect_same_on_any_threads([&] {
    run(given, u, s, vh), run(given, none, alone, none);
    return u.bytes() + s.bytes() + vh.bytes() + alone.bytes();
  });
  const double norm = std::max(double(s.at(0)), std::numeric_limits<double>::min()), most = bound<T>(std::max(m, n));
  for (std::int64_t i = 0; i < least; ++i) {
    ASSERT_GE(s.at(i), T(0));
    if (i) ASSERT_GE(s.at(i - 1), s.at(i));
    ASSERT_LE(std::abs(double(s.at(i)) - double(alone.at(i))), norm * most);
  }
  const Rows<T> rows(a), x(u), y(vh);
  EXPECT_LE(difference(
                m, n, least, [&](std::int64_t i, std::int64_t k) { return x(i, k) * (double(s.at(k)) / norm); }, y,
                [&](std::int64_t i, std::int64_t j) { return rows(i, j) / norm; }),
            most);
  EXPECT_LE(difference(
                width, width, m, [&](std::int64_t i, std::int64_t k) { return x(k, i); }, x, one),
            most);
  EXPECT_LE(difference(
                height, height, n, y, [&](std::int64_t k, std::int64_t j) { return y(j, k); }, one),
            most);
}

TYPED_TEST(LinalgSpectra, SvdOfManyShapesAndSpectra) {
  using T = TypeParam;
  const auto run = [&](Array<T>& a, Array<T>& u, Array<T>& s, Array<T>& vh) {
    this->run(&linalg_kernels::svd, a, u, s, vh);
  };
  for (const std::int64_t n : kSizes)
    for (const Shape& shape : {Shape{n, n}, Shape{n + n / 3, n}, Shape{n, n + n / 3}, Shape{3 * n, n}}) {
      if ((n > 200 && shape[0] != shape[1]) || (n > 128 && shape[0] > 2 * n)) continue;
      SCOPED_TRACE(shape.str());
      const bool square = shape[0] == shape[1];
      for (const bool full : {false, true}) {
        if (square && full) continue;
        expect_svd(uniform<T>(shape), full, run);
        for (const Spectrum& s : kSpectra) {
          SCOPED_TRACE(s.name);
          if (n < 200) expect_svd(turned<T>(shape[0], shape[1], s, false), full, run);
        }
      }
      if (n > 200) continue;
      for (const double scale :
           {0.0, 64 * double(std::numeric_limits<T>::min()), double(std::numeric_limits<T>::max()) / 4096}) {
        SCOPED_TRACE(scale);
        Array<T> a = uniform<T>(shape);
        for (std::int64_t i = 0; i < a.numel(); ++i) a.at(i) *= T(scale);
        expect_svd(a, true, run);
      }
    }
}

TYPED_TEST(LinalgSpectra, WhatIsNotFiniteIsRefused) {
  using T = TypeParam;
  for (const std::int64_t n : {5, 40, 150})
    for (const T value : {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
      Array<T> a = symmetric<T>(n, 1), w({n}), v({n, n}), u({n, n}), none({0});
      a(n - 1, n / 2) = value;
      const auto refused = [&](const std::function<void(Context&)>& call) {
        Context c(cpu_backend(), Device(), "test");
        call(c);
        EXPECT_TRUE(c.failure && std::strstr(c.failure->text, "expected finite elements"));
      };
      refused([&](Context& c) { cpu_backend().linalg->eigh(c, false, a, w, v); });
      refused([&](Context& c) { cpu_backend().linalg->eigh(c, false, a, w, none); });
      refused([&](Context& c) { cpu_backend().linalg->svd(c, a, u, w, v); });
      refused([&](Context& c) { cpu_backend().linalg->svd(c, a, none, w, none); });
      this->run(&linalg_kernels::eigh, true, a, w, v);  // the other triangle
    }
}

TYPED_TEST(LinalgSpectra, BatchesHaveTheBitsOfTheirMatrices) {
  using T = TypeParam;
  const std::int64_t count = 7, n = 70;
  Array<T> a = uniform<T>({count, n, n}), w({count, n}), v({count, n, n}), s({count, n}), u({count, n, n}),
           vh({count, n, n});
  expect_same_on_any_threads([&] {
    this->run(&linalg_kernels::eigh, true, a, w, v);
    this->run(&linalg_kernels::svd, a, u, s, vh);
    return w.bytes() + v.bytes() + s.bytes() + u.bytes() + vh.bytes();
  });
  for (std::int64_t i = 0; i < count; ++i) {
    Array<T> single({n, n}), x({n}), y({n, n}), left({n, n}), right({n, n}), z({n});
    for (std::int64_t k = 0; k < n * n; ++k) single.at(k) = a.at(i * n * n + k);
    this->run(&linalg_kernels::eigh, true, single, x, y);
    this->run(&linalg_kernels::svd, single, left, z, right);
    for (std::int64_t k = 0; k < n * n; ++k) {
      ASSERT_EQ(y.at(k), v.at(i * n * n + k));
      ASSERT_EQ(left.at(k), u.at(i * n * n + k));
      ASSERT_EQ(right.at(k), vh.at(i * n * n + k));
    }
  }
}

}  // namespace
}  // namespace neura::test
