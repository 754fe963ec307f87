#include <cmath>

#include "neura/backend/kernels/scan.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using ScanKernels = Kernels<scan_kernels>;

// f(line): a sequence becomes another; along the middle dimension of [outer, n, inner].
template <class F> std::vector<double> along_middle(Array<float> x, F f) {
  const std::int64_t outer = x.spec().shape[0], n = x.spec().shape[1], inner = x.spec().shape[2];
  Array<double> y({outer, n, inner});
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      std::vector<double> line;
      for (std::int64_t k = 0; k < n; ++k) line.push_back(x(o, k, i));
      line = f(line);
      for (std::int64_t k = 0; k < n; ++k) y(o, k, i) = line[std::size_t(k)];
    }
  return y.values();
}

TEST_F(ScanKernels, RunningSumsAndProducts) {
  for (const Shape& size : {Shape{2, 5, 3}, Shape{7, 6, 1}, Shape{1, 4, 130}})
    for (const bool product : {false, true})
      for (const bool reverse : {false, true}) {
        Array<float> x = eighths(size), y(size);
        run(&scan_kernels::cumulate, product, 1, reverse, x, y);
        expect_near(y,
                    along_middle(x,
                                 [&](std::vector<double> line) {
                                   if (reverse) std::reverse(line.begin(), line.end());
                                   for (std::size_t k = 1; k < line.size(); ++k)
                                     line[k] = product ? line[k] * line[k - 1] : line[k] + line[k - 1];
                                   if (reverse) std::reverse(line.begin(), line.end());
                                   return line;
                                 }),
                    1e-6);
      }
}
TEST_F(ScanKernels, RecurrencesOfFirstOrder) {
  Array<float> a({1, 3, 1}, {5, 2, -1}), b({1, 3, 1}, {1, 4, 3}), y({1, 3, 1});
  run(&scan_kernels::recurrence, 1, false, a, b, y);
  EXPECT_EQ(y.values(), (std::vector<float>{1, 6, -3}));
  run(&scan_kernels::recurrence, 1, true, a, b, y);
  EXPECT_EQ(y.values(), (std::vector<float>{1 + 2 * (4 - 3), 4 - 3, 3}));
}
TEST_F(ScanKernels, ShiftsFillTheEndThatIsLeft) {
  Array<float> x({2, 3}, {1, 2, 3, 4, 5, 6}), y({2, 3});
  run(&scan_kernels::shift, 1, false, -1.0, x, y);
  EXPECT_EQ(y.values(), (std::vector<float>{-1, 1, 2, -1, 4, 5}));
  run(&scan_kernels::shift, 0, true, 9.0, x, y);
  EXPECT_EQ(y.values(), (std::vector<float>{4, 5, 6, 9, 9, 9}));
}
TEST_F(ScanKernels, RunningExtremesNameTheLastThatReachedThem) {
  Array<float> x({5}, {2, 1, 2, 3, NAN}), values({5});
  Array<std::int64_t> places({5});
  run(&scan_kernels::extreme, true, 0, x, values, places);
  EXPECT_EQ(places.values(), (std::vector<std::int64_t>{0, 0, 2, 3, 4}));
  EXPECT_TRUE(std::isnan(values.at(4)));
  run(&scan_kernels::extreme, false, 0, x, values, places);
  EXPECT_EQ(places.values(), (std::vector<std::int64_t>{0, 1, 1, 1, 4}));
}
TEST_F(ScanKernels, RunningLogarithmsOfSums) {
  Array<float> x = eighths({2, 6, 3}), y({2, 6, 3});
  run(&scan_kernels::logcumsumexp, 1, x, y);
  expect_near(y,
              along_middle(x,
                           [](std::vector<double> line) {
                             double sum = 0;
                             for (double& v : line) sum += std::exp(v), v = std::log(sum);
                             return line;
                           }),
              1e-6);
}
TEST_F(ScanKernels, OfNothing) {
  Array<float> x({3, 0, 2}), y({3, 0, 2});
  Array<std::int64_t> places({3, 0, 2});
  for (const int dim : {0, 1, 2}) {
    run(&scan_kernels::cumulate, false, dim, false, x, y);
    run(&scan_kernels::recurrence, dim, true, x, x, y);
    run(&scan_kernels::shift, dim, true, 0.0, x, y);
    run(&scan_kernels::extreme, true, dim, x, y, places);
    run(&scan_kernels::logcumsumexp, dim, x, y);
  }
}
TEST_F(ScanKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths({300, 40, 11}), a = eighths({300, 40, 11}, 2);
  for (const int dim : {0, 1, 2})
    expect_same_on_any_threads([&] {
      Array<float> sum(x.spec().sizes()), state = sum, moved = sum, top = sum, log = sum;
      Array<std::int64_t> places(x.spec().sizes());
      run(&scan_kernels::cumulate, false, dim, false, x, sum);
      run(&scan_kernels::recurrence, dim, false, a, x, state);
      run(&scan_kernels::shift, dim, false, 0.5, x, moved);
      run(&scan_kernels::extreme, true, dim, x, top, places);
      run(&scan_kernels::logcumsumexp, dim, x, log);
      return sum.bytes() + state.bytes() + moved.bytes() + top.bytes() + log.bytes() + places.bytes();
    });
}

}  // namespace
}  // namespace neura::test
