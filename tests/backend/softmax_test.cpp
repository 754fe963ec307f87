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

struct Heads {
  Array<float> q, k, v, mask;
  AttentionShape shape;
  Shape batch() const { return {q.spec().shape[0], q.spec().shape[1]}; }
  // Probabilities of query l of head (b, h).
  std::vector<double> seen(std::int64_t b, std::int64_t h, std::int64_t l) {
    const std::int64_t keys = k.spec().shape[2], size = q.spec().shape[3];
    std::vector<double> p(std::size_t(keys), 0);
    double sum = 0;
    for (std::int64_t s = 0; s < keys; ++s) {
      if (shape.causal && s > l) continue;
      double score = 0;
      for (std::int64_t e = 0; e < size; ++e) score += double(q(b, h, l, e)) * k(b, h, s, e);
      score = score * shape.scale + (mask.numel() > 1 ? mask(0, 0, l, s) : 0);
      sum += p[std::size_t(s)] = std::exp(score);
    }
    for (double& value : p) value /= sum;
    return p;
  }
};
Heads heads(const Shape& batch, std::int64_t queries, std::int64_t keys, bool masked, bool causal) {
  const Shape q{batch[0], batch[1], queries, 8}, k{batch[0], batch[1], keys, 8}, v{batch[0], batch[1], keys, 5};
  return {eighths(q),
          eighths(k, 2),
          eighths(v, 3),
          masked ? eighths({1, 1, queries, keys}, 4) : Array<float>(),
          {0.25, causal}};
}

TEST_F(SoftmaxKernels, AttentionAndItsGradients) {
  for (const bool masked : {false, true})
    for (const bool causal : {false, true}) {
      Heads a = heads({2, 3}, 6, 9, masked, causal);
      EXPECT_EQ(ask(&softmax_kernels::attends, a.q.spec(), a.k.spec(), a.v.spec(), masked, a.shape),
                AttentionUse::plain);
      const Shape y_size{2, 3, 6, 5};
      Array<float> y(y_size), g = eighths(y_size, 5), gq(a.q.spec().sizes()), gk(a.k.spec().sizes()),
                              gv(a.v.spec().sizes());
      std::vector<double> want(std::size_t(y.numel()));
      Array<double> wq(a.q.spec().sizes()), wk(a.k.spec().sizes()), wv(a.v.spec().sizes());
      for (int b = 0; b < 2; ++b)
        for (int h = 0; h < 3; ++h)
          for (int l = 0; l < 6; ++l) {
            const std::vector<double> p = a.seen(b, h, l);
            std::vector<double> gp(9);
            double dot = 0;
            for (int s = 0; s < 9; ++s) {
              const double share = p[std::size_t(s)];
              for (int e = 0; e < 5; ++e) {
                want[std::size_t(((b * 3 + h) * 6 + l) * 5 + e)] += share * a.v(b, h, s, e);
                wv(b, h, s, e) += share * g(b, h, l, e);
                gp[std::size_t(s)] += double(g(b, h, l, e)) * a.v(b, h, s, e);
              }
              dot += share * gp[std::size_t(s)];
            }
            for (int s = 0; s < 9; ++s) {
              const double slope = p[std::size_t(s)] * (gp[std::size_t(s)] - dot) * a.shape.scale;
              for (int e = 0; e < 8; ++e) {
                wq(b, h, l, e) += slope * a.k(b, h, s, e);
                wk(b, h, s, e) += slope * a.q(b, h, l, e);
              }
            }
          }
      for (Array<float> q : {a.q, a.q.spread()}) {
        run(&softmax_kernels::attention, q, a.k, a.v, a.mask, a.shape, y, View{});
        expect_near(y, want, 1e-5);
        run(&softmax_kernels::attention_backward, g, q, a.k, a.v, a.mask, View{}, View{}, a.shape, gq, gk, gv);
        expect_near(gq, wq.values(), 2e-5);
        expect_near(gk, wk.values(), 2e-5);
        expect_near(gv, wv.values(), 2e-5);
      }
    }
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
  for (const Shape& batch : {Shape{4, 8}, Shape{1, 2}})  // more heads than threads, and heads that are cut
    expect_same_on_any_threads([&] {
      Heads a = heads(batch, 300, 200, true, false);
      const Shape y_size{batch[0], batch[1], 300, 5};
      Array<float> y(y_size), gy = eighths(y_size, 5), gq(a.q.spec().sizes()), gk(a.k.spec().sizes()),
                              gv(a.v.spec().sizes());
      run(&softmax_kernels::attention, a.q, a.k, a.v, a.mask, a.shape, y, View{});
      run(&softmax_kernels::attention_backward, gy, a.q, a.k, a.v, a.mask, View{}, View{}, a.shape, gq, gk, gv);
      return y.bytes() + gq.bytes() + gk.bytes() + gv.bytes();
    });
}

}  // namespace
}  // namespace neura::test
