#include <cmath>
#include <limits>

#include "neura/backend/kernels/reduce.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using ReduceKernels = Kernels<reduce_kernels>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sizes with the reduced dimensions as 1.
Shape kept(const Spec& x, unsigned reduced) {
  Shape s = x.sizes();
  for (int d = 0; d < x.rank; ++d) s[d] = reduced >> d & 1 ? 1 : s[d];
  return s;
}
// The elements of x that belong to each result, in order.
std::vector<std::vector<double>> groups(const Array<float>& x, unsigned reduced) {
  const Shape to = kept(x.spec(), reduced);
  std::vector<std::vector<double>> all(std::size_t(to.numel()));
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::int64_t rest = i, place = 0, step = 1;
    for (int d = x.spec().rank - 1; d >= 0; --d) {
      const std::int64_t at = rest % x.spec().shape[d];
      rest /= x.spec().shape[d];
      place += (to[d] == 1 ? 0 : at) * step, step *= to[d];
    }
    all[std::size_t(place)].push_back(x.at(i));
  }
  return all;
}
double plain(ReduceOp fold, const std::vector<double>& x) {
  double r = fold == ReduceOp::prod ? 1 : fold == ReduceOp::amax ? -kInfinity : 0;
  for (const double v : x)
    if (fold == ReduceOp::prod) r *= v;
    else if (fold == ReduceOp::amax) r = std::max(r, v);
    else if (fold == ReduceOp::norm1) r += std::abs(v);
    else r += fold == ReduceOp::norm2 ? v * v : v;
  return fold == ReduceOp::mean ? r / double(x.size()) : fold == ReduceOp::norm2 ? std::sqrt(r) : r;
}

TEST_F(ReduceKernels, FoldsOverAnyDimensionsOfAnyStrides) {
  const Array<float> x = eighths({3, 5, 17});
  for (Array<float> from : {x, x.spread()})
    for (unsigned reduced = 1; reduced < 8; ++reduced)
      for (const ReduceOp fold :
           {ReduceOp::sum, ReduceOp::mean, ReduceOp::prod, ReduceOp::amax, ReduceOp::norm1, ReduceOp::norm2}) {
        Array<float> y(kept(x.spec(), reduced));
        run(&reduce_kernels::fold, fold, DType::float32, reduced, from, View{}, y);
        std::vector<double> want;
        for (const auto& group : groups(x, reduced)) want.push_back(plain(fold, group));
        expect_near(y, want, 1e-5);
      }
}
TEST_F(ReduceKernels, FoldsConvertWhatTheyRead) {  // int32 summed as int64, a result without the dimension
  Array<std::int32_t> x = eighths<std::int32_t>({4, 6}).spread();
  Array<std::int64_t> y({4});
  run(&reduce_kernels::fold, ReduceOp::sum, DType::int64, 2u, x, View{}, y);
  for (std::int64_t i = 0; i < 4; ++i) {
    std::int64_t sum = 0;
    for (int j = 0; j < 6; ++j) sum += x(i, j);
    EXPECT_EQ(y.at(i), sum);
  }
}
TEST_F(ReduceKernels, FoldsTakeANumberForEachResult) {  // distances from a centre
  Array<float> x = eighths({2, 4}), centre({2, 1}, {1, -2}), y({2, 1});
  run(&reduce_kernels::fold, ReduceOp::sum_sq_dev, DType::float32, 2u, x, centre, y);
  for (int i = 0; i < 2; ++i) {
    float want = 0;
    for (int j = 0; j < 4; ++j) want += (x(i, j) - centre.at(i)) * (x(i, j) - centre.at(i));
    EXPECT_EQ(y.at(i), want);
  }
}
TEST_F(ReduceKernels, ExtremesAndWhereTheyStandFirst) {
  Array<float> x({2, 3, 2}, {1, 5, 4, 5, 4, -1, 0, 2, 0, 2, -3, NAN}), values({2, 1, 2});
  Array<std::int64_t> places({2, 1, 2});
  run(&reduce_kernels::extreme, true, 1, x, values, places);
  EXPECT_EQ(places.values(), (std::vector<std::int64_t>{1, 0, 0, 2}));
  EXPECT_EQ(values.at(0), 4);
  EXPECT_EQ(values.at(1), 5);
  EXPECT_TRUE(std::isnan(values.at(3)));
  run(&reduce_kernels::extreme, false, 1, x, View{}, places);
  EXPECT_EQ(places.values(), (std::vector<std::int64_t>{0, 2, 2, 2}));
}
TEST_F(ReduceKernels, MomentsAndLogsumexp) {
  const Array<float> x = eighths({4, 9});
  for (Array<float> from : {x, x.spread()}) {
    Array<float> var({4, 1}), mean({4, 1}), log({4, 1});
    run(&reduce_kernels::moments, 1.0, false, 2u, from, var, mean);
    run(&reduce_kernels::logsumexp, 2u, from, log);
    std::vector<double> vars, means, logs;
    for (const auto& row : groups(x, 2)) {
      const double m = plain(ReduceOp::mean, row);
      double squares = 0, sum = 0;
      for (const double v : row) squares += (v - m) * (v - m), sum += std::exp(v);
      means.push_back(m), vars.push_back(squares / 8), logs.push_back(std::log(sum));
    }
    expect_near(mean, means, 1e-6);
    expect_near(var, vars, 1e-6);
    expect_near(log, logs, 1e-6);
    run(&reduce_kernels::moments, 1.0, true, 2u, from, var, View{});
    for (double& v : vars) v = std::sqrt(v);
    expect_near(var, vars, 1e-6);
  }
}
TEST_F(ReduceKernels, OfNothing) {
  Array<float> x({0, 3}), y({1, 3}), none({3, 0}), few({0, 1});
  run(&reduce_kernels::fold, ReduceOp::sum, DType::float32, 1u, x, View{}, y);
  EXPECT_EQ(y.values(), (std::vector<float>{0, 0, 0}));
  run(&reduce_kernels::fold, ReduceOp::prod, DType::float32, 1u, x, View{}, y);
  EXPECT_EQ(y.values(), (std::vector<float>{1, 1, 1}));
  run(&reduce_kernels::fold, ReduceOp::amax, DType::float32, 2u, x, View{}, few);  // no results
  run(&reduce_kernels::moments, 1.0, false, 1u, x, y, View{});
  EXPECT_TRUE(std::isnan(y.at(0)));
  run(&reduce_kernels::logsumexp, 1u, x, y);
  EXPECT_EQ(y.at(2), -kInfinity);
}
TEST_F(ReduceKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths({40, 9, 501});
  for (std::int64_t i = 0; i < x.numel(); ++i) x.at(i) = std::sqrt(x.at(i) + 5);  // no exact sums
  for (unsigned reduced = 1; reduced < 8; ++reduced)
    expect_same_on_any_threads([&] {
      Array<float> sum(kept(x.spec(), reduced)), norm = sum, var = sum, log = sum;
      run(&reduce_kernels::fold, ReduceOp::sum, DType::float32, reduced, x, View{}, sum);
      run(&reduce_kernels::fold, ReduceOp::norm2, DType::float32, reduced, x, View{}, norm);
      run(&reduce_kernels::moments, 1.0, false, reduced, x, var, View{});
      run(&reduce_kernels::logsumexp, reduced, x, log);
      return sum.bytes() + norm.bytes() + var.bytes() + log.bytes();
    });
  for (const int dim : {0, 1, 2})
    expect_same_on_any_threads([&] {
      Array<float> values(kept(x.spec(), 1u << dim));
      Array<std::int64_t> places(kept(x.spec(), 1u << dim));
      run(&reduce_kernels::extreme, true, dim, x, values, places);
      return values.bytes() + places.bytes();
    });
}

}  // namespace
}  // namespace neura::test
