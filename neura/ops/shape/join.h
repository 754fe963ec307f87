// Concatenating and splitting.
#pragma once
#include <vector>

#include "neura/core/tensor.h"

namespace neura {

using TensorList = std::vector<Tensor>;

#include "neura/tables/functions/declare.h"
#include "neura/tables/functions/join.def"
#include "neura/tables/functions/end.h"

Tensor concat(const TensorList& tensors, int dim = 0);
Tensor concatenate(const TensorList& tensors, int dim = 0);

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
