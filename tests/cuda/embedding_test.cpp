// Embedding and one_hot on CUDA against the CPU: tables of every width, repeated numbers, padding, norms, bad numbers.
#include <cmath>
#include <functional>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

using CudaEmbedding = CudaTest;

void expect_embedding(const Tensor& ids, const Tensor& table, const EmbeddingOptions& o = {}) {
  const Tensor h = table.detach().requires_grad_(), d = there(table).requires_grad_();
  const Tensor want = embedding(ids, h, o), got = embedding(there(ids), d, o);
  expect_same(back(got.detach()), want.detach());
  if (!is_floating(table.dtype())) return;
  const Tensor g = randn(want.shape()).to(want.dtype());
  want.backward(g), got.backward(there(g));
  expect_close(back(d.grad()), h.grad(), tolerance(table.dtype()).times(16));
}

TEST_F(CudaEmbedding, RowsOfEveryWidth) {
  manual_seed(1);
  for (const DType d : {float32, float64, bfloat16, float16})
    for (const std::int64_t width : {1, 3, 8, 33, 64, 768}) {
      SCOPED_TRACE(std::string(name(d)) + " " + std::to_string(width));
      const Tensor table = randn({50, width}).to(d);
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{7, 11}, Shape{0}, Shape{900}}) {
        const Tensor ids = randint(0, 50, shape, {.dtype = int64});
        expect_embedding(ids, table);
        expect_embedding(ids, table, {.padding_idx = 3});
        expect_embedding(ids, table, {.scale_grad_by_freq = true});
      }
    }
}
TEST_F(CudaEmbedding, ANumberThatComesAgainAndAgain) {
  manual_seed(2);
  const Tensor table = randn({5, 40});
  expect_embedding(zeros({20000}, {.dtype = int64}), table);
  expect_embedding(randint(0, 2, {20000}, {.dtype = int64}), table, {.padding_idx = 0});
  const Tensor ids = there(randint(0, 5, {30000}, {.dtype = int64})), g = there(randn({30000, 40}));
  const Tensor first = embedding_dense_backward(g, ids, 5, -1, false);
  for (int i = 0; i < 3; ++i) expect_same(back(embedding_dense_backward(g, ids, 5, -1, false)), back(first));
}
TEST_F(CudaEmbedding, SecondDerivatives) {
  manual_seed(3);
  const Tensor ids = randint(0, 6, {9}, {.dtype = int64}), table = randn({6, 4}, {.dtype = float64});
  Tensor second[2];
  for (const bool far : {false, true}) {
    const Tensor w = (far ? there(table) : table).detach().requires_grad_();
    const Tensor y = embedding(far ? there(ids) : ids, w), square = sum(y * y * y);
    const Tensor g = grad({&square, 1}, {&w, 1}, {}, {.create_graph = true})[0];
    const Tensor total = sum(g * g);
    second[far] = grad({&total, 1}, {&w, 1})[0].detach();
  }
  expect_close(back(second[1]), second[0]);
}
TEST_F(CudaEmbedding, RowsAreScaledToANorm) {
  manual_seed(4);
  for (const DType d : {float32, float64, bfloat16})
    for (const double p : {1., 2., 3., double(INFINITY)}) {
      const Tensor table = (randn({40, 37}) * 2).to(d), far = there(table);
      const Tensor ids = randint(0, 30, {100}, {.dtype = int64});
      const EmbeddingOptions o{.max_norm = 1.5, .norm_type = p};
      const Tensor want = embedding(ids, table, o), got = embedding(there(ids), far, o);
      expect_close(back(got), want, tolerance(d).times(4));
      expect_close(back(far), table, tolerance(d).times(4));
    }
}
TEST_F(CudaEmbedding, OneHot) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{30, 41}, Shape{0}}) {
    const Tensor ids = randint(0, 13, shape, {.dtype = int64});
    expect_same(back(one_hot(there(ids), 13)), one_hot(ids, 13));
  }
}
TEST_F(CudaEmbedding, ANumberOutOfTheTableIsTold) {
  const Tensor table = there(randn({5, 8})), g = there(randn({3, 8}));
  for (const std::int64_t bad : {-1, 5}) {
    const Tensor ids = there(tensor({0, int(bad), 4}));
    const auto expect_told = [&](const char* op, const std::function<Tensor()>& f) {
      const std::string said = error_of<IndexError>([&] { back(f()); });
      EXPECT_EQ(said.find(std::string(op) + ": expected indices from 0 to 4, got " + std::to_string(bad)), 0u) << said;
    };
    expect_told("embedding", [&] { return embedding(ids, table); });
    expect_told("embedding_dense_backward", [&] { return embedding_dense_backward(g, ids, 5, -1, false); });
    expect_told("one_hot", [&] { return one_hot(ids, 5); });
  }
  expect_same(back(embedding(there(tensor({4})), table)), back(table).slice(0, 4, 5));
}

}  // namespace
}  // namespace neura::test
