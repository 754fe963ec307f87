// vmap of products and convolutions. Where only one side is batched, the batch becomes more rows, samples or channels
// of one product; where both are, a product for each sample, in one call.
#include "neura/autograd/vmap_rules.h"
#include "neura/core/extension.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/product/matmul_ops.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/conv_ops.h"

namespace neura {
namespace {

bool has_layout(const Tensor& t) { return t && extension(t.impl()); }

// One side is a sparse matrix that all samples share: their columns, or their rows, are concatenated in one product.
bool shared_sparse(BatchCall& b) {
  if (b.call.destination != Destination::fresh || b.any_of({0}) == b.any_of({1})) return false;
  const int dense = b.any_of({0}) ? 0 : 1;
  if (!has_layout(b.in[1 - dense]) || b.rank(dense) != 2) return false;
  const Tensor side = fold(b.in[dense], dense);
  const Tensor y = dense ? matmul(b.in[0], side) : matmul(side, b.in[1]);
  b.set_result(0, unfold_batch(y, dense, b.size()));
  return true;
}

}  // namespace

void batched_matmul(BatchCall& b) {
  if (shared_sparse(b)) return;
  const int rank = std::max(b.rank(0), b.rank(1));
  b.pad(0, rank), b.pad(1, rank);
  const auto& op = *static_cast<const MatmulOp*>(b.call.op);
  const bool outer = b.spec(1).shape[b.rank(1) - 2] == 1 && b.any_of({0}) && b.any_of({1});
  if (outer && !op.conj_a && !op.conj_b && b.call.destination == Destination::fresh)
    return b.set_result(0, mul(b.in[0], b.in[1]));  // a column and a row for each sample: nothing to add up
  b.finish(b.row(), b.call.op);
}
void batched_addmm(BatchCall& b) {
  const int rank = std::max(b.rank(1), b.rank(2));
  if (!b.any_of({1, 2})) b.batch(1);
  for (int i = 0; i < 3; ++i) b.pad(i, rank);
  b.finish(b.row(), b.call.op);
}

void batched_linear(BatchCall& b) {
  if (b.call.destination != Destination::fresh) return loop_over_samples(b);
  using In = LinearOp::In;
  if (!b.any_of({In::weight, In::bias})) return b.finish(b.row(), b.call.op);
  const auto& op = *static_cast<const LinearOp*>(b.call.op);
  const Tensor &x = b.in[In::input], &w = b.in[In::weight], &bias = b.in[In::bias];
  const int rank = b.rank(In::input);
  Shape sizes = b.spec(In::input).sizes();
  sizes.back() = b.spec(In::weight).shape[0], sizes.insert(0, b.size());
  Tensor y;
  if (!b.any_of({In::weight})) {
    y = apply(op, x, w, Operand());
  } else {
    b.batch(In::input);
    const Tensor rows = reshape(x, {b.size(), rank == 1 ? 1 : -1, b.spec(In::input).shape[rank - 1]});
    y = reshape(apply(MatmulOp{op.conj_x, op.conj_w}, rows, transpose(w, 1, 2)), sizes);
  }
  if (bias) {
    b.pad(In::bias, y.dim() - (b.any_of({In::input, In::weight}) ? 1 : 0));
    y = add(y, bias);
  }
  b.set_result(0, y);
}

namespace {

// [b, n, c, ..] as n images of b * c channels.
Tensor channels(const Tensor& t) { return contiguous(fold(t, 1)); }
Tensor from_channels(const Tensor& t, std::int64_t size) { return unfold_batch(t, 1, size); }

// What convolves: `image` [n, c, ..] by a weight. Only the image is batched: more samples. Else a group for each
// sample, or, of an image that all share, more channels of the result.
template <class Op> Tensor convolve(BatchCall& b, Op op, const Operand& bias) {
  constexpr bool forward = std::is_same_v<Op, ConvolutionOp>;
  const auto run = [&](const Tensor& image, const Tensor& w) {
    if constexpr (forward) return apply(op, image, w, bias);
    else return apply(op, image, w);
  };
  if (!b.any_of({1})) return unfold_batch(run(contiguous(fold(b.in[0], 0)), contiguous(b.in[1])), 0, b.size());
  const Tensor w = contiguous(fold(b.in[1], 0));
  if (forward && !b.any_of({0}) && op.s.groups == 1) return from_channels(run(b.in[0], w), b.size());
  b.batch(0);
  op.s.groups *= b.size();
  return from_channels(run(channels(b.in[0]), w), b.size());
}

}  // namespace

void batched_convolution(BatchCall& b) {
  const auto& op = *static_cast<const ConvolutionOp*>(b.call.op);
  using In = ConvolutionOp::In;
  const Tensor& bias = b.in[In::bias];
  if (!b.any_of({In::input, In::weight})) b.batch(In::input);
  if (!bias || !b.any_of({In::weight, In::bias})) return b.set_result(0, convolve(b, op, bias));
  const Tensor y = convolve(b, op, Operand());
  b.batch(In::bias);
  Shape sizes = Shape::filled(y.dim(), 1);
  sizes[0] = b.size(), sizes[2] = y.size(2);
  b.set_result(0, add(y, reshape(bias, sizes)));
}
void batched_convolution_input(BatchCall& b) {
  b.set_result(0, convolve(b, *static_cast<const ConvolutionBackwardInput*>(b.call.op), Operand()));
}
void batched_convolution_weight(BatchCall& b) {
  ConvolutionBackwardWeight op = *static_cast<const ConvolutionBackwardWeight*>(b.call.op);
  if (!b.any_of({0}) && op.s.groups == 1) {
    return b.set_result(0, unfold_batch(apply(op, b.in[0], channels(b.in[1])), 0, b.size()));
  }
  b.batch_all();
  op.s.groups *= b.size();
  b.set_result(0, unfold_batch(apply(op, channels(b.in[0]), channels(b.in[1])), 0, b.size()));
}

}  // namespace neura
