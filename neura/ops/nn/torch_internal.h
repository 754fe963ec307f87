// Functions with an underscore in torch, which its compiler emits.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

// Each tensor in num_chunks parts along dim, the last ones filled up with zeros, flattened behind it; all of them side
// by side: [..., num_chunks, sum of sizes]. The sizes before dim agree; ShapeError.
Tensor _chunk_cat(const std::vector<Tensor>& tensors, int dim, std::int64_t num_chunks);
// input[indices] where mask is true, fill elsewhere; what an index is there does not matter. An undefined index takes
// the whole dimension.
Tensor _unsafe_masked_index(const Tensor& input, const Tensor& mask, const std::vector<Tensor>& indices, Scalar fill);
// input with values added at the indices where mask is true.
Tensor _unsafe_masked_index_put_accumulate(const Tensor& input, const Tensor& mask, const std::vector<Tensor>& indices,
                                           const Tensor& values);
// From the gradient of softmax's result and that result: the gradient of its input, of that dtype.
Tensor _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int dim, DType input_dtype);

}  // namespace neura
