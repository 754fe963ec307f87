// Embedding: rows of a table, by index.
#pragma once
#include <cstdint>
#include <optional>

#include "neura/core/tensor.h"
#include "neura/ops/nn/functions.h"

namespace neura {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = {};  // this row gets no gradient; may be counted from the back
  std::optional<double> max_norm = {};           // rows above it are scaled down to it before look-up, in place
  double norm_type = 2;
  bool scale_grad_by_freq = false;  // gradients are divided by how often the row was looked up
  bool sparse = false;              // the gradient of weight is a sparse tensor of the rows that were looked up
};
// Indices (int32 or int64) of any shape and weight [rows, width] -> the indices' shape and [width]. IndexError for an
// index outside [0, rows).
Tensor embedding(const Tensor& input, const Tensor& weight, EmbeddingOptions = {});
// The same of int64 numbers, with a sparse gradient; padding_idx: -1 for none. Defined in sparse/embedding.cpp.
Tensor sparsely_learned_embedding(const Tensor& indices, const Tensor& weight, std::int64_t padding_idx);
// The gradient of weight: row i is the sum of the grad_output whose number is i. Differentiable; the same for any
// number of threads. padding_idx: -1 for none.
Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, std::int64_t num_weights,
                                std::int64_t padding_idx, bool scale_grad_by_freq);

}  // namespace neura
