// The kernels of products with sparse matrices.
#include "neura/backend/kernels/sparse.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using SparseKernels = Kernels<sparse_kernels>;
using Ids = Array<std::int64_t>;

TEST_F(SparseKernels, EqualPlainLoops) {
  const Ids starts({6}, {0, 3, 3, 4, 9, 11}), columns({11}, {0, 2, 6, 1, 0, 1, 2, 4, 5, 3, 6});
  const std::int64_t rows = 5, k = 7;
  const auto products = [&]<class T>(T) {
    for (const std::int64_t n : {1, 2, 3, 7, 8, 15, 40, 133}) {
      Array<T> values = Array<T>(Shape{columns.numel()}), b({k, n}), y({rows, n});
      for (std::int64_t i = 0; i < values.numel(); ++i) values.at(i) = T(i % 5 - 2) / 4;
      for (std::int64_t i = 0; i < b.numel(); ++i) b.at(i) = T(i * 7 % 11 - 5) / 8;
      for (std::int64_t i = 0; i < y.numel(); ++i) y.at(i) = 99;
      Ids s = starts, c = columns;
      run(&sparse_kernels::product, s, c, values, b, y);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) {
          T sum = 0;
          for (std::int64_t i = s.at(r); i < s.at(r + 1); ++i) sum += values.at(i) * b(c.at(i), j);
          ASSERT_EQ(y(r, j), sum) << n << ": " << r << ", " << j;  // sums of eighths are exact
        }
      Array<T> a({rows, n}), sampled(Shape{columns.numel()});
      for (std::int64_t i = 0; i < a.numel(); ++i) a.at(i) = T(i * 5 % 13 - 6) / 8;
      run(&sparse_kernels::sample, s, c, a, b, sampled);
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = s.at(r); i < s.at(r + 1); ++i) {
          T sum = 0;
          for (std::int64_t j = 0; j < n; ++j) sum += a(r, j) * b(c.at(i), j);
          ASSERT_EQ(sampled.at(i), sum) << n << ": " << i;
        }
    }
  };
  products(0.f), products(0.);
}
TEST_F(SparseKernels, OfNothing) {
  Ids starts({3}, {0, 0, 0}), columns({0});
  Array<float> values(Shape{0}), b({4, 5}), y = filled<float>({2, 5}, 9);
  run(&sparse_kernels::product, starts, columns, values, b, y);
  EXPECT_EQ(y.values(), std::vector<float>(10, 0));
}
TEST_F(SparseKernels, RefuseIndicesOutside) {
  Ids starts({3}, {0, 1, 2}), high({2}, {0, 4}), low({2}, {-1, 0}), wrong({3}, {0, 3, 2}), good({2}, {0, 1});
  Array<float> values({2}, {1, 2}), b({4, 5}), y({2, 5}), a({2, 5}), sampled(Shape{2});
  EXPECT_EQ(refused(&sparse_kernels::product, starts, high, values, b, y), (Index{4, 4}));
  EXPECT_EQ(refused(&sparse_kernels::product, starts, low, values, b, y), (Index{-1, 4}));
  EXPECT_EQ(refused(&sparse_kernels::sample, starts, high, a, b, sampled), (Index{4, 4}));
  EXPECT_EQ(refused(&sparse_kernels::product, wrong, good, values, b, y), (Index{2, 3}));
}
TEST_F(SparseKernels, SameOnAnyNumberOfThreads) {
  const std::int64_t rows = 700, k = 90, n = 33, each = 40;
  Ids starts(Shape{rows + 1}), columns(Shape{rows * each});
  for (std::int64_t r = 0; r <= rows; ++r) starts.at(r) = r * each;
  for (std::int64_t i = 0; i < columns.numel(); ++i) columns.at(i) = i * 7 % k;
  Array<float> values = eighths(Shape{columns.numel()}), b = eighths({k, n}, 2), a = eighths({rows, n}, 3);
  expect_same_on_any_threads([&] {
    Array<float> y({rows, n}), sampled(Shape{columns.numel()});
    run(&sparse_kernels::product, starts, columns, values, b, y);
    run(&sparse_kernels::sample, starts, columns, a, b, sampled);
    return y.bytes() + sampled.bytes();
  });
}

}  // namespace
}  // namespace neura::test
