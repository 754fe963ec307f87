// Numbers among integer tensors: what a row does with a number that their dtype cannot represent.
#pragma once
#include "neura/op/pointwise/pointwise.h"

namespace neura {

// Comparisons and divisions are computed in a dtype that holds every operand; bounds keep the dtype, `store_number` and
// `bound` take the nearest one of it. ValueError for a value that would be in the result (where), for a negative
// exponent; DTypeError where heaviside meets a wider tensor.
void promote_numbers(const Call&, Dtypes&);
// Operand i, a tensor: itself, or of a row that chooses among its operands the nearest number that the result holds.
const TensorImpl* bound(const Call&, int i, const Dtypes&, Tensor& kept);
// Operand i, a number, as one element.
void store_number(const Call&, int i, DType, char* to);

}  // namespace neura
