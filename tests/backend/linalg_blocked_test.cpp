// Matrices that are factorised by blocks: sizes around those of panels, stripes and tasks.
#include <cmath>
#include <cstdlib>

#include "neura/backend/cpu/linalg/panel.h"
#include "tests/backend/matrices.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

using Ints = Array<std::int32_t>;

template <class T> class LinalgBlocks : public Kernels<linalg_kernels> {
 public:
  static void TearDownTestSuite() {}  // not the family's suite
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LinalgBlocks, Reals);

constexpr std::int64_t kSizes[] = {17, 32, 63, 64, 65, 127, 129, 200, 513};

// Of P L U and a.
template <class T> double residual(const Array<T>& of, const Array<T>& factors, const Ints& pivots) {
  const Rows<T> a(of), lu(factors);
  const std::int64_t least = std::min(a.m, a.n);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < a.m; ++i) order.push_back(i);
  for (std::int64_t i = 0; i < least; ++i) std::swap(order[std::size_t(i)], order[std::size_t(pivots.at(i) - 1)]);
  return difference(
      a.m, a.n, least, [&](std::int64_t i, std::int64_t k) { return k < i ? lu(i, k) : double(k == i); },
      [&](std::int64_t k, std::int64_t j) { return k <= j ? lu(k, j) : 0; },
      [&](std::int64_t i, std::int64_t j) { return a(order[std::size_t(i)], j); });
}
TYPED_TEST(LinalgBlocks, LuGivesTheMatrixBackByPartialPivoting) {
  using T = TypeParam;
  for (const std::int64_t n : kSizes)
    for (const Shape& s : {Shape{n, n}, Shape{n, n / 2}, Shape{n / 2, n}, Shape{n, 3}, Shape{3, n}}) {
      if (n > 200 && s[0] != s[1]) continue;
      SCOPED_TRACE(s.str());
      Array<T> a = uniform<T>(s), lu(s);
      const std::int64_t least = std::min(s[0], s[1]);
      Ints pivots({least + 1});
      expect_same_on_any_threads([&] {
        this->run(&linalg_kernels::lu, a, lu, pivots);
        return lu.bytes() + pivots.bytes();
      });
      EXPECT_EQ(pivots.at(least), 0);
      EXPECT_LE(residual(a, lu, pivots), double(n) * eps<T>());
      for (std::int64_t i = 0; i < s[0]; ++i)
        for (std::int64_t j = 0; j < std::min(i, least); ++j) ASSERT_LE(std::abs(lu(i, j)), T(1));
    }
}

TYPED_TEST(LinalgBlocks, PivotsAreThoseOfLapack) {
  NEURA_NEEDS_LAPACK();
  using C = std::complex<TypeParam>;
  for (const std::int64_t n : kSizes) {
    SCOPED_TRACE(n);
    Array<TypeParam> a = uniform<TypeParam>({n, n}), lu({n, n});
    Array<C> same({n, n}), c({n, n});  // complex numbers are LAPACK's
    for (std::int64_t i = 0; i < a.numel(); ++i) same.at(i) = a.at(i);
    Ints ours({n + 1}), lapacks({n + 1});
    this->run(&linalg_kernels::lu, a, lu, ours);
    this->run(&linalg_kernels::lu, same, c, lapacks);
    EXPECT_EQ(ours.values(), lapacks.values());
  }
}

TYPED_TEST(LinalgBlocks, OfEqualElementsTheFirstIsThePivot) {
  const std::int64_t n = 100;
  Array<TypeParam> a = filled<TypeParam>({n, n}, 0), lu({n, n});
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) a(i, j) = i % 2 ? -1 : 1;
  Ints pivots({n + 1});
  this->run(&linalg_kernels::lu, a, lu, pivots);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(pivots.at(i), i + 1);
}

TYPED_TEST(LinalgBlocks, TheFirstZeroPivotIsReported) {
  using T = TypeParam;
  for (const std::int64_t n : {17, 64, 130, 300})
    for (const std::int64_t zero : {std::int64_t(0), n / 2, n - 1}) {
      SCOPED_TRACE(std::to_string(n) + ", column " + std::to_string(zero));
      Array<T> a = uniform<T>({n, n}), lu({n, n}), inverse({n, n}), b = uniform<T>({n, 1}), x({n, 1});
      for (std::int64_t i = 0; i < n; ++i) a(i, zero) = 0;
      Ints pivots({n + 1}), info({1});
      this->run(&linalg_kernels::lu, a, lu, pivots);
      EXPECT_EQ(pivots.at(n), zero + 1);
      EXPECT_LE(residual(a, lu, pivots), double(n) * eps<T>());
      this->run(&linalg_kernels::solve, a, b, x, lu, pivots);
      EXPECT_EQ(pivots.at(n), zero + 1);
      this->run(&linalg_kernels::inverse, a, inverse, info);
      EXPECT_EQ(info.at(0), zero + 1);
    }
  Array<T> nothing = filled<T>({70, 70}, 0), lu({70, 70});
  Ints pivots({71});
  this->run(&linalg_kernels::lu, nothing, lu, pivots);
  EXPECT_EQ(pivots.at(70), 1);
  EXPECT_EQ(lu.values(), nothing.values());
}

TYPED_TEST(LinalgBlocks, PivotsWhoseReciprocalIsInfinite) {
  using T = TypeParam;
  const std::int64_t n = 80;
  const T tiny = std::numeric_limits<T>::min() / 64;
  Array<T> a = uniform<T>({n, n}), lu({n, n});
  for (std::int64_t i = 0; i < n; ++i) a(i, 0) *= tiny;
  Ints pivots({n + 1});
  this->run(&linalg_kernels::lu, a, lu, pivots);
  for (std::int64_t i = 1; i < n; ++i) EXPECT_LE(std::abs(lu(i, 0)), T(1));
}

TYPED_TEST(LinalgBlocks, WhatIsNotFiniteStaysWithinTheMatrix) {
  using T = TypeParam;
  for (const T value : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()})
    for (const bool all : {false, true}) {
      const std::int64_t n = 150;
      Array<T> a = all ? filled<T>({n, n}, value) : uniform<T>({n, n}), lu({n, n}), inverse({n, n});
      a(n / 3, n / 2) = value;
      Ints pivots({n + 1}), info({1});
      this->run(&linalg_kernels::lu, a, lu, pivots);
      for (std::int64_t i = 0; i < n; ++i) EXPECT_TRUE(pivots.at(i) > i && pivots.at(i) <= n);
      this->run(&linalg_kernels::inverse, a, inverse, info);
    }
}

TYPED_TEST(LinalgBlocks, SolutionsInversesAndTriangles) {
  using T = TypeParam;
  for (const std::int64_t n : kSizes)
    for (const std::int64_t k : {1, 9, 150}) {
      if (n > 200 && k != 1) continue;
      SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(k));
      Array<T> a = uniform<T>({n, n}), b = uniform<T>({n, k}, 2), x({n, k}), lu({n, n}), inverse({n, n});
      for (std::int64_t i = 0; i < n; ++i) a(i, (i + 3) % n) += T(n);  // well-conditioned; rows change places
      Ints pivots({n + 1}), info({1});
      expect_same_on_any_threads([&] {
        this->run(&linalg_kernels::solve, a, b, x, lu, pivots);
        return x.bytes() + lu.bytes();
      });
      EXPECT_LE(difference(a, x, b), 20 * eps<T>());
      if (k == 1) {
        expect_same_on_any_threads([&] {
          this->run(&linalg_kernels::inverse, a, inverse, info);
          return inverse.bytes();
        });
        Array<T> one = filled<T>({n, n}, 0);
        for (std::int64_t i = 0; i < n; ++i) one(i, i) = 1;
        EXPECT_LE(difference(a, inverse, one), 20 * eps<T>());
      }
      for (const bool upper : {false, true})
        for (const bool unit : {false, true}) {
          Array<T> t = uniform<T>({n, n}, 3), whole = filled<T>({n, n}, 0);
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              t(i, j) = i == j ? T(unit ? 77 : 2) : t(i, j) / T(n);
              if (i == j) whole(i, j) = unit ? 1 : 2;
              else if (upper == (i < j)) whole(i, j) = t(i, j);
              else t(i, j) = std::numeric_limits<T>::quiet_NaN();  // is not read
            }
          expect_same_on_any_threads([&] {
            this->run(&linalg_kernels::triangular, upper, unit, t, b, x);
            return x.bytes();
          });
          EXPECT_LE(difference(whole, x, b), 20 * eps<T>());
        }
    }
}

TYPED_TEST(LinalgBlocks, CholeskyReadsOneTriangleAndReportsTheFirstMinorThatIsNotPositive) {
  using T = TypeParam;
  for (const std::int64_t n : {17, 63, 64, 65, 128, 129, 200, 513, 1100})
    for (const bool upper : {false, true}) {
      SCOPED_TRACE(std::to_string(n) + (upper ? ", upper" : ", lower"));
      const Array<T> random = uniform<T>({n, n});
      Array<T> a({n, n}), whole({n, n}), f({n, n}), transposed({n, n});
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          whole(i, j) = i == j ? T(n) : random.at(std::min(i, j) * n + std::max(i, j));
          a(i, j) = i == j || upper == (i < j) ? whole(i, j) : std::numeric_limits<T>::quiet_NaN();
        }
      Ints info({1});
      expect_same_on_any_threads([&] {
        this->run(&linalg_kernels::cholesky, upper, a, f, info);
        return f.bytes();
      });
      EXPECT_EQ(info.at(0), 0);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          transposed(j, i) = f(i, j);
          if (i != j && upper != (i < j)) ASSERT_EQ(f(i, j), T(0));
        }
      if (n < 1000 || !upper)
        EXPECT_LE(upper ? difference(transposed, f, whole) : difference(f, transposed, whole),
                  4 * double(n) * eps<T>());
      for (const std::int64_t wrong : {std::int64_t(0), n / 2, n - 1}) {
        Array<T> bad = a;
        bad(wrong, wrong) = -1;
        this->run(&linalg_kernels::cholesky, upper, bad, f, info);
        EXPECT_EQ(info.at(0), wrong + 1);
        bad(wrong, wrong) = std::numeric_limits<T>::quiet_NaN();
        this->run(&linalg_kernels::cholesky, upper, bad, f, info);
        EXPECT_EQ(info.at(0), wrong + 1);
      }
    }
}

TYPED_TEST(LinalgBlocks, QrGivesTheMatrixBackAndQIsOrthogonal) {
  using T = TypeParam;
  for (const std::int64_t n : {64, 65, 97, 127, 129, 200, 513})
    for (const Shape& s : {Shape{n, n}, Shape{n, n / 2}, Shape{n / 2, n}, Shape{4096, n / 32}, Shape{n / 32, 4096}})
      for (const bool complete : {false, true}) {
        SCOPED_TRACE(s.str() + (complete ? ", complete" : ", reduced"));
        const std::int64_t least = std::min(s[0], s[1]), width = complete ? s[0] : least;
        if (s[0] * s[1] < 64 * 64 || (complete && s[0] > 200) || (n > 200 && s[0] != s[1])) continue;  // or LAPACK's
        Array<T> a = uniform<T>(s), q({s[0], width}), r({width, s[1]}), transposed({width, s[0]}), f(s), tau({least});
        expect_same_on_any_threads([&] {
          this->run(&linalg_kernels::qr, a, q, r);
          return q.bytes() + r.bytes();
        });
        EXPECT_LE(difference(q, r, a), 2 * std::sqrt(double(n)) * 8 * eps<T>());
        Array<T> one = filled<T>({width, width}, 0);
        for (std::int64_t i = 0; i < width; ++i) {
          one(i, i) = 1;
          for (std::int64_t j = 0; j < s[0]; ++j) transposed(i, j) = q(j, i);
          for (std::int64_t j = 0; j < std::min(i, s[1]); ++j) ASSERT_EQ(r(i, j), T(0));
        }
        EXPECT_LE(difference(transposed, q, one), 2 * std::sqrt(double(n)) * 2 * eps<T>());
        this->run(&linalg_kernels::householder, a, f, tau);
        for (std::int64_t i = 0; i < least; ++i)
          for (std::int64_t j = i; j < s[1]; ++j) ASSERT_EQ(f(i, j), r(i, j));
        if (s[0] < s[1] || complete) continue;
        Array<T> same(s);
        this->run(&linalg_kernels::reflect, f, tau, same);
        EXPECT_EQ(same.values(), q.values());
      }
}

TYPED_TEST(LinalgBlocks, ReflectorsAreThoseOfLapack) {
  NEURA_NEEDS_LAPACK();
  using C = std::complex<TypeParam>;
  for (const Shape& s : {Shape{70, 70}, Shape{150, 33}, Shape{33, 150}}) {
    Array<TypeParam> a = uniform<TypeParam>(s), f(s), tau({std::min(s[0], s[1])});
    Array<C> same(s), c(s), scales({tau.numel()});  // complex numbers are LAPACK's
    for (std::int64_t i = 0; i < a.numel(); ++i) same.at(i) = a.at(i);
    this->run(&linalg_kernels::householder, a, f, tau);
    this->run(&linalg_kernels::householder, same, c, scales);
    for (std::int64_t i = 0; i < f.numel(); ++i) ASSERT_NEAR(f.at(i), c.at(i).real(), 200 * eps<TypeParam>());
    for (std::int64_t i = 0; i < tau.numel(); ++i) ASSERT_NEAR(tau.at(i), scales.at(i).real(), 100 * eps<TypeParam>());
  }
}

TYPED_TEST(LinalgBlocks, ReflectorsOfColumnsThatAreZeroTinyOrHuge) {
  using T = TypeParam;
  const std::int64_t n = 70;
  for (const T scale : {T(0), std::numeric_limits<T>::denorm_min() * 4096, std::numeric_limits<T>::min() * 16,
                        std::numeric_limits<T>::max() / 256}) {
    SCOPED_TRACE(scale);
    Array<T> a = uniform<T>({n, n}), q({n, n}), r({n, n}), transposed({n, n}), one = filled<T>({n, n}, 0);
    for (std::int64_t i = 0; i < a.numel(); ++i) a.at(i) *= scale;
    this->run(&linalg_kernels::qr, a, q, r);
    for (std::int64_t i = 0; i < n; ++i) {
      one(i, i) = 1;
      for (std::int64_t j = 0; j < n; ++j) transposed(j, i) = q(i, j);
    }
    EXPECT_LE(difference(transposed, q, one), 100 * eps<T>());
    EXPECT_LE(difference(q, r, a), 200 * (eps<T>() * double(scale) + double(std::numeric_limits<T>::denorm_min())));
  }
  for (const T value : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    Array<T> a = uniform<T>({n, n}), q({n, n}), r({n, n});
    a(3, 5) = value;
    this->run(&linalg_kernels::qr, a, q, r);
  }
}

TYPED_TEST(LinalgBlocks, BatchesHaveTheBitsOfTheirMatrices) {
  using T = TypeParam;
  for (const std::int64_t n : {20, 100, 150}) {
    const std::int64_t count = 9;
    Array<T> a = uniform<T>({count, n, n}), lu({count, n, n}), inverse({count, n, n});
    Ints pivots({count, n + 1}), info({count});
    expect_same_on_any_threads([&] {
      this->run(&linalg_kernels::lu, a, lu, pivots);
      this->run(&linalg_kernels::inverse, a, inverse, info);
      return lu.bytes() + pivots.bytes() + inverse.bytes();
    });
    for (std::int64_t i = 0; i < count; ++i) {
      Array<T> single({n, n}), f({n, n}), y({n, n});
      for (std::int64_t k = 0; k < n * n; ++k) single.at(k) = a.at(i * n * n + k);
      Ints p({n + 1}), said({1});
      this->run(&linalg_kernels::lu, single, f, p);
      this->run(&linalg_kernels::inverse, single, y, said);
      for (std::int64_t k = 0; k < n * n; ++k) {
        ASSERT_EQ(f.at(k), lu.at(i * n * n + k));
        ASSERT_EQ(y.at(k), inverse.at(i * n * n + k));
      }
    }
  }
}

#ifdef __x86_64__
TEST(Panel, FindsPivotsBeyondTheRowsThatAFloatCounts) {
  const PanelKernels<float>& kernels = panel_kernels<float>();
  const std::int64_t m = (1 << 24) + 3, n = 2, width = 2 * kernels.lanes, last = m - 2;
  std::vector<float> memory(std::size_t((m + width - 1) / width * width * n + 16));
  float* const a = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64 / sizeof(float);
  const auto at = [&](std::int64_t i, std::int64_t j) -> float& {
    return a[std::size_t((i / width * n + j) * width + i % width)];
  };
  at(last, 0) = 2, at(last - 1, 1) = 1;
  std::int32_t pivots[n];
  EXPECT_EQ(kernels.factorise(a, m, n, pivots), 0);
  EXPECT_EQ(pivots[0], last + 1);
  EXPECT_EQ(pivots[1], last);
}

TEST(Lapack, RunsKernelsForTheInstructionsThatTheProcessorHas) {
  NEURA_NEEDS_LAPACK();
  if (!__builtin_cpu_supports("avx2") || std::getenv("OPENBLAS_CORETYPE")) GTEST_SKIP() << "an old or a named core";
  EXPECT_STRNE(lapack::library()->core, "Prescott");
}
#endif

}  // namespace
}  // namespace neura::test
