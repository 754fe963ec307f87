// Sparse tensors against dense ones of the same values.
#include "neura/sparse/sparse.h"

#include "neura/core/print.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"
#include "tests/support/gradients.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

Tensor thinned(const Shape& size, double density, DType d = DType::float64, std::uint64_t seed = 1) {
  const Tensor x = sample(size, d, {.seed = seed, .gap = 0.25});
  const Tensor chance = abs(sample(size, DType::float64, {.seed = seed + 77})).to(DType::float64);
  const double most = max(chance).item<double>();
  return where(chance <= Scalar(density * most), x, zeros_like(x));
}
constexpr Layout kAll[] = {Layout::coo, Layout::csr, Layout::csc, Layout::bsr, Layout::bsc};
Tensor as(const Tensor& t, Layout l) {
  const bool blocks = l == Layout::bsr || l == Layout::bsc;
  return sparse::to_layout(t, l, blocks ? std::optional<Shape>({2, 3}) : std::nullopt);
}

TEST(Sparse, EveryChainOfLayoutsGivesTheValuesBack) {
  for (const double density : {0.0, 0.1, 0.5, 1.0}) {
    const Tensor x = thinned({6, 9}, density);
    for (Layout first : kAll)
      for (Layout second : kAll) {
        const Tensor t = as(as(x, first), second);
        EXPECT_EQ(layout(t), second);
        expect_same(sparse::to_dense(t), x);
      }
  }
}
TEST(Sparse, ProductsAreThoseOfTheDenseMatrix) {
  for (const DType d : {DType::float32, DType::float64, DType::complex128, DType::int64})
    for (const double density : {0.0, 0.01, 0.5, 1.0})
      for (Layout l : kAll) {
        const Tensor x = thinned({6, 9}, density, d), b = sample({9, 5}, d, {.seed = 3});
        const Tensor a = sample({4, 6}, d, {.seed = 4});
        expect_close(matmul(as(x, l), b), matmul(x, b));
        expect_close(matmul(a, as(x, l)), matmul(a, x));
        expect_close(matmul(as(x, l), select(b, 1, 0)), matmul(x, select(b, 1, 0)));
        const Tensor y = thinned({9, 4}, 0.4, d, 5), both = matmul(as(x, l), sparse::to_coo(y));
        EXPECT_TRUE(is_sparse(both));
        expect_close(sparse::to_dense(both), matmul(x, y));
      }
}
TEST(Sparse, ProductsInThreadsAreTheSame) {
  const Tensor x = thinned({400, 300}, 0.05, DType::float32), b = sample({300, 70}, DType::float32);
  expect_close(matmul(sparse::to_layout(x, Layout::csr), b), matmul(x, b));
}
TEST(Sparse, ElementwiseOperationsAreThoseOfDenseTensors) {
  const Tensor x = thinned({6, 9}, 0.3), y = thinned({6, 9}, 0.4, DType::float64, 9),
               d = sample({6, 9}, DType::float64);
  for (Layout l : kAll) {
    const Tensor s = as(x, l), t = as(y, l);
    expect_close(sparse::to_dense(s + t), x + y);
    expect_close(sparse::to_dense(s - t), x - y);
    expect_close(sparse::to_dense(s * t), x * y);
    expect_close(sparse::to_dense(s * 3.), x * 3.);
    expect_close(sparse::to_dense(s / 4.), x / 4.);
    expect_close(sparse::to_dense(s * d), x * d);
    expect_close(sparse::to_dense(d * s), x * d);
    expect_close(sparse::to_dense(s * select(d, 0, 1)), x * select(d, 0, 1));
    expect_close(sparse::to_dense(s * slice(d, 1, 2, 3)), x * slice(d, 1, 2, 3));
    expect_close(d + s, d + x);
    expect_close(s - d, x - d);
    expect_close(sparse::to_dense(sin(s)), sin(x));
    expect_close(sparse::to_dense(-s), -x);
    expect_close(sparse::sum(s), sum(x));
    expect_close(sparse::to_dense(sparse::sum(s, {0})), sum(x, 0));
    expect_close(sparse::to_dense(transpose(s, 0, 1)), transpose(x, 0, 1));
    if (l >= Layout::bsr) continue;  // a block stores zeros, too
    expect_close(sparse::to_dense(sparse::mask(d, s)), where(x != Scalar(0), d, zeros_like(d)));
  }
}
TEST(Sparse, RepeatedIndicesCountAsTheirSum) {
  const Tensor i = tensor<std::int64_t>({{1, 0, 1, 1}, {2, 0, 2, 0}}), v = tensor({1., 2., 10., 100.});
  const Tensor t = sparse::coo_tensor(i, v, Shape{2, 3});
  EXPECT_FALSE(sparse::is_coalesced(t));
  expect_close(sparse::to_dense(t), {2, 0, 0, 100, 0, 11});
  const Tensor c = sparse::coalesce(t);
  EXPECT_TRUE(sparse::is_coalesced(c));
  expect_close(sparse::indices(c), {0, 1, 1, 0, 0, 2});
  expect_close(sparse::values(c), {2, 100, 11});
  expect_close(sparse::to_dense(t * t), {4, 0, 0, 10000, 0, 121});
  EXPECT_EQ(error_of<ValueError>([&] { sparse::values(t); }),
            "values: expected a coalesced tensor, got one whose indices may repeat; call coalesce() first");
}

TEST(Sparse, AnyAndAllCountWhatIsNotStoredAsFalse) {
  const Tensor one = tensor({{0., 3.}, {0., 0.}}), full = tensor({{1., 3.}, {2., -1.}});
  for (Layout l : {Layout::coo, Layout::csr, Layout::csc}) {
    EXPECT_TRUE(any(sparse::to_layout(one, l)).item<bool>());
    EXPECT_FALSE(all(sparse::to_layout(one, l)).item<bool>());
    EXPECT_TRUE(all(sparse::to_layout(full, l)).item<bool>());
    EXPECT_FALSE(any(sparse::to_layout(one, l) * Scalar(0)).item<bool>());
  }
  const Tensor none = sparse::coo_tensor(tensor<std::int64_t>({{1, 1}}), tensor({2., -2.}), Shape{3});
  EXPECT_FALSE(any(none).item<bool>());  // of the sum
  EXPECT_EQ(error_of<NotImplementedError>([&] { any(sparse::to_coo(one), {0}); }),
            "any: expected a dense tensor for input, got a sparse_coo one; call to_dense()");
}
TEST(Sparse, DimensionsOfOneElementComeAndGo) {
  const Tensor d = thinned({3, 4}, 0.5), s = sparse::to_coo(d), hybrid = sparse::to_coo(d, 1);
  for (const Tensor& t : {s, hybrid})
    for (int dim : {0, 1, 2}) {
      const Tensor wide = unsqueeze(t, dim);
      expect_close(sparse::to_dense(wide), unsqueeze(d, dim));
      expect_close(sparse::to_dense(squeeze(wide, {dim})), d);
      EXPECT_EQ(sparse::dense_dim(wide), sparse::dense_dim(t) + (dim > sparse::sparse_dim(t)));
    }
  expect_close(sparse::to_dense(stack({s, s * 2.}, 1)), stack({d, d * 2.}, 1));
  expect_close(sparse::to_dense(slice(s, 1, 1, 4, 2)), slice(d, 1, 1, 4, 2));
  expect_close(sparse::to_dense(slice(s, 0, 2, 2)), slice(d, 0, 2, 2));
  EXPECT_EQ(error_of<NotImplementedError>([&] { view(s, {12}); }),
            "view: expected a dense tensor for input, got a sparse_coo one; call to_dense()");
}

Tensor as_leaf(const Tensor& v, const Tensor& like) {  // a sparse tensor of these values
  return sparse::coo_tensor(sparse::indices(like), v, like.shape());
}
TEST(Sparse, GradientsOfValuesAndDenseOperands) {
  const Tensor like = sparse::to_coo(thinned({4, 6}, 0.4)), other = sparse::to_coo(thinned({4, 6}, 0.5, float64, 8));
  const Tensor v = sparse::values(like), b = sample({6, 3}, float64), d = sample({4, 6}, float64, {.gap = 0.25});
  expect_gradients([&](const Tensor& v, const Tensor& b) { return matmul(as_leaf(v, like), b); }, v, b);
  expect_gradients(
      [&](const Tensor& v, const Tensor& b) { return matmul(transpose(b, 0, 1), transpose(as_leaf(v, like), 0, 1)); },
      v, b);
  expect_gradients([&](const Tensor& v, const Tensor& d) { return sparse::to_dense(as_leaf(v, like) * d); }, v, d);
  expect_gradients([&](const Tensor& v, const Tensor& d) { return as_leaf(v, like) * as_leaf(v, like) + d; }, v, d);
  expect_gradients([&](const Tensor& v) { return sparse::to_dense(as_leaf(v, like) * other + other); }, v);
  expect_gradients([&](const Tensor& v) { return sparse::to_dense(matmul(as_leaf(v, like), transpose(other, 0, 1))); },
                   v);
  expect_gradients([&](const Tensor& v) { return sparse::to_dense(sparse::softmax(as_leaf(v, like), 1)); }, v);
  expect_gradients([&](const Tensor& v) { return sparse::to_dense(sparse::log_softmax(as_leaf(v, like), 0)); }, v);
  expect_gradients([&](const Tensor& v) { return sparse::to_dense(sparse::to_layout(as_leaf(v, like), Layout::csc)); },
                   v);
  expect_gradients([&](const Tensor& d) { return sparse::to_dense(sparse::mask(d, like)); }, d);
  expect_gradients(
      [&](const Tensor& a, const Tensor& b) { return sparse::to_dense(sparse::sampled_addmm(like, a, b)); },
      sample({4, 3}, float64), sample({3, 6}, float64, {.seed = 2}));
}
TEST(Sparse, GradientsOfASparseTensorHaveItsPattern) {
  const Tensor x = thinned({4, 6}, 0.4), b = sample({6, 3}, float64);
  for (Layout l : {Layout::coo, Layout::csr, Layout::csc}) {
    Tensor t = sparse::to_layout(x, l).detach().requires_grad_();
    EXPECT_TRUE(t.is_leaf());
    sum(matmul(t, b)).backward();
    EXPECT_EQ(layout(t.grad()), l);
    const Tensor want = matmul(ones({4, 3}, {.dtype = float64}), transpose(b, 0, 1));
    expect_close(sparse::to_dense(t.grad()), where(x != Scalar(0), want, zeros_like(want)));
    sum(matmul(t, b)).backward();  // added to the first
    EXPECT_EQ(sparse::nnz(t.grad()), sparse::nnz(t));
    expect_close(sparse::to_dense(t.grad()), where(x != Scalar(0), want * 2., zeros_like(want)));
  }
}

TEST(Sparse, WhatDoesNotFitIsRefusedWithItsSentence) {
  const Tensor i = tensor<std::int64_t>({{0, 5}}), v = tensor({1., 2.});
  EXPECT_EQ(error_of<IndexError>([&] { sparse::coo_tensor(i, v, Shape{3}); }),
            "sparse_coo_tensor: expected indices from 0 to 2, got 5");
  EXPECT_EQ(error_of<IndexError>([&] { sparse::coo_tensor(-i, v, Shape{3}); }),
            "sparse_coo_tensor: expected indices from 0 to 2, got -5");
  EXPECT_EQ(error_of<ShapeError>([&] { sparse::coo_tensor(i, tensor({1.}), Shape{6}); }),
            "sparse_coo_tensor: expected a value for each of the 2 indices, got float32 [1]");
  const auto csr = [&](std::initializer_list<std::int64_t> starts, std::initializer_list<std::int64_t> columns) {
    sparse::compressed_tensor(Layout::csr, tensor(starts), tensor(columns), v, Shape{2, 2}, {.check_invariants = true});
  };
  EXPECT_EQ(error_of<IndexError>([&] {
              csr({0, 1, 2}, {0, 2});
            }),
            "sparse_csr_tensor: expected plain indices from 0 to 1, got 2");
  EXPECT_EQ(error_of<ValueError>([&] {
              csr({0, 2, 1}, {0, 1});
            }),
            "sparse_csr_tensor: expected compressed indices that begin with 0, never fall, and end with the number of "
            "plain ones, 2, got others");
  EXPECT_EQ(error_of<ValueError>([&] {
              csr({0, 2, 2}, {1, 0});
            }),
            "sparse_csr_tensor: expected plain indices that ascend and are distinct within each row or column, got "
            "others");
  const Tensor t = sparse::to_coo(eye(3));
  EXPECT_EQ(error_of<ShapeError>([&] { matmul(t, ones({2, 2})); }).substr(0, 7), "matmul:");
  EXPECT_EQ(error_of<DTypeError>([&] {
              sparse::mm(t, ones({3, 2}, {.dtype = float64}));
            }),
            "mm: expected operands of one dtype, got float32 [3, 3] and float64 [3, 2]; convert one with .to()");
  Tensor leaf = t.detach().requires_grad_();
  EXPECT_THROW(mul_(leaf, 2), AutogradError);
}
TEST(Sparse, PrintsAsPyTorchDoes) {
  const Tensor x = tensor({{0., 3., 0.}, {4., 0., 5.}});
  EXPECT_EQ(
      sparse::to_coo(x).str(),
      "tensor(indices=tensor([[0, 1, 1],\n                       [1, 0, 2]]),\n       values=tensor([3., 4., 5.]),\n"
      "       size=(2, 3), nnz=3, layout=sparse_coo)");
  EXPECT_EQ(sparse::to_layout(x, Layout::csr).str(),
            "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([1, 0, 2]),\n"
            "       values=tensor([3., 4., 5.]), size=(2, 3), nnz=3, layout=sparse_csr)");
}

}  // namespace
}  // namespace neura::test
