// Products of matrices, vectors and batches of them. Operands share one dtype (bool is refused); halves are summed in
// float32, integers wrap around. All are differentiable to any order in floating and complex dtypes. Those that Python
// calls alike: functions.h; linear is in nn/functions.h.
#pragma once
#include <span>

#include "neura/ops/nn/functions.h"
#include "neura/ops/product/functions.h"

namespace neura {

// matmul, written into `out`.
Tensor& matmul_out(Tensor& out, const Tensor& input, const Tensor& other);
// outer
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

// Sums over the last `dims` dimensions of the first with the first `dims` of the second, or over the listed pairs.
Tensor tensordot(const Tensor& a, const Tensor& b, std::int64_t dims = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const Dims& dims_a, const Dims& dims_b);

// The product of two or more matrices in the order that needs the fewest multiplications; the first and the last may be
// vectors. chain_matmul: matrices only, one or more.
Tensor multi_dot(std::span<const Tensor> tensors);
Tensor chain_matmul(std::span<const Tensor> matrices);

}  // namespace neura
