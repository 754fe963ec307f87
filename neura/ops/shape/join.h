// Concatenating and splitting.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

using TensorList = std::vector<Tensor>;

// One after the other along `dim`; the other sizes agree (ShapeError), dtypes are promoted. A tensor of shape [0] joins
// with any. ValueError for an empty list.
Tensor cat(const TensorList& tensors, int dim = 0);
Tensor concat(const TensorList& tensors, int dim = 0);
Tensor concatenate(const TensorList& tensors, int dim = 0);
// Along a new dimension; all shapes are equal.
Tensor stack(const TensorList& tensors, int dim = 0);
Tensor hstack(const TensorList& tensors);
Tensor vstack(const TensorList& tensors);
Tensor dstack(const TensorList& tensors);
Tensor column_stack(const TensorList& tensors);
Tensor block_diag(const TensorList& tensors);      // of at most two dimensions each
Tensor cartesian_prod(const TensorList& tensors);  // of vectors: [n1 * n2 * …, count]
Tensor combinations(const Tensor& input, std::int64_t r = 2, bool with_replacement = false);  // of a vector: [count, r]
// Coordinates of the grid of vectors (or numbers), each expanded to its shape. `indexing`: "ij", or "xy", which
// exchanges the first two dimensions. ValueError otherwise.
TensorList meshgrid(const TensorList& tensors, const char* indexing = "ij");
TensorList broadcast_tensors(const TensorList& tensors);  // views

// Into `sections` nearly equal parts, or before each of `indices`; views.
TensorList tensor_split(const Tensor& input, std::int64_t sections, int dim = 0);
TensorList tensor_split(const Tensor& input, const std::vector<std::int64_t>& indices, int dim = 0);
// Along dimension 1 (0 of a vector), 0, 2. By number: the size is a multiple of it (ShapeError).
TensorList hsplit(const Tensor& input, std::int64_t sections);
TensorList hsplit(const Tensor& input, const std::vector<std::int64_t>& indices);
TensorList vsplit(const Tensor& input, std::int64_t sections);
TensorList vsplit(const Tensor& input, const std::vector<std::int64_t>& indices);
TensorList dsplit(const Tensor& input, std::int64_t sections);
TensorList dsplit(const Tensor& input, const std::vector<std::int64_t>& indices);

}  // namespace neura
