#include "neura/ops/nn/embedding.h"

#include "neura/core/parallel.h"
#include "tests/ops/arguments.h"
#include "tests/support/engine.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

const Tensor& ids() {
  static const Tensor t = sample({4, 9}, int64, {.low = 0, .high = 7});
  return t;
}

TEST(Embedding, LooksRowsUp) {
  for (DType d : {float32, float64, float16, int32, complex64})
    for (const Tensor& w : layouts(sample({7, 5}, d)))
      for (const Tensor& i : layouts(ids())) {
        const Tensor y = embedding(i, w);
        EXPECT_EQ(y.shape(), (Shape{4, 9, 5}));
        expect_same(y, from_loop({4, 9, 5}, d, [&](const Shape& k) {
                      return scalar_at(w, Shape{scalar_at(i, Shape{k[0], k[1]}).integer(), k[2]});
                    }));
      }
  EXPECT_EQ(embedding(full({0}, 1), sample({7, 5})).shape(), (Shape{0, 5}));
  EXPECT_TRUE(embedding(to(ids(), int32), sample({7, 5})).numel() == 180);
}
TEST(Embedding, Gradients) {
  const Tensor w = sample({7, 3}, float64);
  expect_gradients([](const Tensor& v) { return embedding(ids(), v); }, w);
  expect_gradients([](const Tensor& g) { return embedding_dense_backward(g, ids(), 7, 3, false); },
                   sample({4, 9, 2}, float64));
  Tensor x = w.clone().requires_grad_();
  embedding(ids(), x, {.padding_idx = 4}).sum().backward();
  const Tensor g = x.grad();
  std::int64_t times = 0;
  for (std::int64_t i = 0; i < 36; ++i) times += at(ids(), i) == 3;
  EXPECT_TRUE(at(g, 4 * 3) == 0 && at(g, 3 * 3) == double(times) && times > 1);
  x.set_grad({});
  embedding(ids(), x, {.scale_grad_by_freq = true}).sum().backward();
  EXPECT_TRUE(at(x.grad(), 3 * 3) == 1);
}
TEST(Embedding, GradientDoesNotDependOnThreads) {
  const Tensor i = sample({5000}, int64, {.low = 0, .high = 50}), g = sample({5000, 64}, float32);
  const int before = get_num_threads();
  const Tensor a = embedding_dense_backward(g, i, 1000, -1, false);
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    expect_same(embedding_dense_backward(g, i, 1000, -1, false), a);
  }
  set_num_threads(before);
}
TEST(Embedding, MaxNormScalesTheRowsThatAreLookedUp) {
  const Tensor w = from({3, 4, 3, 4, 0.3, 0.4}, {3, 2});
  EXPECT_TRUE(is_near(embedding(tensor({0, 2, 0}), w, {.max_norm = 1.0}), {0.6, 0.8, 0.3, 0.4, 0.6, 0.8}));
  EXPECT_TRUE(is_near(w, {0.6, 0.8, 3, 4, 0.3, 0.4}));
}
TEST(Embedding, Errors) {
  EXPECT_ERROR(IndexError, "embedding: expected indices from 0 to 6, got 7", embedding(full({2}, 7), sample({7, 5})));
  EXPECT_ERROR(IndexError, "got -1", embedding(full({2}, -1), sample({7, 5})));
  EXPECT_ERROR(DTypeError, "int64 or int32, got float32", embedding(full({2}, 1.0), sample({7, 5})));
  EXPECT_ERROR(ShapeError, "expected a weight [rows, width], got [7]", embedding(full({2}, 1), sample({7})));
  EXPECT_ERROR(ValueError, "padding_idx", embedding(full({2}, 1), sample({7, 5}), {.padding_idx = 7}));
}
TEST(OneHot, CountsClassesItself) {
  const Tensor y = one_hot(tensor({0, 2, 1}));
  EXPECT_TRUE(y.dtype() == int64 && is_near(y, {1, 0, 0, 0, 0, 1, 0, 1, 0}));
  EXPECT_EQ(one_hot(full({2, 0}, 1), 4).shape(), (Shape{2, 0, 4}));
  EXPECT_ERROR(IndexError, "from 0 to 1, got 2", one_hot(tensor({0, 2}), 2));
}
TEST(Embedding, StoredAnswers) {
  const auto call = [](const Tensor& x, const Arguments& a) { return embedding(x, a.tensor(0, "weight")); };
  const auto hot = [](const Tensor& x, const Arguments& a) { return one_hot(x, a.integer(0, "num_classes", -1)); };
  expect_conformance("embedding", {{"nn.functional.embedding", one(call)}, {"nn.functional.one_hot", one(hot)}});
}

}  // namespace
}  // namespace neura::test
