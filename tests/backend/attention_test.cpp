#include "neura/backend/kernels/attention.h"

#include <cmath>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using AttentionKernels = Kernels<attention_kernels>;

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

TEST_F(AttentionKernels, EqualPlainLoops) {
  for (const bool masked : {false, true})
    for (const bool causal : {false, true}) {
      Heads a = heads({2, 3}, 6, 9, masked, causal);
      EXPECT_EQ(ask(&attention_kernels::supports, a.q.spec(), a.k.spec(), a.v.spec(), masked, a.shape),
                AttentionSupport::plain);
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
        run(&attention_kernels::forward, q, a.k, a.v, a.mask, a.shape, y, View{});
        expect_near(y, want, 1e-5);
        run(&attention_kernels::backward, g, q, a.k, a.v, a.mask, View{}, View{}, a.shape, gq, gk, gv);
        expect_near(gq, wq.values(), 2e-5);
        expect_near(gk, wk.values(), 2e-5);
        expect_near(gv, wv.values(), 2e-5);
      }
    }
}
TEST_F(AttentionKernels, OfNothing) {  // kernels get no empty operands; the question is asked of halves and floats
  const Spec half = Spec::dense(DType::float16, Shape{1, 2, 3}), single = Spec::dense(DType::float32, Shape{1, 2, 3});
  EXPECT_EQ(ask(&attention_kernels::supports, half, half, half, false, AttentionShape{1, false}),
            AttentionSupport::none);
  EXPECT_EQ(ask(&attention_kernels::supports, single, single, single, false, AttentionShape{1, false}),
            AttentionSupport::plain);
}
TEST_F(AttentionKernels, SameOnAnyNumberOfThreads) {
  for (const Shape& batch : {Shape{4, 8}, Shape{1, 2}})  // more heads than threads, and heads that are cut
    expect_same_on_any_threads([&] {
      Heads a = heads(batch, 300, 200, true, false);
      const Shape y_size{batch[0], batch[1], 300, 5};
      Array<float> y(y_size), gy = eighths(y_size, 5), gq(a.q.spec().sizes()), gk(a.k.spec().sizes()),
                              gv(a.v.spec().sizes());
      run(&attention_kernels::forward, a.q, a.k, a.v, a.mask, a.shape, y, View{});
      run(&attention_kernels::backward, gy, a.q, a.k, a.v, a.mask, View{}, View{}, a.shape, gq, gk, gv);
      return y.bytes() + gq.bytes() + gk.bytes() + gv.bytes();
    });
}

}  // namespace
}  // namespace neura::test
