// Calls that products and the operations of networks refuse: every place that raises an error and that no other test
// reaches.
#include "neura/neura.h"
#include "neura/ops/nn/embedding_bag.h"
#include "neura/ops/nn/softmax.h"
#include "tests/support/refusals.h"

namespace neura {
namespace {

using test::expect_refusals;

Tensor f(const Shape& s) { return ones(s); }
Tensor n(const Shape& s) { return zeros(s, {.dtype = int64}); }
Tensor d(const Shape& s) { return ones(s, {.dtype = float64}); }

TEST(RefusalsOfNetworks, Products) {
  const Tensor x = f({2, 3});
  const std::vector<Tensor> one = {x}, none;
  expect_refusals<ShapeError>({{"linear: expected input",
                                [&] {
                                  linear(x, f({4, 5}));
                                }},
                               {"linear: expected bias [4]",
                                [&] {
                                  linear(x, f({4, 3}), f({5}));
                                }},
                               {"tensordot: expected operands of at least 3", [&] { tensordot(x, x, 3); }},
                               {"tensordot: expected as many dimensions",
                                [&] {
                                  tensordot(x, x, {0}, {0, 1});
                                }},
                               {"tensordot: expected each dimension of an operand once, got [0, 0] and [0, 1]", [] {
                                  tensordot(f({2, 2}), f({2, 2}), {0, 0}, {0, 1});
                                }}});
  expect_refusals<ValueError>({{"tensordot: expected dims", [&] { tensordot(x, x, -1); }},
                               {"multi_dot: expected at least two", [&] { multi_dot(one); }},
                               {"chain_matmul: expected at least one", [&] { chain_matmul(none); }}});
  expect_refusals<NotImplementedError>(
      {{"matmul: expected matrices or batches of them where out is given, got float32 [2", [&] {
          Tensor y = f({2});
          matmul_out(y, x, f({3}));
        }}});
}
TEST(RefusalsOfNetworks, Convolutions) {
  const Tensor x = f({1, 2, 5, 5}), w = f({4, 2, 3, 3});
  expect_refusals<DTypeError>({{"fold: expected a floating or complex dtype", [] {
                                  fold(n({1, 4, 1}), {2, 2}, {2, 2});
                                }}});
  expect_refusals<ShapeError>({{"unfold: expected a window no larger",
                                [&] {
                                  unfold(x, {6, 6});
                                }},
                               {"fold: expected [n, channels * 4, 1]",
                                [] {
                                  fold(f({1, 5, 1}), {2, 2}, {2, 2});
                                }},
                               {"conv2d: expected stride of one or 2 numbers", [&] {
                                  conv2d(x, w, {}, {.stride = {1, 1, 1}});
                                }}});
  expect_refusals<ValueError>({{"conv2d: expected padding of numbers", [&] { conv2d(x, w, {}, {.padding = "some"}); }},
                               {"conv_transpose2d: expected output_padding", [&] {
                                  conv_transpose2d(x, f({2, 4, 3, 3}), {}, {.output_padding = 1});
                                }}});
}
TEST(RefusalsOfNetworks, Pooling) {
  const Tensor x = f({1, 2, 6, 6});
  expect_refusals<DTypeError>({{"max_pool: expected real numbers",
                                [] {
                                  max_pool2d(ones({1, 1, 4, 4}, {.dtype = complex64}), 2);
                                }},
                               {"avg_pool: expected a floating dtype",
                                [] {
                                  avg_pool2d(ones({1, 1, 4, 4}, {.dtype = int32}), 2);
                                }},
                               {"max_unpool2d: expected int64 indices", [&] { max_unpool2d(x, x, 2); }}});
  expect_refusals<ValueError>(
      {{"avg_pool2d: expected a divisor_override", [&] { avg_pool2d(x, 2, {.divisor_override = 0}); }},
       {"lp_pool2d: expected a norm_type", [&] { lp_pool2d(x, 0, 2); }},
       {"max_unpool2d: expected an output_size",
        [&] {
          max_unpool2d(x, n({1, 2, 6, 6}), 2, {.output_size = {40, 40}});
        }},
       {"fractional_max_pool2d: expected one output_ratio",
        [&] {
          fractional_max_pool2d_with_indices(x, 2, {.output_ratio = {0.5, 0.5, 0.5}});
        }},
       {"fractional_max_pool2d: expected an output_ratio between",
        [&] { fractional_max_pool2d_with_indices(x, 2, {.output_ratio = {1.5}}); }},
       {"fractional_max_pool2d: expected _random_samples", [&] {
          fractional_max_pool2d_with_indices(x, 2, {.output_size = 3, .random_samples = f({1, 2, 2}) * 2});
        }}});
  expect_refusals<ShapeError>({{"fractional_max_pool2d: expected kernel_size",
                                [&] {
                                  fractional_max_pool2d_with_indices(x, {2, 2, 2}, {.output_size = 3});
                                }},
                               {"max_unpool2d: expected output_size of 2 or 4",
                                [&] {
                                  max_unpool2d(x, n({1, 2, 6, 6}), 2, {.output_size = {12}});
                                }},
                               {"max_pool2d: expected every window to meet",
                                [] {
                                  max_pool2d(f({1, 1, 2, 2}), 2, {.padding = 1, .dilation = 3});
                                }},
                               {"interpolate: expected 1 or 2 sizes", [&] {
                                  interpolate(x, {.size = {2, 2, 2}});
                                }}});
}
TEST(RefusalsOfNetworks, EmbeddingsAndSoftmax) {
  const Tensor w = f({4, 3});
  expect_refusals<DTypeError>({{"embedding: expected indices of dtype int64", [&] { embedding(f({2}), w); }},
                               {"one_hot: expected classes", [] { one_hot(f({2})); }},
                               {"embedding_dense_backward: expected a floating",
                                [&] {
                                  embedding_dense_backward(n({2, 3}), n({2}), 4, -1, false);
                                }},
                               {"embedding_bag: expected indices and offsets",
                                [&] {
                                  embedding_bag(f({2, 2}), w);
                                }},
                               {"softmax_backward: expected", [&] { softmax_backward(n({2}), n({2}), 0); }},
                               {"log_softmax_backward: expected", [&] { log_softmax_backward(n({2}), n({2}), 0); }}});
  expect_refusals<ShapeError>(
      {{"embedding: expected a weight", [] { embedding(n({2}), f({4})); }},
       {"embedding_dense_backward: expected a grad_output",
        [&] {
          embedding_dense_backward(f({2, 3}), n({3}), 4, -1, false);
        }},
       {"softmax_backward: expected a grad_output", [] { softmax_backward(f({2}), f({3}), 0); }},
       {"log_softmax_backward: expected a grad_output", [] { log_softmax_backward(f({2}), f({3}), 0); }}});
  expect_refusals<ValueError>(
      {{"one_hot: expected num_classes for an empty", [] { one_hot(n({0})); }},
       {"one_hot: expected a positive num_classes", [] { one_hot(n({2}), 0); }},
       {"embedding_bag: expected scale_grad_by_freq",
        [&] {
          embedding_bag(n({2, 2}), w, {}, {.table = {.scale_grad_by_freq = true}, .mode = "max"});
        }},
       {"embedding_bag: expected offsets", [&] { embedding_bag(n({2}), w, n({0}), {.include_last_offset = true}); }}});
  expect_refusals<NotImplementedError>({{"embedding: expected a contiguous weight",
                                         [] {
                                           embedding(n({2}), f({3, 4}).t(), {.max_norm = 1});
                                         }},
                                        {"embedding_dense_backward: expected scale_grad_by_freq = false", [&] {
                                           Tensor leaf = f({4, 3}).requires_grad_();
                                           const Tensor y = embedding(n({2}), leaf, {.scale_grad_by_freq = true});
                                           const Tensor g = grad(sum(y * y), leaf, {}, {.create_graph = true});
                                           sum(g * g).backward();
                                         }}});
  expect_refusals<IndexError>({{"embedding: expected indices from 0 to 3", [] {
                                  embedding(n({2}) + 9, f({4, 3}), {.max_norm = 1});
                                }}});
}
TEST(RefusalsOfNetworks, Attention) {
  const Tensor q = f({1, 2, 3, 4});
  expect_refusals<DTypeError>({{"scaled_dot_product_attention: expected a bool or floating attn_mask", [&] {
                                  scaled_dot_product_attention(q, q, q, {.attn_mask = n({3, 3})});
                                }}});
  expect_refusals<ShapeError>(
      {{"scaled_dot_product_attention: expected heads in dimension -3",
        [] {
          scaled_dot_product_attention(f({3, 4}), f({3, 4}), f({3, 4}), {.enable_gqa = true});
        }},
       {"scaled_dot_product_attention: expected the heads of query to be a multiple", [&] {
          scaled_dot_product_attention(q, f({1, 4, 3, 4}), f({1, 4, 3, 4}), {.enable_gqa = true});
        }}});
}
TEST(RefusalsOfNetworks, Losses) {
  const Tensor x = f({2, 3});
  expect_refusals<DTypeError>({{"cross_entropy: expected a weight of the input's dtype",
                                [&] { cross_entropy(x, n({2}), {.weight = d({3})}); }}});
  expect_refusals<ValueError>(
      {{"smooth_l1_loss: expected beta", [&] { smooth_l1_loss(x, x, {.beta = -1}); }},
       {"mse_loss: expected a weight of the input's sizes", [&] { mse_loss(x, x, {}, f({3})); }},
       {"triplet_margin_loss: expected a positive margin", [&] { triplet_margin_loss(x, x, x, {.margin = 0}); }},
       {"local_response_norm: expected a positive size", [] {
          local_response_norm(f({1, 2, 3}), 0);
        }}});
  expect_refusals<ShapeError>(
      {{"multi_margin_loss: expected a weight", [&] { multi_margin_loss(x, n({2}), {.weight = f({2})}); }}});
  expect_refusals<IndexError>({{"multilabel_margin_loss: expected labels", [&] {
                                  multilabel_margin_loss(x, n({2, 3}) + 5);
                                }}});
}
TEST(RefusalsOfNetworks, RecurrentNetworks) {
  const std::vector<Tensor> params = {f({4, 3}), f({4, 4}), f({4}), f({4})};
  const Tensor rows = f({5, 3}), h = f({1, 2, 4});
  expect_refusals<ShapeError>(
      {{"rnn_tanh: expected batch_sizes to be a vector", [&] { rnn_tanh(rows, h, params, {.batch_sizes = f({3})}); }}});
  expect_refusals<ValueError>({{"rnn_tanh: expected batch_sizes from 1 up",
                                [&] {
                                  rnn_tanh(rows, h, params, {.batch_sizes = tensor({1, 2, 2})});
                                }},
                               {"rnn_tanh: expected 4 parameters",
                                [&] {
                                  rnn_tanh(f({5, 2, 3}), h, {params[0]});
                                }},
                               {"lstm_cell: expected two states", [&] {
                                  lstm_cell(f({2, 3}), {f({2, 4}), Tensor()}, {f({16, 3}), f({16, 4})});
                                }}});
}

}  // namespace
}  // namespace neura
