// Sums of products written as a formula over index letters.
#pragma once
#include <span>
#include <string_view>

#include "neura/core/tensor.h"

namespace neura {

// "ij,jk->ik" and everything else that torch.einsum writes: letters a-z and A-Z, one "..." per operand for broadcast
// dimensions, a letter repeated within an operand for its diagonal, an implicit result (letters met once, in
// alphabetical order, after the ellipsis) where there is no "->". Operands are contracted from left to right, each pair
// as a batched product. ValueError for a malformed equation, ShapeError for sizes that do not fit it.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

}  // namespace neura
