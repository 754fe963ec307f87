#include "neura/backend/kernels/softmax.h"

#include <cmath>
#include <limits>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using SoftmaxKernels = Kernels<softmax_kernels>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// f(places of a line) for each line of [outer, n, inner] along the middle.
template <class F> void lines(const Shape& s, F f) {
  for (std::int64_t o = 0; o < s[0]; ++o)
    for (std::int64_t i = 0; i < s[2]; ++i) {
      std::vector<std::int64_t> at;
      for (std::int64_t k = 0; k < s[1]; ++k) at.push_back((o * s[1] + k) * s[2] + i);
      f(at);
    }
}
std::vector<double> plain(const Array<float>& x, bool logarithm) {
  std::vector<double> y(std::size_t(x.numel()));
  lines(x.spec().sizes(), [&](const std::vector<std::int64_t>& line) {
    double sum = 0;
    for (const std::int64_t i : line) sum += std::exp(double(x.at(i)));
    for (const std::int64_t i : line)
      y[std::size_t(i)] = logarithm ? x.at(i) - std::log(sum) : std::exp(double(x.at(i))) / sum;
  });
  return y;
}

TEST_F(SoftmaxKernels, BothWaysAlongRowsAndColumns) {
  for (const Shape& size : {Shape{3, 10, 4}, Shape{6, 33, 1}, Shape{2, 5, 70}}) {
    const Array<float> x = eighths(size), g = eighths(size, 2);
    for (const bool logarithm : {false, true})
      for (Array<float> from : {x, x.spread()}) {
        Array<float> y(size), gx(size);
        const std::vector<double> want = plain(x, logarithm);
        run(&softmax_kernels::softmax, from, 1, logarithm ? SoftmaxKind::log_softmax : SoftmaxKind::softmax, y);
        expect_near(y, want, 1e-6);
        std::vector<double> back(want.size());
        lines(size, [&](const std::vector<std::int64_t>& line) {
          double sum = 0;
          for (const std::int64_t i : line) sum += g.at(i) * (logarithm ? 1 : want[std::size_t(i)]);
          for (const std::int64_t i : line) {
            const double v = want[std::size_t(i)];
            back[std::size_t(i)] = logarithm ? g.at(i) - std::exp(v) * sum : v * (g.at(i) - sum);
          }
        });
        Array<float> grad = g;
        run(&softmax_kernels::softmax_backward, grad, y, 1, logarithm, gx);
        expect_near(gx, back, 2e-6);
      }
  }
}
TEST_F(SoftmaxKernels, LinesOfMinusInfinity) {
  Array<float> x({2, 2}, {-kInfinity, -kInfinity, 0, -kInfinity}), y({2, 2});
  run(&softmax_kernels::softmax, x, 1, SoftmaxKind::softmax, y);
  EXPECT_TRUE(std::isnan(y.at(0)));
  EXPECT_EQ(y.at(2), 1);
  run(&softmax_kernels::softmax, x, 1, SoftmaxKind::safe_softmax, y);
  EXPECT_EQ(y.values(), (std::vector<float>{0, 0, 1, 0}));
}

TEST_F(SoftmaxKernels, OfNothing) {
  for (const Shape& size : {Shape{0, 3}, Shape{3, 0}})
    for (const int dim : {0, 1}) {
      Array<float> x(size), y(size);
      run(&softmax_kernels::softmax, x, dim, SoftmaxKind::softmax, y);
      run(&softmax_kernels::softmax_backward, x, y, dim, true, y);
    }
}
TEST_F(SoftmaxKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths({300, 40, 33}), g = eighths({300, 40, 33}, 2);
  for (const int dim : {0, 1, 2})
    expect_same_on_any_threads([&] {
      Array<float> y(x.spec().sizes()), gx = y;
      run(&softmax_kernels::softmax, x, dim, SoftmaxKind::softmax, y);
      run(&softmax_kernels::softmax_backward, g, y, dim, false, gx);
      return y.bytes() + gx.bytes();
    });
}

}  // namespace
}  // namespace neura::test
