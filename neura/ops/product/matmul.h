// Products of matrices, vectors and batches of them. Operands share one dtype (bool is refused); halves are summed in
// float32, integers wrap around. All are differentiable to any order in floating and complex dtypes.
#pragma once
#include <span>

#include "neura/core/tensor.h"

namespace neura {

// The product of any two ranks from 1 up: a vector on the left is a row, on the right a column (that dimension leaves
// the result), leading dimensions are batches and broadcast. [.., n, k] x [.., k, m] -> [.., n, m]. ShapeError,
// DTypeError.
Tensor matmul(const Tensor& input, const Tensor& other);
Tensor& matmul_out(Tensor& out, const Tensor& input, const Tensor& other);

// The same for exactly these ranks, without broadcasting: [n, k] x [k, m], [b, n, k] x [b, k, m], [n, k] x [k].
Tensor mm(const Tensor& input, const Tensor& mat2);
Tensor bmm(const Tensor& input, const Tensor& mat2);
Tensor mv(const Tensor& input, const Tensor& vec);

// The sum of products of two vectors of one size; vdot conjugates the first.
Tensor dot(const Tensor& input, const Tensor& other);
Tensor vdot(const Tensor& input, const Tensor& other);
// Sums over the last dimension of both: [.., k] and [.., k] -> all other dimensions of the first, then of the second.
Tensor inner(const Tensor& input, const Tensor& other);
// Every product of an element of [n] with one of [m] -> [n, m].
Tensor outer(const Tensor& input, const Tensor& vec2);
Tensor ger(const Tensor& input, const Tensor& vec2);

struct AddProductOptions {
  Scalar beta = 1, alpha = 1;
};
// beta * input + alpha * product, `input` broadcast to the product's shape. With beta 0 `input` is not read (its nan
// and inf do not spread). addmm: [n, k] x [k, m]; addmv: [n, k] x [k]; addr: the outer product; baddbmm: a batch of
// products; addbmm: their sum over the batch.
Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const AddProductOptions& options = {});
Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec, const AddProductOptions& options = {});
Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const AddProductOptions& options = {});
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const AddProductOptions& options = {});
Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2, const AddProductOptions& options = {});

// input x weight^T + bias: [.., in] with weight [out, in] (or [in]) and bias [out] (or undefined) -> [.., out].
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});

// Sums over the last `dims` dimensions of the first with the first `dims` of the second, or over the listed pairs.
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);

// The product of two or more matrices in the order that needs the fewest multiplications; the first and the last may be
// vectors. chain_matmul: matrices only, one or more.
Tensor multi_dot(std::span<const Tensor> tensors);
Tensor chain_matmul(std::span<const Tensor> matrices);

}  // namespace neura
