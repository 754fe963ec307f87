#include "neura/ops/nn/attention.h"

#include <cmath>
#include <functional>

#include "neura/core/parallel.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "tests/ops/arguments.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

TEST(Attention, IsASoftmaxOfProducts) {
  const Tensor q = sample({2, 3, 5, 4}, float32), k = sample({2, 3, 7, 4}, float32, {.seed = 1});
  const Tensor v = sample({2, 3, 7, 6}, float32, {.seed = 2});
  expect_close(scaled_dot_product_attention(q, k, v), matmul(softmax(matmul(q, mT(k)) * 0.5, -1), v));
  const Tensor doubled = scaled_dot_product_attention(q, k, v, {.scale = -2});
  expect_close(doubled, matmul(softmax(matmul(q, mT(k)) * -2, -1), v));
}
TEST(Attention, MasksHide) {
  const Tensor q = sample({3, 4}, float32), k = sample({3, 4}, float32, {.seed = 1}),
               v = sample({3, 2}, float32, {.seed = 2});
  const Tensor causal = scaled_dot_product_attention(q, k, v, {.is_causal = true});
  expect_close(select(causal, 0, 0), select(v, 0, 0));
  const Tensor mask = from({1, 0, 0, 0, 0, 0, 1, 1, 1}, {3, 3}) == 1;
  const Tensor y = scaled_dot_product_attention(q, k, v, {.attn_mask = mask});
  expect_close(select(y, 0, 0), select(v, 0, 0));
  EXPECT_TRUE(is_near(select(y, 0, 1), {0, 0}));  // every key is hidden
  expect_close(select(y, 0, 2), select(scaled_dot_product_attention(q, k, v), 0, 2));
  EXPECT_ERROR(ValueError, "got both", scaled_dot_product_attention(q, k, v, {.attn_mask = mask, .is_causal = true}));
}
TEST(Attention, HeadsMayShareKeys) {
  const Tensor q = sample({1, 4, 3, 2}, float32), k = sample({1, 2, 3, 2}, float32, {.seed = 1});
  const Tensor y = scaled_dot_product_attention(q, k, k, {.enable_gqa = true});
  const Tensor last = scaled_dot_product_attention(select(q, 1, 3), select(k, 1, 1), select(k, 1, 1));
  expect_close(select(y, 1, 3), last);
}
TEST(Attention, Gradients) {
  expect_gradients(
      [](const std::vector<Tensor>& v) {
        return std::vector{scaled_dot_product_attention(v[0], v[1], v[2], {.is_causal = true})};
      },
      {sample({2, 3, 4}, float64), sample({2, 3, 4}, float64, {.seed = 1}), sample({2, 3, 2}, float64, {.seed = 2})});
}
TEST(Attention, LongCausalOneEqualsItsMask) {  // computed in blocks of queries
  for (const std::int64_t keys : {100, 270, 300}) {
    const Tensor q = sample({2, 270, 4}, float64), k = sample({2, keys, 4}, float64, {.seed = 1});
    const Tensor v = sample({2, keys, 3}, float64, {.seed = 2}), g = sample({2, 270, 3}, float64, {.seed = 3});
    const auto run = [&](const AttentionOptions& o) {
      std::vector<Tensor> leaves{q.clone().requires_grad_(), k.clone().requires_grad_(), v.clone().requires_grad_()};
      const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], o);
      y.backward(g);
      return std::vector{y.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
    };
    const auto blocks = run({.is_causal = true});
    const auto whole = run({.attn_mask = arange(0, keys) <= unsqueeze(arange(0, 270), 1)});
    for (std::size_t i = 0; i < 4; ++i) expect_close(blocks[i], whole[i]);
  }
}
// The result and the gradients of query, key and value.
std::vector<Tensor> with_gradients(std::vector<Tensor> x, const Tensor& g,
                                   const std::function<Tensor(const std::vector<Tensor>&)>& f) {
  for (Tensor& leaf : x) leaf = leaf.clone().requires_grad_();
  const Tensor y = f(x);
  y.backward(g);
  return {y.detach(), x[0].grad(), x[1].grad(), x[2].grad()};
}
TEST(Attention, EqualsItsFormulaOnAnyThreads) {
  struct Case {
    Shape batch;
    std::int64_t queries, keys, size, values;
    Shape mask;  // none: causal
  };
  const int before = get_num_threads();
  for (const Case& at : {Case{{1, 2}, 300, 210, 5, 19, {}}, Case{{9}, 70, 150, 33, 8, {70, 1}},
                         Case{{2, 5}, 40, 700, 16, 3, {5, 1, 700}}, Case{{}, 257, 40, 4, 70, {257, 40}}}) {
    const auto sizes = [&](std::int64_t rows, std::int64_t columns) {
      Shape s = at.batch;
      s.insert(s.size(), rows), s.insert(s.size(), columns);
      return s;
    };
    const Tensor q = sample(sizes(at.queries, at.size), float64), g = sample(sizes(at.queries, at.values), float64),
                 k = sample(sizes(at.keys, at.size), float64, {.seed = 1}),
                 v = mT(sample(sizes(at.values, at.keys), float64, {.seed = 2}));
    const bool causal = at.mask.empty();
    const Tensor mask = causal ? Tensor() : sample(at.mask, float64, {.seed = 3});
    const Tensor added = causal ? where(arange(0, at.keys) <= unsqueeze(arange(0, at.queries), 1), 0.0, -1e300) : mask;
    const auto formula = with_gradients({q, k, v}, g, [&](const std::vector<Tensor>& x) {
      return matmul(softmax(matmul(x[0], mT(x[1])) * 0.3 + added, -1), x[2]);
    });
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 3}) {
      set_num_threads(threads);
      const auto kernel = with_gradients({q, k, v}, g, [&](const std::vector<Tensor>& x) {
        return scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = mask, .is_causal = causal, .scale = 0.3});
      });
      for (std::size_t i = 0; i < 4; ++i) {
        expect_close(kernel[i], formula[i]);
        if (threads > 1) EXPECT_TRUE(equal(kernel[i], first[i]));
      }
      if (threads == 1) first = kernel;
    }
  }
  set_num_threads(before);
}
TEST(Attention, StoredAnswers) {
  const auto call = [](const Tensor& q, const Arguments& a) {
    return scaled_dot_product_attention(q, a.tensor(0, "key"), a.tensor(1, "value"),
                                        {.attn_mask = a.tensor(2, "attn_mask"),
                                         .dropout_p = a.number(3, "dropout_p", 0),
                                         .is_causal = a.flag(4, "is_causal", false),
                                         .scale = a.maybe(9, "scale"),
                                         .enable_gqa = a.flag(9, "enable_gqa", false)});
  };
  expect_conformance("attention", {{"nn.functional.scaled_dot_product_attention", one(call)}});
}

}  // namespace
}  // namespace neura::test
