#include "neura/ops/attention.h"

#include <cmath>

#include "neura/ops/softmax.h"
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
