#include "neura/ops/nn/torch_internal.h"

#include "neura/op/pointwise/rows.h"
#include "neura/ops/index/index.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

std::vector<Index> clamped(const char* op, const Tensor& input, const std::vector<Tensor>& indices) {
  check<ShapeError>(int(indices.size()) <= input.dim(), [&] {
    return std::string(op) + ": expected at most " + std::to_string(input.dim()) + " indices, got " +
           std::to_string(indices.size());
  });
  std::vector<Index> out;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const std::int64_t size = input.size(int(d));
    if (!indices[d]) out.emplace_back(Slice());
    else out.emplace_back(clamp(indices[d], {.min = -size, .max = size - 1}));
  }
  return out;
}
void check_mask(const char* op, const Tensor& mask) {
  check<DTypeError>(mask.dtype() == DType::boolean,
                    [&] { return std::string(op) + ": expected a mask of bool, got " + mask.spec().str(); });
}

}  // namespace

Tensor _chunk_cat(const std::vector<Tensor>& tensors, int dim, std::int64_t num_chunks) {
  check<ValueError>(!tensors.empty() && num_chunks > 0, [&] {
    return "_chunk_cat: expected tensors and num_chunks of at least 1, got " + std::to_string(tensors.size()) +
           " tensors and num_chunks " + std::to_string(num_chunks);
  });
  const Tensor& first = tensors[0];
  const int at = wrap_dim("_chunk_cat", dim, first.dim());
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    bool fits =
        t.dim() > at && t.numel() > 0 && t.dtype() == first.dtype() && wrap_dim("_chunk_cat", dim, t.dim()) == at;
    for (int d = 0; fits && d < at; ++d) fits = t.size(d) == first.size(d);
    check<ShapeError>(fits, [&] {
      return "_chunk_cat: expected tensors that are not empty, of one dtype, with the sizes before dim " +
             std::to_string(dim) + " of " + first.spec().str() + ", got " + t.spec().str();
    });
    const std::int64_t missing = (num_chunks - t.size(at) % num_chunks) % num_chunks;
    std::vector<std::int64_t> amounts(std::size_t(2 * (t.dim() - at)), 0);
    amounts.back() = missing;
    const Tensor whole = missing ? constant_pad_nd(t, amounts) : t;
    Shape shape;
    for (int d = 0; d < at; ++d) shape.push_back(t.size(d));
    shape.push_back(num_chunks), shape.push_back(-1);
    parts.push_back(reshape(whole, shape));
  }
  return cat(parts, at + 1);
}

Tensor _unsafe_masked_index(const Tensor& input, const Tensor& mask, const std::vector<Tensor>& indices, Scalar fill) {
  check_mask("_unsafe_masked_index", mask);
  return masked_fill(index(input, clamped("_unsafe_masked_index", input, indices)), logical_not(mask), fill);
}

Tensor _unsafe_masked_index_put_accumulate(const Tensor& input, const Tensor& mask, const std::vector<Tensor>& indices,
                                           const Tensor& values) {
  const char* op = "_unsafe_masked_index_put_accumulate";
  check_mask(op, mask);
  return index_put(input, clamped(op, input, indices), masked_fill(values, logical_not(mask), 0), true);
}

Tensor _softmax_backward_data(const Tensor& grad_output, const Tensor& output, int dim, DType input_dtype) {
  return softmax_backward(grad_output, output, dim).to(input_dtype);
}

}  // namespace neura
